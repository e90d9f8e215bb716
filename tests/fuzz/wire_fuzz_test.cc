// Mutated requests on every RPC of a helxd in this process: it answers each with a status, goes on
// serving, and its store is whole afterwards. HELX_FUZZ_RUNS sets the number of requests (default
// 3000), HELX_FUZZ_SEED the first.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/sync_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/splitmix64.h"
#include "helx/v1/capabilities.grpc.pb.h"
#include "helx/v1/store.grpc.pb.h"
#include "server/server.h"
#include "server/telemetry/log.h"
#include "tests/unit/server/contract_methods.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr auto kCallLimit = std::chrono::milliseconds(60);  // some calls are held open
constexpr int kDepth = 4;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// Messages that are nearly right: fields hold names, digests and numbers that the server knows, or
// their edges.
class Maker {
 public:
  explicit Maker(SplitMix64* random) : random_(random) {}

  std::string Request(const Descriptor* type) {
    const std::unique_ptr<Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
    Fill(message.get(), kDepth);
    std::string bytes;
    message->SerializePartialToString(&bytes);
    Mutate(bytes);
    return bytes;
  }
  uint64_t Below(uint64_t bound) { return random_->Next() % bound; }

 private:
  std::string Text() {
    static const std::string kTexts[] = {
        "",
        "w",
        "s1",
        "kws",
        "default",
        "-",
        "jobs/0000000000000a",
        "jobs/",
        "board",
        "builtin",
        "lab=berlin,!x",
        "1.0",
        "default/uploads/u1/blobs/" + DigestOf(std::string_view("abc")).ToString(),
        "-/blobs/" + DigestOf(std::string_view("abc")).ToString(),
        std::string(70, 'x'),
        std::string(5000, 'y'),
        "\xff\xfe",
        std::string("a\0b", 3),
        "../../etc/passwd",
        DigestOf(std::string_view("abc")).hash,
        DigestOf(std::string_view()).hash,
        R"({"engine":"builtin","model":{"sha256":")" + DigestOf(std::string_view("abc")).hash +
            R"(","size":3},"platform":"board","schema":"helx.document/v1","tensor_io":null})"};
    return kTexts[Below(std::size(kTexts))];
  }
  int64_t Number() {
    static constexpr int64_t kNumbers[] = {
        0, 1, 2, 3, -1, 64, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 4294967296};
    return kNumbers[Below(std::size(kNumbers))];
  }
  void Fill(Message* message, int depth) {
    const auto* reflection = message->GetReflection();
    const Descriptor* type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (Below(4) == 0) continue;
      const uint64_t times = field->is_repeated() ? Below(3) : 1;
      for (uint64_t n = 0; n < times; ++n) Set(message, reflection, field, depth);
    }
  }
  void Set(Message* m, const google::protobuf::Reflection* r, const FieldDescriptor* f, int depth) {
    const bool many = f->is_repeated();
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return many ? r->AddString(m, f, Text()) : r->SetString(m, f, Text());
      case FieldDescriptor::CPPTYPE_INT64:
        return many ? r->AddInt64(m, f, Number()) : r->SetInt64(m, f, Number());
      case FieldDescriptor::CPPTYPE_INT32:
        return many ? r->AddInt32(m, f, static_cast<int32_t>(Number()))
                    : r->SetInt32(m, f, static_cast<int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT32:
        return many ? r->AddUInt32(m, f, static_cast<uint32_t>(Number()))
                    : r->SetUInt32(m, f, static_cast<uint32_t>(Number()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return many ? r->AddBool(m, f, Below(2) == 0) : r->SetBool(m, f, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return many ? r->AddDouble(m, f, static_cast<double>(Number()))
                    : r->SetDouble(m, f, static_cast<double>(Number()));
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int value = static_cast<int>(Below(9)) - 1;
        return many ? r->AddEnumValue(m, f, value) : r->SetEnumValue(m, f, value);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == 0) return;
        return Fill(many ? r->AddMessage(m, f) : r->MutableMessage(m, f), depth - 1);
      default:
        return;
    }
  }
  void Mutate(std::string& bytes) {
    if (Below(3) == 0 || bytes.empty()) return;
    for (uint64_t n = Below(4) + 1; n > 0 && !bytes.empty(); --n) {
      const size_t at = Below(bytes.size());
      switch (Below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random_->Next());
          break;
        case 1:
          bytes.erase(at, 1 + Below(8));
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random_->Next()));
          break;
        default:
          bytes.resize(at);
      }
    }
  }

  SplitMix64* const random_;
};

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

class WireFuzz : public ::testing::Test {
 protected:
  void SetUp() override {
    google::protobuf::SetLogHandler(nullptr);
    SetLogLevel(LogLevel::kError);
    ServerOptions options;
    options.listen = "unix:" + folder_.path() + "/run/helxd.sock";
    options.data_folder = folder_.path() + "/data";
    options.ballast_bytes = 0;
    options.scheduler.synchronize_hold_ms = 100;
    auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  }
  void TearDown() override { server_->Stop(); }

  grpc::Status Call(const MethodDescriptor* method, const std::vector<std::string>& requests) {
    const std::string name = "/" + method->service()->full_name() + "/" + method->name();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    grpc::ByteBuffer response;
    using grpc::internal::RpcMethod;
    if (method->client_streaming()) {
      const RpcMethod rpc(name.c_str(), RpcMethod::CLIENT_STREAMING, channel_);
      const std::unique_ptr<grpc::ClientWriter<grpc::ByteBuffer>> writer(
          grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(channel_.get(), rpc,
                                                                        &context, &response));
      for (const std::string& request : requests) {
        if (!writer->Write(BufferOf(request))) break;
      }
      writer->WritesDone();
      return writer->Finish();
    }
    if (method->server_streaming()) {
      const RpcMethod rpc(name.c_str(), RpcMethod::SERVER_STREAMING, channel_);
      const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader(
          grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
              channel_.get(), rpc, &context, BufferOf(requests[0])));
      while (reader->Read(&response)) {
      }
      return reader->Finish();
    }
    const RpcMethod rpc(name.c_str(), RpcMethod::NORMAL_RPC, channel_);
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        channel_.get(), rpc, &context, BufferOf(requests[0]), &response);
  }

  TempFolder folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(WireFuzz, EveryMethodAnswersAndTheStoreStaysWhole) {
  const std::vector<const MethodDescriptor*> methods = ContractMethods();
  ASSERT_GT(methods.size(), 30u);
  const int64_t runs = FromEnvironment("HELX_FUZZ_RUNS", 3000);
  SplitMix64 random(static_cast<uint64_t>(FromEnvironment("HELX_FUZZ_SEED", 1)));
  Maker maker(&random);
  std::map<int, int64_t> codes;
  for (int64_t run = 0; run < runs; ++run) {
    const MethodDescriptor* method = methods[static_cast<size_t>(run) % methods.size()];
    std::vector<std::string> requests;
    for (uint64_t n = 1 + maker.Below(3); n > 0; --n)
      requests.push_back(maker.Request(method->input_type()));
    const grpc::Status status = Call(method, requests);
    ++codes[status.error_code()];
    ASSERT_NE(status.error_code(), grpc::StatusCode::UNKNOWN)
        << method->full_name() << ": " << status.error_message();
    ASSERT_LE(status.error_message().size(), 1024u) << method->full_name();
  }
  for (const auto& [code, count] : codes)
    std::printf("status %2d: %lld\n", code, static_cast<long long>(count));

  grpc::ClientContext context;
  v1::ServerCapabilities capabilities;
  EXPECT_TRUE(v1::Capabilities::NewStub(channel_)
                  ->Get(&context, v1::GetCapabilitiesRequest(), &capabilities)
                  .ok());
  const auto store = v1::Store::NewStub(channel_);
  v1::StoreOperation check;
  grpc::Status status;
  // An operation that a request started may still be under way.
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext check_context;
    const auto reader = store->Check(&check_context, v1::CheckStoreRequest());
    while (reader->Read(&check)) {
    }
    status = reader->Finish();
    if (status.error_code() != grpc::StatusCode::ABORTED) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(check.problem_count(), 0) << check.DebugString();
}

}  // namespace
}  // namespace helx::server

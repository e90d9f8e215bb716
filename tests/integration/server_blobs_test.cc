// Blobs over the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/splitmix64.h"
#include "helx/v1/rpc_status.pb.h"
#include "server/scheduler/timestamps.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

std::string RandomBytes(size_t count, uint64_t seed) {
  SplitMix64 random(seed);
  std::string out(count, '\0');
  for (size_t i = 0; i + 8 <= count; i += 8) {
    const uint64_t v = random.Next();
    std::memcpy(out.data() + i, &v, 8);
  }
  return out;
}

class ServerBlobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
    client_ = std::make_unique<Client>(daemon_.address());
  }
  v1::QueryWriteStatusResponse Query(const std::string& name, grpc::Status* status = nullptr) {
    grpc::ClientContext context;
    v1::QueryWriteStatusRequest request;
    request.set_resource_name(name);
    v1::QueryWriteStatusResponse response;
    const grpc::Status end = client_->blobs->QueryWriteStatus(&context, request, &response);
    if (status != nullptr) *status = end;
    return response;
  }

  Daemon daemon_;
  std::unique_ptr<Client> client_;
};

TEST_F(ServerBlobsTest, EverySizeComesBack) {
  const size_t mib4 = 4 << 20;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1 << 20}, mib4 - 1, mib4, mib4 + 1,
                            size_t{16 << 20}, size_t{64 << 20}}) {
    const std::string content = RandomBytes(size, size + 1);
    const Digest digest = DigestOf(std::string_view(content));
    int64_t committed = -1;
    const grpc::Status status =
        client_->Write(Client::UploadName(digest), content, 0, true, &committed);
    ASSERT_TRUE(status.ok()) << size << ": " << status.error_message();
    EXPECT_EQ(committed, static_cast<int64_t>(size));
    std::string back;
    ASSERT_TRUE(client_->Read(digest, &back).ok());
    EXPECT_TRUE(back == content) << size;
  }
}

TEST_F(ServerBlobsTest, PartsAreReadByOffsetAndLimit) {
  const std::string content = RandomBytes(2'500'000, 5);
  const Digest digest = client_->Put(content);
  std::string part;
  ASSERT_TRUE(client_->Read(digest, &part, 1'000'000, 1'200'000).ok());
  EXPECT_TRUE(part == content.substr(1'000'000, 1'200'000));
  part.clear();
  ASSERT_TRUE(client_->Read(digest, &part, 2'500'000).ok());
  EXPECT_EQ(part, "");
  EXPECT_EQ(client_->Read(digest, &part, 2'500'001).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  Digest unknown = digest;
  unknown.size_bytes += 1;
  EXPECT_EQ(client_->Read(unknown, &part).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerBlobsTest, UploadResumesAfterAKill) {
  const std::string content = RandomBytes(5 << 20, 6);
  const Digest digest = DigestOf(std::string_view(content));
  const std::string name = Client::UploadName(digest);
  int64_t committed = 0;
  ASSERT_TRUE(client_->Write(name, content.substr(0, 3 << 20), 0, false, &committed).ok());
  EXPECT_EQ(committed, 3 << 20);
  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start());
  client_ = std::make_unique<Client>(daemon_.address());
  const auto state = Query(name);
  EXPECT_EQ(state.committed_size(), 3 << 20);
  EXPECT_FALSE(state.complete());
  ASSERT_TRUE(client_->Write(name, content.substr(3 << 20), 3 << 20).ok());
  EXPECT_TRUE(Query(name).complete());
  std::string back;
  ASSERT_TRUE(client_->Read(digest, &back).ok());
  EXPECT_TRUE(back == content);
}

TEST_F(ServerBlobsTest, WrongOffsetNamesTheRightOne) {
  const std::string content = RandomBytes(3'000'000, 7);
  const std::string name = Client::UploadName(DigestOf(std::string_view(content)));
  const grpc::Status status = client_->Write(name, content, 17);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_THAT(status.error_message(), HasSubstr("but 0 bytes"));
}

TEST_F(ServerBlobsTest, DigestMismatchStoresNothing) {
  for (const size_t size : {size_t{100}, size_t{3 << 20}}) {
    const Digest announced = DigestOf(std::string_view(RandomBytes(size, 8)));
    const grpc::Status status = client_->Write(Client::UploadName(announced), RandomBytes(size, 9));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << size;
    std::string content;
    EXPECT_EQ(client_->Read(announced, &content).error_code(), grpc::StatusCode::NOT_FOUND);
    grpc::Status query;
    Query(Client::UploadName(announced), &query);
    EXPECT_EQ(query.error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

TEST_F(ServerBlobsTest, UploadOfWhatIsThereEndsEarly) {
  const std::string content = RandomBytes(2 << 20, 10);
  const Digest digest = client_->Put(content);
  int64_t committed = 0;
  // The first message decides; the bytes need not follow.
  EXPECT_TRUE(
      client_
          ->Write(Client::UploadName(digest, "again"), content.substr(0, 10), 0, false, &committed)
          .ok());
  EXPECT_EQ(committed, 2 << 20);
}

TEST_F(ServerBlobsTest, BadNamesAndSizesAreRefused) {
  const std::string hash(64, 'a');
  for (const std::string& name :
       {std::string(), std::string("default/uploads/u/blobs/xyz/1"),
        "default/uploads/u/blobs/" + hash + "/-1",
        "default/uploads/u/blobs/" + hash + "/2147483649",
        "default/uploads/u/blobs/" + hash + "/99999999999999999999",
        "default/uploads/../blobs/" + hash + "/1", "default/uploads/a.b/blobs/" + hash + "/1",
        "../uploads/u/blobs/" + hash + "/1", "default/uploads/u/blobs/" + hash + "/1/2"}) {
    EXPECT_EQ(client_->Write(name, "x").error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
  }
  EXPECT_EQ(client_->Write("other/uploads/u/blobs/" + hash + "/1", "x").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(ServerBlobsTest, FindMissingNamesWhatIsNotThere) {
  const Digest here = client_->Put("here");
  const Digest gone = DigestOf(std::string_view("gone"));
  grpc::ClientContext context;
  v1::FindMissingRequest request;
  *request.add_digests() = ToProto(here);
  *request.add_digests() = ToProto(gone);
  v1::FindMissingResponse response;
  ASSERT_TRUE(client_->blobs->FindMissing(&context, request, &response).ok());
  ASSERT_EQ(response.missing_size(), 1);
  EXPECT_EQ(FromProto(response.missing(0)), gone);
  while (request.digests_size() <= 10'000) *request.add_digests() = ToProto(gone);
  grpc::ClientContext second;
  EXPECT_EQ(client_->blobs->FindMissing(&second, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerBlobsTest, MissingInputsAreViolations) {
  v1::SubmitJobRequest request;
  request.set_name("kws");
  const Digest gone = DigestOf(std::string_view("gone"));
  request.set_document(R"({"engine":"builtin","model":{"sha256":")" + gone.hash +
                       R"(","size":4},"platform":"board","schema":"helx.document/v1"})");
  v1::Job job;
  const grpc::Status status = client_->Submit(request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.PreconditionFailure");
  v1::PreconditionFailure failure;
  ASSERT_TRUE(failure.ParseFromString(details.details(0).value()));
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).type(), "MISSING");
  EXPECT_EQ(failure.violations(0).subject(), "blobs/" + gone.ToString());
}

}  // namespace
}  // namespace helx::server

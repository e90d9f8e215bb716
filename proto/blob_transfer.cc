#include "proto/blob_transfer.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "proto/worker_metadata.h"

namespace helx::rpc {
namespace {

constexpr size_t kPiece =
    256 << 10;  // bytes per message: well below gRPC's 4 MiB, large enough to amortise framing
constexpr int kUploadTries = 3;

// Generous enough for a loaded host: 30 s plus a second per MiB.
void SetDeadline(grpc::ClientContext* context, int64_t bytes) {
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30) +
                        std::chrono::seconds(bytes >> 20));
}

std::string RandomUuid() {
  std::random_device device;
  uint8_t bytes[16];
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(device());
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = HexEncode(bytes);
  for (size_t at : {20, 16, 12, 8}) text.insert(at, "-");
  return text;
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

v1::Digest ToProto(const Digest& digest) {
  v1::Digest out;
  out.set_hash(digest.hash);
  out.set_size_bytes(digest.size_bytes);
  return out;
}

absl::StatusOr<Digest> FromProto(const v1::Digest& digest) {
  Digest out{digest.hash(), digest.size_bytes()};
  HELX_RETURN_IF_ERROR(CheckDigest(out));
  return out;
}

std::string BlobName(std::string_view instance, const Digest& digest) {
  return std::string(instance) + "/blobs/" + digest.ToString();
}

BlobTransfer::BlobTransfer(std::shared_ptr<grpc::Channel> channel, std::string instance,
                           bool of_worker)
    : stub_(v1::Blobs::NewStub(channel)), instance_(std::move(instance)), of_worker_(of_worker) {}

absl::StatusOr<std::vector<Digest>> BlobTransfer::FindMissing(const std::vector<Digest>& digests) {
  constexpr size_t kBatch = 10'000;
  std::vector<Digest> missing;
  for (size_t begin = 0; begin < digests.size(); begin += kBatch) {
    v1::FindMissingRequest request;
    request.set_instance(instance_);
    for (size_t i = begin; i < std::min(digests.size(), begin + kBatch); ++i) {
      *request.add_digests() = ToProto(digests[i]);
    }
    grpc::ClientContext context;
    SetDeadline(&context, 0);
    v1::FindMissingResponse response;
    HELX_RETURN_IF_ERROR(FromGrpc(stub_->FindMissing(&context, request, &response)));
    for (const v1::Digest& digest : response.missing()) {
      HELX_ASSIGN_OR_RETURN(Digest parsed, FromProto(digest));
      missing.push_back(std::move(parsed));
    }
  }
  return missing;
}

absl::StatusOr<int64_t> BlobTransfer::UploadFrom(const std::string& name, std::string_view bytes,
                                                 int64_t offset) {
  grpc::ClientContext context;
  SetDeadline(&context, static_cast<int64_t>(bytes.size()) - offset);
  if (of_worker_) context.AddMetadata(kWorkerMetadata, "1");
  v1::WriteResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::WriteRequest>> writer(stub_->Write(&context, &response));
  v1::WriteRequest request;
  request.set_resource_name(name);
  bool last = false;
  while (!last) {
    const std::string_view piece = bytes.substr(static_cast<size_t>(offset), kPiece);
    last = static_cast<size_t>(offset) + piece.size() == bytes.size();
    request.set_write_offset(offset);
    request.set_data(piece.data(), piece.size());
    request.set_finish_write(last);
    // A false answer means that the server already ended the call: its status says why.
    if (!writer->Write(request)) break;
    offset += static_cast<int64_t>(piece.size());
    request.clear_resource_name();
  }
  writer->WritesDone();
  HELX_RETURN_IF_ERROR(FromGrpc(writer->Finish()));
  return response.committed_size();
}

absl::Status BlobTransfer::Upload(const Digest& digest, std::string_view bytes) {
  if (bytes.empty()) return absl::OkStatus();
  const std::string name = instance_ + "/uploads/" + RandomUuid() + "/blobs/" + digest.ToString();
  int64_t offset = 0;
  absl::Status status;
  for (int attempt = 0; attempt < kUploadTries; ++attempt) {
    const absl::StatusOr<int64_t> committed = UploadFrom(name, bytes, offset);
    if (committed.ok()) {
      if (*committed == digest.size_bytes) return absl::OkStatus();
      return DataLoss("the server kept " + std::to_string(*committed) + " of " +
                      std::to_string(digest.size_bytes) + " bytes of blob " + digest.hash);
    }
    status = committed.status();
    if (!absl::IsUnavailable(status)) break;
    grpc::ClientContext context;
    SetDeadline(&context, 0);
    v1::QueryWriteStatusRequest query;
    query.set_resource_name(name);
    v1::QueryWriteStatusResponse answer;
    offset = stub_->QueryWriteStatus(&context, query, &answer).ok() ? answer.committed_size() : 0;
  }
  return Annotate(status, "cannot upload blob " + digest.ToString());
}

absl::Status BlobTransfer::DownloadTo(const Digest& digest,
                                      const std::function<bool(std::string_view)>& sink) {
  if (digest.size_bytes == 0) return absl::OkStatus();
  grpc::ClientContext context;
  SetDeadline(&context, digest.size_bytes);
  v1::ReadRequest request;
  request.set_resource_name(BlobName(instance_, digest));
  auto reader = stub_->Read(&context, request);
  Sha256 hash;
  int64_t size = 0;
  v1::ReadResponse response;
  while (reader->Read(&response)) {
    size += static_cast<int64_t>(response.data().size());
    if (size > digest.size_bytes) break;
    hash.Update(std::string_view(response.data()));
    if (!sink(response.data())) {
      context.TryCancel();
      reader->Finish();
      return absl::CancelledError("the download of blob " + digest.hash + " was stopped");
    }
  }
  if (size > digest.size_bytes) {
    context.TryCancel();
    reader->Finish();
    return DataLoss("blob " + digest.hash + " is longer than its digest says");
  }
  HELX_RETURN_IF_ERROR(
      Annotate(FromGrpc(reader->Finish()), "cannot download blob " + digest.ToString()));
  if (size != digest.size_bytes || hash.FinishHex() != digest.hash) {
    return DataLoss("the bytes received for blob " + digest.ToString() + " have another digest");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> BlobTransfer::Download(const Digest& digest, int64_t limit_bytes) {
  if (digest.size_bytes > limit_bytes) {
    return absl::ResourceExhaustedError("blob " + digest.ToString() + " is larger than " +
                                        std::to_string(limit_bytes) + " bytes");
  }
  std::string bytes;
  bytes.reserve(static_cast<size_t>(digest.size_bytes));
  HELX_RETURN_IF_ERROR(DownloadTo(digest, [&](std::string_view piece) {
    bytes.append(piece);
    return true;
  }));
  return bytes;
}

}  // namespace helx::rpc

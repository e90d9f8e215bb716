#include "client/cpp/blob_client.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "client/cpp/random_id.h"
#include "client/cpp/rpc.h"
#include "core/base/sha256.h"
#include "helx/v1/blobs.grpc.pb.h"

namespace helx::client {
namespace {

constexpr int64_t kPieceBytes = 256 << 10;
constexpr int kDigestsPerCall = 10'000;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// O_NONBLOCK: opening a FIFO must not hang; the check for a regular file refuses it.
int OpenForReading(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

// Up to `count` bytes at `offset`; fewer only at the end of the file.
absl::StatusOr<std::string> ReadAt(int fd, const std::string& path, int64_t offset, int64_t count) {
  std::string piece(static_cast<size_t>(count), '\0');
  size_t done = 0;
  while (done < piece.size()) {
    const ssize_t n = pread(fd, piece.data() + done, piece.size() - done,
                            static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InvalidArgument("cannot read " + path + ": " + std::strerror(errno));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  piece.resize(done);
  return piece;
}

absl::Status WriteAll(int fd, const std::string& path, std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t n = write(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const auto code = errno == ENOSPC || errno == EDQUOT ? absl::StatusCode::kResourceExhausted
                                                           : absl::StatusCode::kInternal;
      return absl::Status(code, "cannot write " + path + ": " + std::strerror(errno));
    }
    piece.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

std::string UploadName(const Digest& digest) {
  return "-/uploads/" + RandomId() + "/blobs/" + digest.ToString();
}

// One try at the rest of an upload. OK with the committed size; the call's status otherwise.
grpc::Status WriteFrom(Connection& connection, helx::v1::Blobs::Stub& stub,
                       const std::string& name, const BlobContent& content, int64_t offset,
                       const ByteProgress& progress, std::stop_token stop, int64_t& committed,
                       absl::Status& local) {
  const int64_t size = content.digest().size_bytes;
  grpc::ClientContext context;
  Prepare(context, connection, std::chrono::milliseconds(0));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  helx::v1::WriteResponse response;
  const auto writer = stub.Write(&context, &response);
  helx::v1::WriteRequest request;
  request.set_resource_name(name);
  do {
    auto piece = content.Read(offset, std::min(kPieceBytes, size - offset));
    if (!piece.ok()) {
      local = piece.status();
      context.TryCancel();
      break;
    }
    request.set_write_offset(offset);
    offset += static_cast<int64_t>(piece->size());
    request.set_data(*std::move(piece));
    request.set_finish_write(offset == size);
    if (!writer->Write(request)) break;  // the server has ended the call: Finish says why
    if (progress) progress(offset, size);
    request.clear_resource_name();
  } while (offset < size);
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (status.ok()) committed = response.committed_size();
  return status;
}

}  // namespace

helx::v1::Digest ToProto(const Digest& digest) {
  helx::v1::Digest out;
  out.set_hash(digest.hash);
  out.set_size_bytes(digest.size_bytes);
  return out;
}

absl::StatusOr<Digest> FromProto(const helx::v1::Digest& digest) {
  Digest out{digest.hash(), digest.size_bytes()};
  if (const absl::Status status = CheckDigest(out); !status.ok()) {
    return DataLoss("the server named a malformed digest: " + MessageOf(status));
  }
  return out;
}

BlobContent BlobContent::OfBytes(std::string bytes) {
  BlobContent content;
  content.digest_ = DigestOf(std::string_view(bytes));
  content.bytes_ = std::move(bytes);
  return content;
}

absl::StatusOr<BlobContent> BlobContent::OfFile(const std::string& path, int64_t limit_bytes) {
  const Fd fd(OpenForReading(path));
  if (fd.get() < 0) {
    return InvalidArgument("cannot open " + path + ": " + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return InvalidArgument(path + " is not a regular file");
  }
  if (info.st_size > limit_bytes) {
    return InvalidArgument(path + " has " + std::to_string(info.st_size) +
                           " bytes; the limit is " + std::to_string(limit_bytes));
  }
  BlobContent content;
  content.path_ = path;
  Sha256 hash;
  for (;;) {
    HELX_ASSIGN_OR_RETURN(const std::string piece,
                          ReadAt(fd.get(), path, content.digest_.size_bytes, kPieceBytes));
    hash.Update(std::string_view(piece));
    content.digest_.size_bytes += static_cast<int64_t>(piece.size());
    if (static_cast<int64_t>(piece.size()) < kPieceBytes) break;
  }
  content.digest_.hash = hash.FinishHex();
  return content;
}

absl::StatusOr<std::string> BlobContent::Read(int64_t offset, int64_t count) const {
  if (path_.empty()) {
    return bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(count));
  }
  const Fd fd(OpenForReading(path_));
  if (fd.get() < 0) return DataLoss("cannot open " + path_ + " again: " + std::strerror(errno));
  HELX_ASSIGN_OR_RETURN(std::string piece, ReadAt(fd.get(), path_, offset, count));
  if (static_cast<int64_t>(piece.size()) != count) {
    return DataLoss(path_ + " became shorter while it was uploaded; submit it again");
  }
  return piece;
}

absl::StatusOr<std::vector<Digest>> BlobClient::FindMissing(const std::vector<Digest>& digests,
                                                            std::stop_token stop) {
  const auto stub = helx::v1::Blobs::NewStub(connection_->transport().channel);
  std::vector<Digest> missing;
  for (size_t begin = 0; begin < digests.size(); begin += kDigestsPerCall) {
    helx::v1::FindMissingRequest request;
    const size_t end = std::min(digests.size(), begin + kDigestsPerCall);
    for (size_t i = begin; i < end; ++i) *request.add_digests() = ToProto(digests[i]);
    helx::v1::FindMissingResponse response;
    HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &helx::v1::Blobs::Stub::FindMissing, request,
                              response, stop));
    for (const auto& digest : response.missing()) {
      HELX_ASSIGN_OR_RETURN(Digest parsed, FromProto(digest));
      missing.push_back(std::move(parsed));
    }
  }
  return missing;
}

absl::Status BlobClient::Upload(const BlobContent& content, const ByteProgress& progress,
                                std::stop_token stop) {
  const int64_t size = content.digest().size_bytes;
  if (size == 0) return absl::OkStatus();  // the empty blob always exists
  const auto stub = helx::v1::Blobs::NewStub(connection_->transport().channel);
  const std::string name = UploadName(content.digest());
  Backoff backoff(*connection_);
  int64_t offset = 0;
  for (;;) {
    int64_t committed = 0;
    absl::Status local;
    const grpc::Status status =
        WriteFrom(*connection_, *stub, name, content, offset, progress, stop, committed, local);
    if (!local.ok()) return local;
    if (stop.stop_requested()) return Interrupted();
    if (status.ok()) {
      if (committed == size) return absl::OkStatus();
      return DataLoss("the server kept " + std::to_string(committed) + " of " +
                      std::to_string(size) + " bytes of blob " + content.digest().hash);
    }
    if (!IsTransient(status) || !backoff.Pause(stop)) {
      return WithContext(FromGrpc(status, *connection_), "upload of " + content.digest().hash);
    }
    HELX_RETURN_IF_ERROR(connection_->Revive());
    helx::v1::QueryWriteStatusRequest query;
    query.set_resource_name(name);
    helx::v1::QueryWriteStatusResponse answer;
    const absl::Status asked = Call(*connection_, *stub, &helx::v1::Blobs::Stub::QueryWriteStatus,
                                    query, answer, stop);
    if (!asked.ok() && !absl::IsNotFound(asked)) return asked;
    if (asked.ok() && answer.complete()) return absl::OkStatus();
    offset = asked.ok() ? answer.committed_size() : 0;  // NOT_FOUND: nothing of it arrived
    if (offset < 0 || offset >= size) offset = 0;
  }
}

absl::Status BlobClient::UploadMissing(const std::vector<BlobContent>& contents,
                                       const ByteProgress& progress, std::stop_token stop) {
  std::set<Digest> wanted;
  for (const BlobContent& content : contents) wanted.insert(content.digest());
  HELX_ASSIGN_OR_RETURN(const std::vector<Digest> missing,
                        FindMissing({wanted.begin(), wanted.end()}, stop));
  std::set<Digest> left(missing.begin(), missing.end());
  int64_t total = 0;
  for (const Digest& digest : left) total += digest.size_bytes;
  int64_t before = 0;
  for (const BlobContent& content : contents) {
    if (left.erase(content.digest()) == 0) continue;
    const ByteProgress part = [&](int64_t done, int64_t) {
      if (progress) progress(before + done, total);
    };
    HELX_RETURN_IF_ERROR(Upload(content, part, stop));
    before += content.digest().size_bytes;
  }
  return absl::OkStatus();
}

absl::Status BlobClient::Download(const Digest& digest, const Sink& sink, std::stop_token stop) {
  HELX_RETURN_IF_ERROR(CheckDigest(digest));
  const auto stub = helx::v1::Blobs::NewStub(connection_->transport().channel);
  Backoff backoff(*connection_);
  Sha256 hash;
  int64_t offset = 0;
  const auto damaged = [&digest](const std::string& what) {
    return DataLoss("blob " + digest.hash + " " + what +
                    "; the server's copy is damaged: run the job again with --no-cache");
  };
  while (offset < digest.size_bytes) {
    grpc::ClientContext context;
    Prepare(context, *connection_, std::chrono::milliseconds(0));
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    helx::v1::ReadRequest request;
    request.set_resource_name("-/blobs/" + digest.ToString());
    request.set_read_offset(offset);
    const auto reader = stub->Read(&context, request);
    helx::v1::ReadResponse response;
    std::optional<absl::Status> failed;
    while (!failed && reader->Read(&response)) {
      offset += static_cast<int64_t>(response.data().size());
      if (offset > digest.size_bytes) {
        failed = damaged("came with more than its " + std::to_string(digest.size_bytes) + " bytes");
        break;
      }
      hash.Update(std::string_view(response.data()));
      if (absl::Status status = sink(response.data()); !status.ok()) failed = status;
      backoff.Reset();
    }
    if (failed) context.TryCancel();
    const grpc::Status status = reader->Finish();
    if (failed) return *failed;
    if (stop.stop_requested()) return Interrupted();
    if (status.ok()) {
      if (offset < digest.size_bytes) {
        return damaged("ended after " + std::to_string(offset) + " of " +
                       std::to_string(digest.size_bytes) + " bytes");
      }
      break;
    }
    if (!IsTransient(status) || !backoff.Pause(stop)) {
      return WithContext(FromGrpc(status, *connection_), "download of " + digest.hash);
    }
    HELX_RETURN_IF_ERROR(connection_->Revive());
  }
  const std::string actual = hash.FinishHex();
  if (actual != digest.hash) return damaged("came with bytes whose SHA-256 is " + actual);
  return absl::OkStatus();
}

absl::StatusOr<std::string> BlobClient::DownloadBytes(const Digest& digest, std::stop_token stop) {
  std::string bytes;
  HELX_RETURN_IF_ERROR(Download(
      digest,
      [&bytes](std::string_view piece) {
        bytes.append(piece);
        return absl::OkStatus();
      },
      stop));
  return bytes;
}

absl::Status BlobClient::DownloadFile(const Digest& digest, const std::string& path,
                                      std::stop_token stop) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) return Internal("cannot create " + path + ": " + std::strerror(errno));
  const absl::Status status = Download(
      digest, [&](std::string_view piece) { return WriteAll(fd.get(), path, piece); }, stop);
  if (!status.ok()) unlink(path.c_str());
  return status;
}

}  // namespace helx::client

// Uploads and downloads of content-addressed bytes.
#ifndef HELX_CLIENT_CPP_BLOB_CLIENT_H_
#define HELX_CLIENT_CPP_BLOB_CLIENT_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/cpp/connection.h"
#include "core/base/digest.h"
#include "core/base/status.h"
#include "helx/v1/types.pb.h"

namespace helx::client {

helx::v1::Digest ToProto(const Digest& digest);
// DATA_LOSS unless hash and size are well formed.
absl::StatusOr<Digest> FromProto(const helx::v1::Digest& digest);

// Bytes to upload: held in memory, or a file that is read as it is sent.
class BlobContent {
 public:
  static BlobContent OfBytes(std::string bytes);
  // Reads the file once for its digest. INVALID_ARGUMENT when it is larger than `limit_bytes`, is not a regular file or
  // cannot be read.
  static absl::StatusOr<BlobContent> OfFile(const std::string& path, int64_t limit_bytes);

  const Digest& digest() const { return digest_; }
  // Up to `count` bytes from `offset`. DATA_LOSS when the file became shorter.
  absl::StatusOr<std::string> Read(int64_t offset, int64_t count) const;

 private:
  Digest digest_;
  std::string bytes_;
  std::string path_;  // empty: bytes_
};

// Told how many bytes of how many have been moved.
using ByteProgress = std::function<void(int64_t done, int64_t total)>;

class BlobClient {
 public:
  explicit BlobClient(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  // Those of `digests` that the server does not hold, in the given order.
  absl::StatusOr<std::vector<Digest>> FindMissing(const std::vector<Digest>& digests,
                                                  std::stop_token stop = {});

  // Uploads one blob; goes on where it was after a broken connection. The server refuses bytes that do not hash to the
  // digest (a file that changed meanwhile): INVALID_ARGUMENT.
  absl::Status Upload(const BlobContent& content, const ByteProgress& progress = {},
                      std::stop_token stop = {});

  // Uploads those of `contents` that the server does not hold.
  absl::Status UploadMissing(const std::vector<BlobContent>& contents,
                             const ByteProgress& progress = {}, std::stop_token stop = {});

  // Streams a blob into `sink` in order; goes on where it was after a broken connection. The digest is checked as the
  // bytes pass: DATA_LOSS when they are not the blob's (what `sink` got is then worthless).
  using Sink = std::function<absl::Status(std::string_view piece)>;
  absl::Status Download(const Digest& digest, const Sink& sink, std::stop_token stop = {});
  absl::StatusOr<std::string> DownloadBytes(const Digest& digest, std::stop_token stop = {});
  // Writes a new file of mode 0644. The file is removed when the download fails.
  absl::Status DownloadFile(const Digest& digest, const std::string& path,
                            std::stop_token stop = {});

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_BLOB_CLIENT_H_

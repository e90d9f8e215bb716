// Uploads in progress, staged in files so that they can be resumed after a broken connection or a
// restart. A staged file is not visible to anyone; it becomes a blob after its digest was checked.
#ifndef HELX_SERVER_STORE_UPLOADS_H_
#define HELX_SERVER_STORE_UPLOADS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/status.h"
#include "server/store/blob_store.h"
#include "server/store/executor.h"

namespace helx::server {

// Who uploads what: `uuid` is the client's name for the upload, [A-Za-z0-9-]{1,64}.
struct UploadName {
  std::string instance;
  std::string uuid;
  Digest digest;

  friend auto operator<=>(const UploadName&, const UploadName&) = default;
};

// One connection's hold of an upload. Thread-safe; ends when a newer connection takes the upload
// over.
class Upload {
 public:
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // Appends `data` at `offset`. OUT_OF_RANGE naming the expected offset when it is not the number
  // of bytes received so far, INVALID_ARGUMENT beyond the announced size, ABORTED after a takeover,
  // RESOURCE_EXHAUSTED when the disk is full.
  absl::Status Append(int64_t offset, std::string_view data);
  int64_t received() const;
  const UploadName& name() const { return name_; }

 private:
  friend class Uploads;
  Upload(UploadName name, std::string path, int fd, int64_t received)
      : name_(std::move(name)), path_(std::move(path)), fd_(fd), received_(received) {}

  const UploadName name_;
  const std::string path_;
  mutable std::mutex mutex_;
  int fd_;
  int64_t received_;
  bool revoked_ = false;
};

// Thread-safe.
class Uploads {
 public:
  // `folder` exists and is this process's own.
  Uploads(std::string folder, Store* store, BlobStore* blobs, Executor* executor)
      : folder_(std::move(folder)), store_(store), blobs_(blobs), executor_(executor) {}

  // Opens an upload, new or left behind.
  absl::StatusOr<std::shared_ptr<Upload>> Open(const UploadName& name);

  // Checks the digest of a complete upload and stores it. `done` gets INVALID_ARGUMENT on a
  // mismatch, and the staged bytes are dropped. It may run on another thread.
  void Finish(std::shared_ptr<Upload> upload, Store::Done done);

  // A blob that came whole in one message: the same without staging.
  void PutWhole(const UploadName& name, std::string content, Store::Done done);

  // Bytes received so far; NOT_FOUND when there is no such upload.
  absl::StatusOr<int64_t> Received(const UploadName& name) const;

  // Drops uploads that nobody has touched for `age_seconds`.
  void Purge(int64_t age_seconds);

 private:
  std::string PathOf(const UploadName& name) const;
  void Forget(const std::shared_ptr<Upload>& upload);

  const std::string folder_;
  Store* const store_;
  BlobStore* const blobs_;
  Executor* const executor_;
  mutable std::mutex mutex_;
  std::map<UploadName, std::weak_ptr<Upload>> open_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_UPLOADS_H_

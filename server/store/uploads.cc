#include "server/store/uploads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/base/sha256.h"
#include "server/store/fault_point.h"

namespace helx::server {
namespace {

absl::Status FileError(const std::string& what, int error) {
  const std::string text = what + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  return absl::UnavailableError(text);
}

absl::StatusOr<std::string> HashOf(int fd, int64_t size) {
  Sha256 hash;
  std::string buffer(static_cast<size_t>(std::min(size, kBlobChunkBytes)), '\0');
  for (int64_t at = 0; at < size;) {
    const ssize_t n = pread(fd, buffer.data(), buffer.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("cannot read an upload", errno);
    if (n == 0) break;
    hash.Update(std::string_view(buffer.data(), static_cast<size_t>(n)));
    at += n;
  }
  return hash.FinishHex();
}

absl::Status Mismatch(const Digest& announced, const std::string& found) {
  return InvalidArgument("the uploaded bytes have the SHA-256 " + found + ", announced was " +
                         announced.hash + "; nothing was stored");
}

}  // namespace

Upload::~Upload() { close(fd_); }

int64_t Upload::received() const {
  std::lock_guard lock(mutex_);
  return received_;
}

absl::Status Upload::Append(int64_t offset, std::string_view data) {
  std::lock_guard lock(mutex_);
  if (revoked_) return absl::AbortedError("another connection has taken this upload over");
  if (offset != received_) {
    return absl::OutOfRangeError("write_offset is " + std::to_string(offset) + ", but " +
                                 std::to_string(received_) +
                                 " bytes have been received; ask QueryWriteStatus and go on there");
  }
  if (static_cast<int64_t>(data.size()) > name_.digest.size_bytes - received_) {
    return InvalidArgument("the upload passes its announced size of " +
                           std::to_string(name_.digest.size_bytes) + " bytes");
  }
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = pwrite(fd_, data.data() + done, data.size() - done, received_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("cannot stage an upload", errno);
    done += static_cast<size_t>(n);
    received_ += n;
  }
  FaultPoint("upload.staged");
  return absl::OkStatus();
}

std::string Uploads::PathOf(const UploadName& name) const {
  return folder_ + "/" + name.instance + "." + name.uuid + "." + name.digest.hash + "." +
         std::to_string(name.digest.size_bytes);
}

absl::StatusOr<std::shared_ptr<Upload>> Uploads::Open(const UploadName& name) {
  std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found != open_.end()) {
    if (const auto older = found->second.lock()) {
      std::lock_guard older_lock(older->mutex_);
      older->revoked_ = true;
    }
  }
  std::string path = PathOf(name);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return FileError("cannot stage an upload", errno);
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0 || size > name.digest.size_bytes) {
    close(fd);
    unlink(path.c_str());
    return DataLoss("the staged upload is damaged and was dropped; start it again");
  }
  std::shared_ptr<Upload> upload(new Upload(name, std::move(path), fd, size));
  open_[name] = upload;
  return upload;
}

void Uploads::Forget(const std::shared_ptr<Upload>& upload) {
  std::lock_guard lock(mutex_);
  unlink(upload->path_.c_str());
  const auto found = open_.find(upload->name_);
  if (found != open_.end() && found->second.lock() == upload) open_.erase(found);
}

void Uploads::Finish(std::shared_ptr<Upload> upload, Store::Done done) {
  executor_->Post([this, upload = std::move(upload), done = std::move(done)] {
    const UploadName& name = upload->name_;
    std::unique_lock lock(upload->mutex_);
    if (upload->revoked_) {
      return done(absl::AbortedError("another connection has taken this upload over"));
    }
    // Nobody appends from here on: what is hashed is what is stored.
    upload->revoked_ = true;
    const auto hash = HashOf(upload->fd_, name.digest.size_bytes);
    if (!hash.ok()) return done(hash.status());
    if (*hash != name.digest.hash) {
      lock.unlock();
      Forget(upload);
      return done(Mismatch(name.digest, *hash));
    }
    FaultPoint("upload.checked");
    blobs_->PutFile(name.instance, name.digest, upload->fd_,
                    [this, upload, done](const absl::Status& status) {
                      FaultPoint("upload.stored");
                      if (status.ok()) Forget(upload);
                      done(status);
                    });
  });
}

void Uploads::PutWhole(const UploadName& name, std::string content, Store::Done done) {
  const std::string hash = Sha256Hex(std::string_view(content));
  if (hash != name.digest.hash) return done(Mismatch(name.digest, hash));
  Writes writes;
  blobs_->AppendRows(name.instance, name.digest, content, writes);
  store_->Commit(std::move(writes), std::move(done));
}

absl::StatusOr<int64_t> Uploads::Received(const UploadName& name) const {
  struct stat info {};
  if (stat(PathOf(name).c_str(), &info) != 0) return NotFound("there is no such upload");
  return static_cast<int64_t>(info.st_size);
}

void Uploads::Purge(int64_t age_seconds) {
  DIR* folder = opendir(folder_.c_str());
  if (folder == nullptr) return;
  const time_t oldest = time(nullptr) - age_seconds;
  while (const dirent* entry = readdir(folder)) {
    const std::string path = folder_ + "/" + entry->d_name;
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_mtime < oldest) {
      unlink(path.c_str());
    }
  }
  closedir(folder);
}

}  // namespace helx::server

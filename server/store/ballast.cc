#include "server/store/ballast.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace helx::server {

absl::Status Ballast::Take() {
  if (held_ || bytes_ == 0) {
    held_ = true;
    return absl::OkStatus();
  }
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::ResourceExhaustedError("cannot open " + path_ + ": " + std::strerror(errno));
  }
  struct statvfs info {};
  const off_t present = lseek(fd, 0, SEEK_END);
  int error = fstatvfs(fd, &info) == 0 ? 0 : errno;
  const int64_t available =
      static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  if (error == 0 && present < bytes_ && available < 2 * bytes_) error = ENOSPC;
  if (error == 0) error = posix_fallocate(fd, 0, bytes_);
  close(fd);
  if (error != 0) {
    unlink(path_.c_str());
    return absl::ResourceExhaustedError("the disk of " + path_ + " has " +
                                        std::to_string(available) + " bytes left; free at least " +
                                        std::to_string(2 * bytes_));
  }
  held_ = true;
  return absl::OkStatus();
}

void Ballast::Release() {
  held_ = false;
  unlink(path_.c_str());
}

}  // namespace helx::server

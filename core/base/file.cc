#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace helx {
namespace {

absl::Status ErrnoStatus(const std::string& what, int error) {
  const std::string text = what + ": " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR) return NotFound(text);
  if (error == ENOSPC || error == EDQUOT) {
    return absl::Status(absl::StatusCode::kResourceExhausted, text);
  }
  return absl::Status(absl::StatusCode::kUnavailable, text);
}

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

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit_bytes) {
  // O_NONBLOCK: opening a FIFO must not hang; the regular-file check below refuses it.
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return ErrnoStatus("cannot open " + path, errno);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus("cannot stat " + path, errno);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a regular file");
  if (static_cast<size_t>(info.st_size) > limit_bytes) {
    return InvalidArgument(path + " has " + std::to_string(info.st_size) +
                           " bytes; the limit is " + std::to_string(limit_bytes));
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = read(fd.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("cannot read " + path, errno);
    if (n == 0) return DataLoss(path + " became shorter while it was read");
    done += static_cast<size_t>(n);
  }
  return content;
}

absl::Status WriteFile(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const Fd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus("cannot create a file beside " + path, errno);
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = write(fd.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      unlink(temporary.c_str());
      return ErrnoStatus("cannot write " + path, error);
    }
    done += static_cast<size_t>(n);
  }
  if (fchmod(fd.get(), 0644) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return ErrnoStatus("cannot replace " + path, error);
  }
  return absl::OkStatus();
}

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace helx

#include "server/store/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace helx::server {
namespace {

absl::Status MakeFolder(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return FailedPrecondition("cannot create folder " + part + ": " + std::strerror(errno));
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataFolder>> DataFolder::Open(const std::string& path) {
  HELX_RETURN_IF_ERROR(MakeFolder(path));
  const std::string lock_path = path + "/helxd.lock";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return FailedPrecondition("cannot open " + lock_path + ": " + std::strerror(errno) +
                              "; the data folder must be writable");
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char holder[4096] = {};
    const ssize_t n = read(fd, holder, sizeof(holder) - 1);
    close(fd);
    return FailedPrecondition("data folder " + path + " is in use by another helxd" +
                              (n > 0 ? " (process " + std::string(holder, n) + ")" : "") +
                              "; stop it or choose another --data-dir");
  }
  std::unique_ptr<DataFolder> folder(new DataFolder(path, fd));
  folder->Announce("");
  return folder;
}

void DataFolder::Announce(const std::string& address) {
  const std::string text =
      std::to_string(getpid()) + (address.empty() ? "" : ", serving on " + address);
  // Only a help for whoever meets the lock; the lock itself holds.
  if (ftruncate(lock_, 0) != 0 || pwrite(lock_, text.data(), text.size(), 0) < 0) return;
}

DataFolder::~DataFolder() { close(lock_); }

absl::StatusOr<std::string> DataFolder::Subfolder(const std::string& name) const {
  std::string path = path_ + "/" + name;
  HELX_RETURN_IF_ERROR(MakeFolder(path));
  return path;
}

}  // namespace helx::server

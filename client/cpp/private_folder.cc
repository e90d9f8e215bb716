#include "client/cpp/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace helx::client {

absl::Status EnsurePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailedPrecondition("cannot make the folder " + path + ": " + std::strerror(errno) +
                              "; set XDG_RUNTIME_DIR to a folder of yours that exists");
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return FailedPrecondition("cannot look at " + path + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return FailedPrecondition(path + " is not a folder (a symbolic link is refused); remove it");
  }
  if (info.st_uid != geteuid()) {
    return FailedPrecondition(path + " belongs to user " + std::to_string(info.st_uid) +
                              ", not to " + std::to_string(geteuid()) +
                              "; set XDG_RUNTIME_DIR to a folder of yours");
  }
  if ((info.st_mode & 0777) != 0700) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 0777));
    return FailedPrecondition(path + " has mode " + mode +
                              ", which lets others in; allowed is 0700: chmod 700 " + path);
  }
  return absl::OkStatus();
}

}  // namespace helx::client

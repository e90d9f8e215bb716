// A bundle in a folder. Opened component by component without following links, so that a bundle
// never reaches outside.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/bundle/reader.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

constexpr size_t kMostFiles = 100'000;
constexpr int kMostLevels = 16;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

class FolderSource : public BundleSource {
 public:
  explicit FolderSource(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::vector<std::string>> List() const override {
    Fd root(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.get() < 0) {
      return WithErrorCode(NotFound("bundle_missing: cannot open the folder " + folder_ + ": " +
                                    std::strerror(errno)),
                           "bundle_missing");
    }
    std::vector<std::string> files;
    HELX_RETURN_IF_ERROR(ListFolder(std::move(root), "", 0, &files));
    std::sort(files.begin(), files.end());
    return files;
  }

  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t most_bytes) const override {
    const absl::Status safe = CheckBundlePath(path);
    if (!safe.ok()) return RefuseEvidence("unsafe_path", safe);
    Fd at(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    size_t start = 0;
    for (size_t slash = path.find('/'); at.get() >= 0 && slash != std::string::npos;
         start = slash + 1, slash = path.find('/', start)) {
      at = Fd(openat(at.get(), path.substr(start, slash - start).c_str(),
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    }
    const Fd file(at.get() < 0 ? -1
                               : openat(at.get(), path.substr(start).c_str(),
                                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() < 0) return Unreadable(path, errno);
    return ReadAll(file, path, most_bytes);
  }

 private:
  static absl::Status Unreadable(const std::string& path, int error) {
    if (error == ELOOP) return RefuseEvidence("special_file", path + " is a symbolic link");
    return RefuseEvidence(error == ENOENT ? "artifact_missing" : "unreadable",
                          path + ": " + std::strerror(error));
  }

  static absl::StatusOr<std::string> ReadAll(const Fd& file, const std::string& path,
                                             int64_t most_bytes) {
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return Unreadable(path, errno);
    if (!S_ISREG(info.st_mode)) {
      return RefuseEvidence("special_file", path + " is not a regular file");
    }
    if (info.st_size > most_bytes) {
      return RefuseEvidence("artifact_size", path + " has " + std::to_string(info.st_size) +
                                                 " bytes, more than the " +
                                                 std::to_string(most_bytes) + " it should have");
    }
    std::string content(static_cast<size_t>(info.st_size), '\0');
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t n = read(file.get(), content.data() + done, content.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Unreadable(path, errno);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    content.resize(done);
    return content;
  }

  // Takes the folder's descriptor over.
  static absl::Status ListFolder(Fd folder, const std::string& prefix, int level,
                                 std::vector<std::string>* files) {
    if (level > kMostLevels) {
      return RefuseEvidence("too_many_files", prefix + " is nested deeper than " +
                                                  std::to_string(kMostLevels) + " folders");
    }
    const int duplicate = fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
    DIR* stream = duplicate < 0 ? nullptr : fdopendir(duplicate);
    if (stream == nullptr) {
      if (duplicate >= 0) close(duplicate);
      return RefuseEvidence("unreadable", prefix + ": " + std::strerror(errno));
    }
    absl::Status status;
    bool empty = true;
    while (const dirent* entry = readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      empty = false;
      status = ListEntry(folder, name, prefix + name, level, files);
      if (!status.ok()) break;
    }
    closedir(stream);
    if (status.ok() && empty && level > 0) {
      return RefuseEvidence("unlisted_file", prefix + " is an empty folder; manifest.json lists no such");
    }
    return status;
  }

  static absl::Status ListEntry(const Fd& folder, const std::string& name, const std::string& path,
                                int level, std::vector<std::string>* files) {
    struct stat info {};
    if (fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return RefuseEvidence("unreadable", path + ": " + std::strerror(errno));
    }
    if (S_ISREG(info.st_mode)) {
      if (files->size() >= kMostFiles) {
        return RefuseEvidence("too_many_files",
                              "more than " + std::to_string(kMostFiles) + " files");
      }
      files->push_back(path);
      return absl::OkStatus();
    }
    if (!S_ISDIR(info.st_mode)) {
      return RefuseEvidence("special_file",
                            path + (S_ISLNK(info.st_mode) ? " is a symbolic link"
                                                          : " is not a regular file or folder"));
    }
    Fd inner(openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (inner.get() < 0) return Unreadable(path, errno);
    return ListFolder(std::move(inner), path + "/", level + 1, files);
  }

  std::string folder_;
};

}  // namespace

std::unique_ptr<BundleSource> OpenBundleFolder(const std::string& folder) {
  return std::make_unique<FolderSource>(folder);
}

}  // namespace helx

#include "client/ops/files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace helx::ops {
namespace {

constexpr size_t kMaxFile = size_t{1} << 30;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

bool Fail(const std::string& path, const std::string& what, std::string* error) {
  *error = path + ": " + what;
  return false;
}

bool MakeFolders(const std::string& path, std::string* error) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      return Fail(folder, std::strerror(errno), error);
    }
  }
  return true;
}

bool ReadFolder(const std::string& root, const std::string& inside,
                std::map<std::string, std::string>* files, std::string* error) {
  const std::string path = inside.empty() ? root : root + "/" + inside;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (folder == nullptr) return Fail(path, std::strerror(errno), error);
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = inside.empty() ? name : inside + "/" + name;
    const std::string entry_path = root + "/" + below;
    struct stat status;
    struct stat link;
    if (stat(entry_path.c_str(), &status) != 0 || lstat(entry_path.c_str(), &link) != 0) {
      return Fail(entry_path, std::strerror(errno), error);
    }
    if (S_ISDIR(status.st_mode)) {
      // Such a link may lead back here.
      if (S_ISLNK(link.st_mode)) return Fail(entry_path, "a link to a folder", error);
      if (!ReadFolder(root, below, files, error)) return false;
      continue;
    }
    // Reading a pipe or a device might never end.
    if (!S_ISREG(status.st_mode)) return Fail(entry_path, "neither a file nor a folder", error);
    auto bytes = ReadFile(entry_path, error);
    if (!bytes) return false;
    (*files)[below] = std::move(*bytes);
  }
  return true;
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path, std::string* error) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr || IsFolder(path)) {
    Fail(path, file == nullptr ? std::strerror(errno) : "a folder, not a file", error);
    return std::nullopt;
  }
  std::string bytes;
  char buffer[65536];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0) {
    bytes.append(buffer, got);
    if (bytes.size() > kMaxFile) {
      Fail(path, "larger than 1 GiB", error);
      return std::nullopt;
    }
  }
  if (std::ferror(file.get()) != 0) {
    Fail(path, "cannot be read", error);
    return std::nullopt;
  }
  return bytes;
}

bool WriteFile(const std::string& path, const std::string& bytes, std::string* error) {
  if (!MakeFolders(path, error)) return false;
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return Fail(path, std::strerror(errno), error);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) return Fail(path, "cannot be written", error);
  return true;
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<std::map<std::string, std::string>> ReadTree(const std::string& folder,
                                                           std::string* error) {
  std::map<std::string, std::string> files;
  if (!ReadFolder(folder, "", &files, error)) return std::nullopt;
  return files;
}

std::string Stem(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.rfind('.'));
}

}  // namespace helx::ops

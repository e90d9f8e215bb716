#include "client/cpp/bundle_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace helx::client {
namespace fs = std::filesystem;

bool IsBundleFolder(const std::string& folder) {
  struct stat info {};
  return lstat((folder + "/manifest.json").c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

absl::Status CheckOutsideBundles(const std::string& path) {
  const fs::path place = fs::path(path).lexically_normal();
  for (fs::path parent = place.parent_path(); !parent.empty(); parent = parent.parent_path()) {
    if (IsBundleFolder(parent)) {
      return FailedPrecondition(path + " lies inside the bundle " + parent.string() +
                                "; move that bundle away, or choose another folder with -o");
    }
    if (parent == parent.root_path()) break;
  }
  return absl::OkStatus();
}

absl::Status CheckNewFolder(const std::string& folder) {
  fs::path at = fs::absolute(folder).lexically_normal();
  std::error_code error;
  while (fs::symlink_status(at, error).type() == fs::file_type::not_found &&
         at.has_relative_path()) {
    at = at.parent_path();
  }
  if (!fs::is_directory(at, error)) {
    return FailedPrecondition(folder + " cannot be made: " + at.string() +
                              " is not a folder; choose another place with -o");
  }
  std::string probe = (at / ".helx.XXXXXX").string();
  if (mkdtemp(probe.data()) == nullptr) {
    return FailedPrecondition(folder + " cannot be made: nothing can be written into " +
                              at.string() + " (" + std::strerror(errno) +
                              "); choose another place with -o");
  }
  rmdir(probe.c_str());
  return absl::OkStatus();
}

absl::Status CheckBundlePlace(const std::string& folder) {
  HELX_RETURN_IF_ERROR(CheckOutsideBundles(folder));
  const fs::path place = fs::path(folder).lexically_normal();
  std::error_code error;
  const fs::file_status status = fs::symlink_status(place, error);
  // The folder is filled beside its place.
  HELX_RETURN_IF_ERROR(CheckNewFolder(fs::absolute(place).parent_path()));
  if (status.type() == fs::file_type::not_found) return absl::OkStatus();
  if (status.type() != fs::file_type::directory) {
    return FailedPrecondition(folder +
                              " exists and is not a folder; remove it, or choose another "
                              "place with -o");
  }
  if (IsBundleFolder(folder) || fs::is_empty(place, error)) return absl::OkStatus();
  return FailedPrecondition(folder +
                            " exists, is not empty and is not a bundle; move it away, or "
                            "choose another place with -o");
}

absl::StatusOr<StagedFolder> StagedFolder::Create(const std::string& destination) {
  std::string clean = fs::path(destination).lexically_normal();
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  const fs::path parent = fs::path(clean).parent_path();
  std::error_code error;
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) {
    return FailedPrecondition("cannot make the folder " + parent.string() + ": " + error.message() +
                              "; choose another place with -o");
  }
  std::string path = (parent / ("." + fs::path(clean).filename().string() + ".XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) {
    return FailedPrecondition("cannot make a folder in " +
                              (parent.empty() ? std::string(".") : parent.string()) + ": " +
                              std::strerror(errno) + "; choose another place with -o");
  }
  chmod(path.c_str(), 0755);
  return StagedFolder(clean, path);
}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : destination_(std::move(other.destination_)), path_(std::move(other.path_)) {
  other.path_.clear();
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

absl::Status StagedFolder::Commit() {
  if (rename(path_.c_str(), destination_.c_str()) == 0) {
    path_.clear();
    return absl::OkStatus();
  }
  if (errno != ENOTEMPTY && errno != EEXIST) {
    return FailedPrecondition("cannot put " + path_ + " in place of " + destination_ + ": " +
                              std::strerror(errno));
  }
  // An older bundle is there: exchange the two in one step, then remove the older one (path_, by
  // the destructor).
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, destination_.c_str(), RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  if (errno == EINVAL || errno == ENOSYS) return MoveAside();
  return FailedPrecondition("cannot exchange " + path_ + " and " + destination_ + ": " +
                            std::strerror(errno) + "; remove the older folder first");
}

absl::Status StagedFolder::MoveAside() {
  const std::string aside = path_ + ".old";
  if (rename(destination_.c_str(), aside.c_str()) != 0 ||
      rename(path_.c_str(), destination_.c_str()) != 0) {
    return FailedPrecondition("cannot put " + path_ + " in place of " + destination_ + ": " +
                              std::strerror(errno) + "; remove the older folder first");
  }
  path_ = aside;  // for the destructor to remove
  return absl::OkStatus();
}

}  // namespace helx::client

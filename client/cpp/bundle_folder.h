// Puts a complete folder in its place at once.
#ifndef HELX_CLIENT_CPP_BUNDLE_FOLDER_H_
#define HELX_CLIENT_CPP_BUNDLE_FOLDER_H_

#include <string>

#include "core/base/status.h"

namespace helx::client {

// Whether `folder` holds a manifest.json.
bool IsBundleFolder(const std::string& folder);

// FAILED_PRECONDITION when a folder on the way to `path` is a bundle: whatever is written there spoils its evidence.
absl::Status CheckOutsideBundles(const std::string& path);

// FAILED_PRECONDITION unless files can be written into `folder`, or into the deepest folder above it
// that exists: what a long job leaves must find a place. Makes and removes an empty folder there.
absl::Status CheckNewFolder(const std::string& folder);

// Whether a bundle may be put at `folder`: nothing is there, or an empty folder, or an older bundle; no folder on its
// path is itself a bundle, and something can be written there. FAILED_PRECONDITION says what is in the way.
absl::Status CheckBundlePlace(const std::string& folder);

// A folder that is filled beside its destination and then takes its place in one step: readers see the old content or
// the new, never a mixture. What is not committed is removed.
class StagedFolder {
 public:
  // Makes the missing parents of `destination`, and the staging folder beside it.
  static absl::StatusOr<StagedFolder> Create(const std::string& destination);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();

  const std::string& path() const { return path_; }
  // Renames the staging folder to the destination; what was there is removed.
  absl::Status Commit();

 private:
  StagedFolder(std::string destination, std::string path)
      : destination_(std::move(destination)), path_(std::move(path)) {}
  // Two renames, where the file system cannot exchange folders in one.
  absl::Status MoveAside();

  std::string destination_;
  std::string path_;  // empty once committed or moved from
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_BUNDLE_FOLDER_H_

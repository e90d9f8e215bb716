#include "core/bundle/writer.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "core/bundle/layout.h"

namespace helx {

absl::Status BundleWriter::Add(const std::string& path, std::string_view content) {
  HELX_RETURN_IF_ERROR(CheckBundlePath(path));
  if (path == "manifest.json") return InvalidArgument("manifest.json is written by Finish");
  for (const Artifact& artifact : manifest_.artifacts) {
    if (artifact.path == path) return InvalidArgument(path + " was added twice");
  }
  const auto kind = KindOfFile(path);
  if (!kind) return InvalidArgument(path + " is a file that no bundle has");
  const std::filesystem::path full = std::filesystem::path(folder_) / path;
  std::error_code error;
  std::filesystem::create_directories(full.parent_path(), error);
  if (error) {
    return absl::Status(error == std::errc::no_space_on_device
                            ? absl::StatusCode::kResourceExhausted
                            : absl::StatusCode::kUnavailable,
                        "cannot create " + full.parent_path().string() + ": " + error.message());
  }
  HELX_RETURN_IF_ERROR(WriteFile(full.string(), content));
  manifest_.artifacts.push_back(
      {path, std::string(kind->media_type), DigestOf(content), kind->role});
  return absl::OkStatus();
}

std::vector<RetainedFile> BundleWriter::ResultFiles() const {
  std::vector<RetainedFile> files;
  for (const Artifact* artifact : FilesOfResult(manifest_)) {
    files.push_back({artifact->path, artifact->digest});
  }
  std::sort(files.begin(), files.end(),
            [](const RetainedFile& a, const RetainedFile& b) { return a.path < b.path; });
  return files;
}

absl::StatusOr<Manifest> BundleWriter::Finish(std::string status) {
  manifest_.status = std::move(status);
  manifest_.validity = ValidityOf(manifest_.issues);
  std::sort(manifest_.artifacts.begin(), manifest_.artifacts.end(),
            [](const Artifact& a, const Artifact& b) { return a.path < b.path; });
  HELX_ASSIGN_OR_RETURN(const std::string text, manifest_.Canonical());
  HELX_RETURN_IF_ERROR(WriteFile(folder_ + "/manifest.json", text));
  return manifest_;
}

}  // namespace helx

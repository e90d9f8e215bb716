#include "core/bundle/writer.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"

namespace helx {

absl::Status BundleWriter::Add(const std::string& path, std::string_view content,
                               std::string media_type, ArtifactRole role) {
  HELX_RETURN_IF_ERROR(CheckBundlePath(path));
  if (path == "manifest.json") return InvalidArgument("manifest.json is written by Finish");
  for (const Artifact& artifact : manifest_.artifacts) {
    if (artifact.path == path) return InvalidArgument(path + " was added twice");
  }
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
  manifest_.artifacts.push_back({path, std::move(media_type), DigestOf(content), role});
  return absl::OkStatus();
}

absl::StatusOr<Manifest> BundleWriter::Finish(std::string status, std::string validity) {
  manifest_.status = std::move(status);
  manifest_.validity = std::move(validity);
  std::sort(manifest_.artifacts.begin(), manifest_.artifacts.end(),
            [](const Artifact& a, const Artifact& b) { return a.path < b.path; });
  HELX_ASSIGN_OR_RETURN(const std::string text, manifest_.Canonical());
  HELX_RETURN_IF_ERROR(WriteFile(folder_ + "/manifest.json", text));
  return manifest_;
}

}  // namespace helx

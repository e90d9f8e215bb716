// Writes a bundle into a fresh folder; manifest.json comes last.
#ifndef HELX_CORE_BUNDLE_WRITER_H_
#define HELX_CORE_BUNDLE_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/manifest.h"
#include "core/bundle/request_file.h"
#include "core/bundle/result.h"

namespace helx {

class BundleWriter {
 public:
  // REQUIRES: `folder` exists and is empty.
  explicit BundleWriter(std::string folder) : folder_(std::move(folder)) {}

  // INVALID_ARGUMENT for an unsafe or repeated path, or one that no bundle has (layout.h);
  // RESOURCE_EXHAUSTED when the disk is full.
  absl::Status Add(const std::string& path, std::string_view content);
  // What result.json says of the files added so far (ResultDocument::files).
  std::vector<RetainedFile> ResultFiles() const;
  void AddIssue(Issue issue) { manifest_.issues.push_back(std::move(issue)); }
  // Writes manifest.json; the manifest as written. Its validity follows from the issues.
  absl::StatusOr<Manifest> Finish(std::string status = "complete");

 private:
  std::string folder_;
  Manifest manifest_;
};

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_WRITER_H_

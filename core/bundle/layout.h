// Which files a bundle may hold, and what each of them is: media type and role follow from the
// path.
#ifndef HELX_CORE_BUNDLE_LAYOUT_H_
#define HELX_CORE_BUNDLE_LAYOUT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/manifest.h"

namespace helx {

inline constexpr char kImagePath[] = "build/model.elf";
inline constexpr char kMemoryPlanPath[] = "build/memory.json";

struct FileKind {
  std::string_view media_type;
  ArtifactRole role;
};

// What a bundle's file of that path is; empty when no bundle has such a file.
std::optional<FileKind> KindOfFile(std::string_view path);

// Where tensors lie: of an input set, of a reference, of a sample.
std::string InputPath(size_t set, size_t input);
std::string ReferencePath(size_t reference, size_t output);
std::string OutputPath(size_t sample, size_t output);

// Refuses artifacts that no bundle has (unknown_artifact) or that are said to be something else
// than their path says (media_type_mismatch, wrong_role).
absl::Status CheckLayout(const Manifest& manifest);

// The files that only result.json's `files` names: whatever is evidence beside the request, the
// result and the tensors. In the manifest's order.
std::vector<const Artifact*> FilesOfResult(const Manifest& manifest);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_LAYOUT_H_

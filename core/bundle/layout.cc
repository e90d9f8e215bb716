#include "core/bundle/layout.h"

#include <iterator>

#include "core/base/yaml_scalar.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kBinary = "application/octet-stream";
constexpr std::string_view kText = "text/plain";
constexpr std::string_view kSource = "text/x-c";

// `prefix` ends in '/' when any file below that folder is meant. The first row that fits decides.
struct Row {
  std::string_view prefix;
  std::string_view suffix;
  FileKind kind;
};
constexpr Row kRows[] = {
    {"request.json", "", {kJson, ArtifactRole::kCore}},
    {"result.json", "", {kJson, ArtifactRole::kCore}},
    {"timing.json", "", {kJson, ArtifactRole::kDiagnostic}},
    {"logs/", "", {kText, ArtifactRole::kDiagnostic}},
    {kImagePath, "", {"application/x-elf", ArtifactRole::kCore}},
    {"build/commands.json", "", {kJson, ArtifactRole::kDiagnostic}},
    {"build/", ".json", {kJson, ArtifactRole::kEvidence}},
    {"build/", ".map", {kText, ArtifactRole::kEvidence}},
    {"build/", ".ld", {kText, ArtifactRole::kEvidence}},
    {"build/", ".c", {kSource, ArtifactRole::kEvidence}},
    {"build/", ".h", {kSource, ArtifactRole::kEvidence}},
    {"build/", ".S", {kSource, ArtifactRole::kEvidence}},
    {"build/", ".bin", {kBinary, ArtifactRole::kEvidence}},
    {"tensors/inputs/", ".bin", {kBinary, ArtifactRole::kEvidence}},
    {"tensors/references/", ".bin", {kBinary, ArtifactRole::kEvidence}},
    {"tensors/outputs/", ".bin", {kBinary, ArtifactRole::kCore}},
    {"layers/", ".bin", {kBinary, ArtifactRole::kEvidence}},
};

bool Fits(const Row& row, std::string_view path) {
  return row.prefix.ends_with('/') ? path.starts_with(row.prefix) && path.ends_with(row.suffix)
                                   : path == row.prefix;
}

}  // namespace

std::optional<FileKind> KindOfFile(std::string_view path) {
  for (const Row& row : kRows) {
    if (Fits(row, path)) return row.kind;
  }
  return std::nullopt;
}

std::string InputPath(size_t set, size_t input) {
  return "tensors/inputs/" + std::to_string(set) + "/input-" + std::to_string(input) + ".bin";
}

std::string ReferencePath(size_t reference, size_t output) {
  return "tensors/references/" + std::to_string(reference) + "/output-" + std::to_string(output) +
         ".bin";
}

std::string OutputPath(size_t sample, size_t output) {
  return "tensors/outputs/" + std::to_string(sample) + "/output-" + std::to_string(output) + ".bin";
}

absl::Status CheckLayout(const Manifest& manifest) {
  for (const Artifact& artifact : manifest.artifacts) {
    const auto kind = KindOfFile(artifact.path);
    if (!kind) {
      return RefuseEvidence("unknown_artifact", artifact.path + " is a file that no bundle has");
    }
    if (artifact.media_type != kind->media_type) {
      return RefuseEvidence("media_type_mismatch", artifact.path + " has the media type " +
                                                       ShownText(artifact.media_type) +
                                                       "; a file of that name is " +
                                                       std::string(kind->media_type));
    }
    if (artifact.role != kind->role) {
      return RefuseEvidence("wrong_role", artifact.path + " has the role " +
                                              RoleName(artifact.role) +
                                              "; a file of that name is " + RoleName(kind->role));
    }
  }
  return absl::OkStatus();
}

std::vector<const Artifact*> FilesOfResult(const Manifest& manifest) {
  std::vector<const Artifact*> files;
  for (const Artifact& artifact : manifest.artifacts) {
    if (artifact.role == ArtifactRole::kDiagnostic || artifact.path == "request.json" ||
        artifact.path == "result.json" || artifact.path.starts_with("tensors/")) {
      continue;
    }
    files.push_back(&artifact);
  }
  return files;
}

}  // namespace helx

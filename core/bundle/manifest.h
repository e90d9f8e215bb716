// A bundle: a folder (or its content in the store) with manifest.json, written last, that lists
// every other file.
#ifndef HELX_CORE_BUNDLE_MANIFEST_H_
#define HELX_CORE_BUNDLE_MANIFEST_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status.h"

namespace helx {

enum class ArtifactRole { kCore, kEvidence, kDiagnostic };

// "core", "evidence", "diagnostic".
const char* RoleName(ArtifactRole role);

struct Artifact {
  std::string path;  // relative, '/'-separated, no "." or "..", UTF-8
  std::string media_type;
  Digest digest;
  ArtifactRole role = ArtifactRole::kCore;
};

struct Issue {
  std::string code;
  std::string severity;  // "error" | "warning" | "info"
  std::string message;
  Json context = Json::object();
};

// What its issues make of a bundle: "invalid" with an error among them, "degraded" with a warning,
// otherwise "valid".
std::string ValidityOf(const std::vector<Issue>& issues);

struct Manifest {
  static constexpr std::string_view kSchema = "helx.manifest";
  static constexpr int64_t kVersion = 1;

  std::string status = "complete";  // complete | incomplete | failed
  std::string validity = "valid";   // valid | degraded | invalid
  std::vector<Issue> issues;
  std::vector<Artifact> artifacts;  // sorted by path

  absl::StatusOr<std::string> Canonical() const;
  // Refuses unknown schemas and newer versions, unsafe or duplicate paths, malformed digests, and a
  // validity that the issues do not give (validity_mismatch).
  static absl::StatusOr<Manifest> Parse(std::string_view text);

  const Artifact* Find(std::string_view path) const;

  // Hex SHA-256 of the canonical list of the core and evidence artifacts (path, role, SHA-256,
  // size): equal for equal results, whatever the host's clock said.
  absl::StatusOr<std::string> ContentDigest() const;
};

// INVALID_ARGUMENT unless `path` stays inside the folder it is joined to.
absl::Status CheckBundlePath(std::string_view path);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_MANIFEST_H_

#include "core/bundle/manifest.h"

#include <algorithm>

#include "core/base/sha256.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

constexpr size_t kPathBytes = 512;

absl::StatusOr<ArtifactRole> RoleFromName(const std::string& name, const std::string& where) {
  for (ArtifactRole role :
       {ArtifactRole::kCore, ArtifactRole::kEvidence, ArtifactRole::kDiagnostic}) {
    if (name == RoleName(role)) return role;
  }
  return InvalidArgument(where + ".role is " + ShownText(name) +
                         "; allowed: core, evidence, diagnostic");
}

absl::Status CheckOneOf(const std::string& value, const char* name,
                        std::initializer_list<std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return absl::OkStatus();
  return InvalidArgument(std::string(name) + " is " + ShownText(value) +
                         "; allowed: " + JoinNames(allowed));
}

absl::StatusOr<Issue> IssueFromJson(const Json& value, const std::string& where) {
  Issue issue;
  HELX_ASSIGN_OR_RETURN(issue.code, JsonString(value, "code", where));
  HELX_ASSIGN_OR_RETURN(issue.severity, JsonString(value, "severity", where));
  HELX_RETURN_IF_ERROR(CheckOneOf(issue.severity, "severity", {"error", "warning", "info"}));
  HELX_ASSIGN_OR_RETURN(issue.message, JsonString(value, "message", where));
  HELX_ASSIGN_OR_RETURN(const Json* context, JsonMember(value, "context", where));
  issue.context = *context;
  return issue;
}

Json ArtifactToJson(const Artifact& artifact) {
  return Json{{"media_type", artifact.media_type},
              {"path", artifact.path},
              {"role", RoleName(artifact.role)},
              {"sha256", artifact.digest.hash},
              {"size_bytes", artifact.digest.size_bytes}};
}

absl::StatusOr<Artifact> ArtifactFromJson(const Json& value, const std::string& where) {
  Artifact artifact;
  HELX_ASSIGN_OR_RETURN(artifact.path, JsonString(value, "path", where));
  HELX_ASSIGN_OR_RETURN(artifact.media_type, JsonString(value, "media_type", where));
  HELX_ASSIGN_OR_RETURN(artifact.digest.hash, JsonString(value, "sha256", where));
  HELX_ASSIGN_OR_RETURN(artifact.digest.size_bytes, JsonInt(value, "size_bytes", where));
  HELX_RETURN_IF_ERROR(Annotate(CheckDigest(artifact.digest), where));
  HELX_ASSIGN_OR_RETURN(const std::string role, JsonString(value, "role", where));
  HELX_ASSIGN_OR_RETURN(artifact.role, RoleFromName(role, where));
  return artifact;
}

Json ToJson(const Manifest& manifest) {
  Json issues = Json::array();
  for (const Issue& issue : manifest.issues) {
    issues.push_back(Json{{"code", issue.code},
                          {"context", issue.context},
                          {"message", issue.message},
                          {"severity", issue.severity}});
  }
  Json artifacts = Json::array();
  for (const Artifact& artifact : manifest.artifacts) artifacts.push_back(ArtifactToJson(artifact));
  return Json{{"artifacts", std::move(artifacts)},
              {"issues", std::move(issues)},
              {"schema", std::string(Manifest::kSchema)},
              {"schema_version", Manifest::kVersion},
              {"status", manifest.status},
              {"validity", manifest.validity}};
}

absl::Status ReadArtifacts(const Json& list, Manifest* manifest) {
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = "artifacts[" + std::to_string(i) + "]";
    auto artifact = ArtifactFromJson(list[i], where);
    if (!artifact.ok()) return RefuseEvidence("manifest_invalid", artifact.status());
    const absl::Status path = CheckBundlePath(artifact->path);
    if (!path.ok()) return RefuseEvidence("unsafe_path", where + ": " + MessageOf(path));
    if (artifact->path == "manifest.json") {
      return RefuseEvidence("manifest_lists_itself", where + " is manifest.json");
    }
    if (!manifest->artifacts.empty() && artifact->path <= manifest->artifacts.back().path) {
      return RefuseEvidence(artifact->path == manifest->artifacts.back().path ? "duplicate_artifact"
                                                                              : "manifest_order",
                            where + ": artifacts ascend by path, each at most once; found " +
                                ShownText(artifact->path));
    }
    manifest->artifacts.push_back(*std::move(artifact));
  }
  return absl::OkStatus();
}

absl::Status ReadHead(const Json& value, Manifest* manifest) {
  HELX_ASSIGN_OR_RETURN(manifest->status, JsonString(value, "status", "manifest"));
  HELX_RETURN_IF_ERROR(
      CheckOneOf(manifest->status, "status", {"complete", "incomplete", "failed"}));
  HELX_ASSIGN_OR_RETURN(manifest->validity, JsonString(value, "validity", "manifest"));
  HELX_RETURN_IF_ERROR(
      CheckOneOf(manifest->validity, "validity", {"valid", "degraded", "invalid"}));
  HELX_ASSIGN_OR_RETURN(const Json* issues, JsonMember(value, "issues", "manifest"));
  if (!issues->is_array()) return InvalidArgument("manifest.issues is not a list");
  for (size_t i = 0; i < issues->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(manifest->issues.emplace_back(),
                          IssueFromJson((*issues)[i], "issues[" + std::to_string(i) + "]"));
  }
  HELX_ASSIGN_OR_RETURN(const Json* artifacts, JsonMember(value, "artifacts", "manifest"));
  if (!artifacts->is_array()) return InvalidArgument("manifest.artifacts is not a list");
  return absl::OkStatus();
}

}  // namespace

const char* RoleName(ArtifactRole role) {
  switch (role) {
    case ArtifactRole::kCore:
      return "core";
    case ArtifactRole::kEvidence:
      return "evidence";
    case ArtifactRole::kDiagnostic:
      break;
  }
  return "diagnostic";
}

std::string ValidityOf(const std::vector<Issue>& issues) {
  const auto any = [&issues](std::string_view severity) {
    return std::any_of(issues.begin(), issues.end(),
                       [severity](const Issue& issue) { return issue.severity == severity; });
  };
  return any("error") ? "invalid" : any("warning") ? "degraded" : "valid";
}

absl::Status CheckBundlePath(std::string_view path) {
  const auto refuse = [path](const char* what) {
    return InvalidArgument("the path " + ShownText(path) + " " + what);
  };
  if (path.empty() || path.size() > kPathBytes) return refuse("has not 1 to 512 bytes");
  if (!IsUtf8(path)) return refuse("is not UTF-8");
  for (char c : path) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f || c == '\\') {
      return refuse("holds a control character or a backslash");
    }
  }
  size_t start = 0;
  while (start <= path.size()) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") {
      return refuse("is absolute or holds an empty, \".\" or \"..\" component");
    }
    if (part.size() > 255) return refuse("holds a component of more than 255 bytes");
    start = end + 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Manifest::Canonical() const { return CanonicalJson(ToJson(*this)); }

absl::StatusOr<Manifest> Manifest::Parse(std::string_view text) {
  const auto value = ParseJson(text);
  if (!value.ok()) return RefuseEvidence("manifest_invalid", value.status());
  // The schema first: a newer manifest may differ in everything else.
  const auto schema = JsonString(*value, "schema", "manifest");
  if (!schema.ok()) return RefuseEvidence("manifest_invalid", schema.status());
  if (*schema != kSchema) {
    return RefuseEvidence("manifest_schema", "the schema is " + ShownText(*schema) +
                                                 "; expected: " + std::string(kSchema));
  }
  const auto version = JsonInt(*value, "schema_version", "manifest");
  if (!version.ok()) return RefuseEvidence("manifest_invalid", version.status());
  if (*version != kVersion) {
    return RefuseEvidence("manifest_version",
                          "the manifest has schema version " + std::to_string(*version) +
                              "; this program reads version " + std::to_string(kVersion) +
                              (*version > kVersion ? "; use a newer helxctl" : ""));
  }
  Manifest manifest;
  const absl::Status head = ReadHead(*value, &manifest);
  if (!head.ok()) return RefuseEvidence("manifest_invalid", head);
  HELX_RETURN_IF_ERROR(ReadArtifacts((*value)["artifacts"], &manifest));
  const auto again = manifest.Canonical();
  if (!again.ok()) return RefuseEvidence("manifest_invalid", again.status());
  if (*again != text) {
    return RefuseEvidence("manifest_not_canonical",
                          "the manifest holds unknown members or is not the canonical text of its "
                          "value");
  }
  if (manifest.validity != ValidityOf(manifest.issues)) {
    return RefuseEvidence("validity_mismatch", "the validity is " + manifest.validity +
                                                   ", but the issues make it " +
                                                   ValidityOf(manifest.issues));
  }
  return manifest;
}

const Artifact* Manifest::Find(std::string_view path) const {
  const auto it = std::lower_bound(
      artifacts.begin(), artifacts.end(), path,
      [](const Artifact& artifact, std::string_view p) { return artifact.path < p; });
  return it != artifacts.end() && it->path == path ? &*it : nullptr;
}

absl::StatusOr<std::string> Manifest::ContentDigest() const {
  Json list = Json::array();
  for (const Artifact& artifact : artifacts) {
    if (artifact.role == ArtifactRole::kDiagnostic) continue;
    list.push_back(Json{{"path", artifact.path},
                        {"role", RoleName(artifact.role)},
                        {"sha256", artifact.digest.hash},
                        {"size_bytes", artifact.digest.size_bytes}});
  }
  HELX_ASSIGN_OR_RETURN(const std::string canonical, CanonicalJson(list));
  return Sha256Hex(canonical);
}

}  // namespace helx

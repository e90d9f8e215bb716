#include "core/bundle/reader.h"

#include <algorithm>

#include "core/base/sha256.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/evidence.h"
#include "core/bundle/layout.h"
#include "core/bundle/refusal.h"
#include "core/bundle/request_file.h"

namespace helx {
namespace {

constexpr char kManifestPath[] = "manifest.json";
// 100,000 files, each with its path and digest.
constexpr int64_t kMostManifestBytes = int64_t{64} << 20;

absl::Status CheckListing(const std::vector<std::string>& files, const Manifest& manifest) {
  for (const std::string& file : files) {
    if (file != kManifestPath && !file.ends_with('/') && manifest.Find(file) == nullptr) {
      return RefuseEvidence("unlisted_file", file + " is not listed in manifest.json");
    }
  }
  for (const Artifact& artifact : manifest.artifacts) {
    if (std::find(files.begin(), files.end(), artifact.path) == files.end()) {
      return RefuseEvidence("artifact_missing",
                            artifact.path + " is listed in manifest.json but does not exist");
    }
  }
  for (const std::string& file : files) {
    if (file.ends_with('/')) {
      return RefuseEvidence("unlisted_file", file + " is an empty folder, which no bundle has");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadChecked(const BundleSource& source, const Artifact& artifact) {
  HELX_ASSIGN_OR_RETURN(std::string content,
                        source.Read(artifact.path, artifact.digest.size_bytes));
  if (static_cast<int64_t>(content.size()) != artifact.digest.size_bytes) {
    return RefuseEvidence("artifact_size", artifact.path + " has " +
                                               std::to_string(content.size()) +
                                               " bytes; manifest.json says " +
                                               std::to_string(artifact.digest.size_bytes));
  }
  if (Sha256Hex(content) != artifact.digest.hash) {
    return RefuseEvidence("artifact_modified",
                          artifact.path + " does not have the SHA-256 that manifest.json says");
  }
  return content;
}

// The content of a file that every bundle has.
absl::StatusOr<const std::string*> CoreFile(const Manifest& manifest,
                                            const std::map<std::string, std::string>& files,
                                            const char* path, const char* missing) {
  const Artifact* artifact = manifest.Find(path);
  if (artifact == nullptr) {
    return RefuseEvidence(missing, std::string(path) + " is not in the bundle");
  }
  return &files.at(path);
}

absl::Status CheckStatus(const Manifest& manifest) {
  if (manifest.status == "complete" && manifest.validity != "invalid") return absl::OkStatus();
  std::string issues;
  for (const Issue& issue : manifest.issues) {
    issues += (issues.empty() ? ": " : "; ") + issue.code + " (" + issue.message + ")";
  }
  if (manifest.status != "complete") {
    return RefuseEvidence("bundle_incomplete",
                          "manifest.json says the status is " + manifest.status + issues);
  }
  return RefuseEvidence("bundle_invalid", "manifest.json says the evidence is invalid" + issues);
}

}  // namespace

absl::StatusOr<LoadedBundle> LoadBundle(std::shared_ptr<const BundleSource> source) {
  LoadedBundle bundle;
  bundle.source = source;
  HELX_ASSIGN_OR_RETURN(const std::vector<std::string> listing, source->List());
  for (const std::string& file : listing) {
    if (file.starts_with(std::string(kManifestPath) + "/")) {
      return RefuseEvidence("special_file",
                            "manifest.json is a folder; in a bundle it is the file that lists the "
                            "others, so this is not a bundle, or it was changed");
    }
  }
  if (std::find(listing.begin(), listing.end(), kManifestPath) == listing.end()) {
    return RefuseEvidence(
        "manifest_missing",
        "there is no manifest.json: this is not a bundle, or it was never finished");
  }
  HELX_ASSIGN_OR_RETURN(bundle.manifest_text, source->Read(kManifestPath, kMostManifestBytes));
  HELX_ASSIGN_OR_RETURN(bundle.manifest, Manifest::Parse(bundle.manifest_text));
  HELX_RETURN_IF_ERROR(CheckListing(listing, bundle.manifest));
  HELX_RETURN_IF_ERROR(CheckStatus(bundle.manifest));
  HELX_RETURN_IF_ERROR(CheckLayout(bundle.manifest));

  // Every file is read and hashed once; later checks compare digests.
  std::map<std::string, std::string> files;
  for (const Artifact& artifact : bundle.manifest.artifacts) {
    HELX_ASSIGN_OR_RETURN(files[artifact.path], ReadChecked(*source, artifact));
  }
  HELX_ASSIGN_OR_RETURN(bundle.content_digest, bundle.manifest.ContentDigest());

  HELX_ASSIGN_OR_RETURN(const std::string* request_text,
                        CoreFile(bundle.manifest, files, "request.json", "request_missing"));
  HELX_ASSIGN_OR_RETURN(RequestFileContent request, ParseRequestFile(*request_text));
  bundle.request = std::move(request.request);
  bundle.request_tensors = std::move(request.tensors);
  HELX_ASSIGN_OR_RETURN(const std::string* result_text,
                        CoreFile(bundle.manifest, files, "result.json", "result_missing"));
  auto result = ResultDocument::Parse(*result_text);
  if (!result.ok()) {
    const std::string code = ErrorCodeOf(result.status());
    return RefuseEvidence(
        code == "result_schema" || code == "result_not_canonical" ? code : "result_invalid",
        result.status());
  }
  bundle.result = *std::move(result);

  const Evidence evidence{bundle.manifest, files, bundle.request, bundle.result};
  HELX_RETURN_IF_ERROR(CheckAgreement(evidence));
  HELX_RETURN_IF_ERROR(CheckBuild(evidence));
  HELX_RETURN_IF_ERROR(CheckTensors(evidence));
  HELX_RETURN_IF_ERROR(CheckVerdicts(evidence));
  return bundle;
}

absl::StatusOr<LoadedBundle> LoadBundle(const std::string& folder) {
  return LoadBundle(std::shared_ptr<const BundleSource>(OpenBundleFolder(folder)));
}

absl::StatusOr<std::string> LoadedBundle::Output(size_t sample, size_t output) const {
  if (sample >= result.samples.size() || output >= result.samples[sample].output_tensors.size()) {
    return NotFound("sample " + std::to_string(sample) + " retains no output " +
                    std::to_string(output));
  }
  return ReadArtifact(result.samples[sample].output_tensors[output]);
}

absl::StatusOr<std::string> LoadedBundle::ReadArtifact(const std::string& path) const {
  const Artifact* artifact = manifest.Find(path);
  if (artifact == nullptr) return NotFound("the bundle lists no file " + ShownText(path));
  return ReadChecked(*source, *artifact);
}

absl::StatusOr<InputIdentity> BundleInputIdentity(const LoadedBundle& bundle) {
  std::vector<std::vector<IdentifiedInput>> sets;
  for (const auto& set : bundle.result.inputs) {
    auto& identified = sets.emplace_back();
    for (const RetainedTensor& tensor : set) {
      identified.push_back({tensor.spec, tensor.digest.hash});
    }
  }
  return IdentifyInputs(sets);
}

}  // namespace helx

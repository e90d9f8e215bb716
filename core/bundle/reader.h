// load_result: reads a bundle, believes nothing, recomputes everything.
#ifndef HELX_CORE_BUNDLE_READER_H_
#define HELX_CORE_BUNDLE_READER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/manifest.h"
#include "core/bundle/result.h"
#include "core/experiment/frozen_request.h"
#include "core/tensor/input_identity.h"

namespace helx {

// Where a bundle's files come from: a folder, or blobs of the store.
class BundleSource {
 public:
  virtual ~BundleSource() = default;
  // Every file of the bundle by relative path, manifest.json included, and each empty folder as
  // "path/". Folders refuse symbolic links and special files.
  virtual absl::StatusOr<std::vector<std::string>> List() const = 0;
  // Refuses a file of more than `most_bytes` (artifact_size) without reading it.
  virtual absl::StatusOr<std::string> Read(const std::string& path, int64_t most_bytes) const = 0;
};

std::unique_ptr<BundleSource> OpenBundleFolder(const std::string& folder);

// Reads one of the manifest's artifacts, whose size is known to be allowed.
using BlobReader = std::function<absl::StatusOr<std::string>(const Artifact&)>;
// A bundle whose files are blobs: `read` is called for each file that `manifest_text` lists.
absl::StatusOr<std::unique_ptr<BundleSource>> OpenBundleBlobs(const std::string& manifest_text,
                                                              BlobReader read);

struct LoadedBundle {
  Manifest manifest;
  std::string manifest_text;
  FrozenRequest request;
  ResultDocument result;
  std::string content_digest;                          // hex
  std::map<std::string, std::string> request_tensors;  // of request.json, by hex SHA-256
  std::shared_ptr<const BundleSource> source;

  // The bytes of a retained output, checked against the manifest again. NOT_FOUND when the sample
  // did not capture it.
  absl::StatusOr<std::string> Output(size_t sample, size_t output) const;
  // The same for any file that the manifest lists, by its path.
  absl::StatusOr<std::string> ReadArtifact(const std::string& path) const;
};

// Verifies artifact hashes and sizes, paths, unlisted and missing files, request and result against
// each other, tensor storage, runner signatures, the tensor request's compiled digest, and every
// numerical verdict. Errors carry a stable code as a prefix of the message, for instance
// "artifact_modified: ...": see docs/formats.md.
absl::StatusOr<LoadedBundle> LoadBundle(std::shared_ptr<const BundleSource> source);
absl::StatusOr<LoadedBundle> LoadBundle(const std::string& folder);

// What the model was fed, as stored: helx.inputs/v1, or null with the reason.
absl::StatusOr<InputIdentity> BundleInputIdentity(const LoadedBundle& bundle);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_READER_H_

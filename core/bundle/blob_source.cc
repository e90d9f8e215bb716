#include "core/bundle/reader.h"

#include <memory>
#include <utility>

#include "core/bundle/refusal.h"

namespace helx {
namespace {

class BlobSource : public BundleSource {
 public:
  BlobSource(std::string manifest_text, Manifest manifest, BlobReader read)
      : manifest_text_(std::move(manifest_text)),
        manifest_(std::move(manifest)),
        read_(std::move(read)) {}

  absl::StatusOr<std::vector<std::string>> List() const override {
    std::vector<std::string> paths{"manifest.json"};
    for (const Artifact& artifact : manifest_.artifacts) paths.push_back(artifact.path);
    return paths;
  }

  absl::StatusOr<std::string> Read(const std::string& path, int64_t most_bytes) const override {
    if (path == "manifest.json") return manifest_text_;
    const Artifact* artifact = manifest_.Find(path);
    if (artifact == nullptr) {
      return RefuseEvidence("artifact_missing", "the bundle has no file " + path);
    }
    if (artifact->digest.size_bytes > most_bytes) {
      return RefuseEvidence("artifact_size",
                            path + " has " + std::to_string(artifact->digest.size_bytes) +
                                " bytes, more than the " + std::to_string(most_bytes) +
                                " it should have");
    }
    return read_(*artifact);
  }

 private:
  const std::string manifest_text_;
  const Manifest manifest_;
  const BlobReader read_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BundleSource>> OpenBundleBlobs(const std::string& manifest_text,
                                                              BlobReader read) {
  HELX_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(manifest_text));
  return std::make_unique<BlobSource>(manifest_text, std::move(manifest), std::move(read));
}

}  // namespace helx

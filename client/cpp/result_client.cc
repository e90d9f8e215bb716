#include "client/cpp/result_client.h"

#include <filesystem>

#include "client/cpp/bundle_folder.h"
#include "client/cpp/rpc.h"
#include "core/base/file.h"
#include "helx/v1/results.grpc.pb.h"

namespace helx::client {
namespace {

using helx::v1::Results;

class StoredBundle : public BundleSource {
 public:
  StoredBundle(BlobClient blobs, std::string manifest_text, Manifest manifest, std::stop_token stop)
      : blobs_(std::move(blobs)),
        manifest_text_(std::move(manifest_text)),
        manifest_(std::move(manifest)),
        stop_(std::move(stop)) {}

  absl::StatusOr<std::vector<std::string>> List() const override {
    std::vector<std::string> paths{"manifest.json"};
    for (const Artifact& artifact : manifest_.artifacts) paths.push_back(artifact.path);
    return paths;
  }

  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t most_bytes) const override {
    if (path == "manifest.json") return manifest_text_;
    const Artifact* artifact = manifest_.Find(path);
    if (artifact == nullptr) return NotFound("the bundle has no file " + path);
    if (artifact->digest.size_bytes > most_bytes) {
      return DataLoss(path + " has " + std::to_string(artifact->digest.size_bytes) + " bytes, more than the " +
                      std::to_string(most_bytes) + " it should have");
    }
    return blobs_.DownloadBytes(artifact->digest, stop_);
  }

 private:
  mutable BlobClient blobs_;
  std::string manifest_text_;
  Manifest manifest_;
  std::stop_token stop_;
};

}  // namespace

absl::StatusOr<helx::v1::Result> ResultClient::GetChecked(const helx::v1::GetResultRequest& request,
                                                          std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  helx::v1::Result result;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Results::Stub::Get, request, result, stop));
  HELX_ASSIGN_OR_RETURN(const Digest named, FromProto(result.bundle()));
  const Digest actual = DigestOf(std::string_view(result.manifest()));
  if (actual != named) {
    return DataLoss("the manifest that came for bundle " + named.ToString() + " is " +
                    actual.ToString() +
                    "; the server's copy is damaged: run the job again with --no-cache");
  }
  return result;
}

absl::StatusOr<helx::v1::Result> ResultClient::Get(const Digest& bundle, std::stop_token stop) {
  helx::v1::GetResultRequest request;
  *request.mutable_bundle() = ToProto(bundle);
  return GetChecked(request, stop);
}

absl::StatusOr<helx::v1::Result> ResultClient::GetNewest(const std::string& experiment,
                                                         std::stop_token stop) {
  helx::v1::GetResultRequest request;
  request.set_experiment(experiment);
  return GetChecked(request, stop);
}

absl::StatusOr<helx::v1::ListResultsResponse> ResultClient::List(
    const helx::v1::ListResultsRequest& request, std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  helx::v1::ListResultsResponse response;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Results::Stub::List, request, response, stop));
  return response;
}

absl::StatusOr<Digest> ResultClient::FindByHash(const std::string& prefix, std::stop_token stop) {
  helx::v1::ListResultsRequest request;
  request.set_page_size(1000);
  Digest found;
  do {
    HELX_ASSIGN_OR_RETURN(const auto page, List(request, stop));
    for (const auto& entry : page.results()) {
      if (entry.bundle().hash().compare(0, prefix.size(), prefix) != 0) continue;
      if (!found.hash.empty() && found.hash != entry.bundle().hash()) {
        return InvalidArgument("'" + prefix + "' fits more than one bundle (" + found.hash +
                               " and " + entry.bundle().hash() + "); write more of it");
      }
      HELX_ASSIGN_OR_RETURN(found, FromProto(entry.bundle()));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  if (found.hash.empty()) {
    return NotFound("no stored bundle's digest begins with '" + prefix +
                    "'; 'results list' shows those that exist");
  }
  return found;
}

absl::StatusOr<std::shared_ptr<const BundleSource>> ResultClient::Open(
    const helx::v1::Result& result, std::stop_token stop) {
  HELX_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(result.manifest()));
  return std::make_shared<StoredBundle>(BlobClient(connection_), result.manifest(),
                                        std::move(manifest), stop);
}

absl::Status ResultClient::Fetch(const helx::v1::Result& result, const std::string& folder,
                                 const ByteProgress& progress, std::stop_token stop) {
  HELX_RETURN_IF_ERROR(CheckBundlePlace(folder));
  HELX_ASSIGN_OR_RETURN(const Manifest manifest, Manifest::Parse(result.manifest()));
  HELX_ASSIGN_OR_RETURN(StagedFolder staged, StagedFolder::Create(folder));
  int64_t total = 0;
  for (const Artifact& artifact : manifest.artifacts) total += artifact.digest.size_bytes;
  BlobClient blobs(connection_);
  int64_t done = 0;
  for (const Artifact& artifact : manifest.artifacts) {
    HELX_RETURN_IF_ERROR(CheckBundlePath(artifact.path));
    const std::filesystem::path file = std::filesystem::path(staged.path()) / artifact.path;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    if (error) {
      return Internal("cannot make " + file.parent_path().string() + ": " + error.message());
    }
    HELX_RETURN_IF_ERROR(
        WithContext(blobs.DownloadFile(artifact.digest, file, stop), artifact.path));
    done += artifact.digest.size_bytes;
    if (progress) progress(done, total);
  }
  HELX_RETURN_IF_ERROR(WriteFile(staged.path() + "/manifest.json", result.manifest()));
  const auto loaded = LoadBundle(staged.path());
  if (!loaded.ok()) {
    return DataLoss("the bundle was fetched but does not verify, and was not kept: " +
                    MessageOf(loaded.status()) + "; run the job again with --no-cache");
  }
  return staged.Commit();
}

}  // namespace helx::client

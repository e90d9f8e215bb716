// Stored result bundles: look up, read in place, fetch to a folder.
#ifndef HELX_CLIENT_CPP_RESULT_CLIENT_H_
#define HELX_CLIENT_CPP_RESULT_CLIENT_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "core/base/digest.h"
#include "core/base/status.h"
#include "core/bundle/reader.h"
#include "core/bundle/result.h"
#include "core/experiment/document.h"
#include "core/tensor/input_identity.h"
#include "core/tensor/tensor_data.h"
#include "helx/v1/results.pb.h"

namespace helx::client {

// Who made a reference: "files", "host_litert" or "other", and the caller's words on it.
struct ReferenceOrigin {
  std::string origin = "files";
  std::string description;
};

class ResultClient {
 public:
  explicit ResultClient(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  // By the digest of the manifest. The manifest's bytes are checked against it. NOT_FOUND,
  // DATA_LOSS.
  absl::StatusOr<helx::v1::Result> Get(const Digest& bundle, std::stop_token stop = {});
  // The newest result of "name" or "name/run".
  absl::StatusOr<helx::v1::Result> GetNewest(const std::string& experiment,
                                             std::stop_token stop = {});
  // One page, newest first.
  absl::StatusOr<helx::v1::ListResultsResponse> List(const helx::v1::ListResultsRequest& request,
                                                     std::stop_token stop = {});
  // The digest of the newest listed bundle whose hash begins with `prefix` (8 to 64 hexadecimal
  // characters). NOT_FOUND, or INVALID_ARGUMENT when the prefix fits several.
  absl::StatusOr<Digest> FindByHash(const std::string& prefix, std::stop_token stop = {});

  // The bundle's files as the server holds them, each read checked against the manifest.
  absl::StatusOr<std::shared_ptr<const BundleSource>> Open(const helx::v1::Result& result,
                                                           std::stop_token stop = {});

  // Writes the bundle to `folder`, which takes the place of an older bundle there in one step.
  // Every artifact's digest is verified as it arrives, and the whole bundle is loaded (LoadBundle)
  // before it is put in place: on any failure the destination stays as it was.
  absl::Status Fetch(const helx::v1::Result& result, const std::string& folder,
                     const ByteProgress& progress = {}, std::stop_token stop = {});

  // What the server finds when it reads the stored bundle again, whole: the same functions that
  // core/bundle offers offline, without fetching anything and without running anything. DATA_LOSS
  // with the reader's finding when the bundle does not verify.

  // The recorded verdicts, computed again.
  absl::StatusOr<helx::v1::VerifyResponse> Verify(const Digest& bundle, std::stop_token stop = {});
  // VerifySample: the reference's bytes are uploaded first.
  absl::StatusOr<Verification> VerifySample(const Digest& bundle, int64_t sample,
                                            const ReferenceOrigin& origin,
                                            const std::vector<TensorData>& reference,
                                            const ComparisonEntry& comparison,
                                            std::stop_token stop = {});
  // BundleInputIdentity.
  absl::StatusOr<InputIdentity> GetInputIdentity(const Digest& bundle, std::stop_token stop = {});
  // Observations as canonical JSON, RenderExport.
  absl::StatusOr<std::string> Observe(const Digest& bundle, std::stop_token stop = {});
  absl::StatusOr<std::string> Export(const Digest& bundle, std::stop_token stop = {});

 private:
  absl::StatusOr<helx::v1::Result> GetChecked(const helx::v1::GetResultRequest& request,
                                              std::stop_token stop);

  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_RESULT_CLIENT_H_

// Running the image of a bundle: run-build and replay.
#ifndef HELX_CLIENT_CPP_BUNDLE_FLOW_H_
#define HELX_CLIENT_CPP_BUNDLE_FLOW_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cpp/blob_client.h"
#include "client/cpp/experiment_flow.h"
#include "core/base/status.h"
#include "core/bundle/reader.h"
#include "helx/v1/jobs.pb.h"

namespace helx::client {

struct PreparedBundle {
  Digest manifest;
  LoadedBundle bundle;
  std::vector<BlobContent> blobs;  // every file, the manifest included; empty for a stored bundle
};

// Reads and verifies a bundle's folder, without a server. DATA_LOSS with the reader's finding.
absl::StatusOr<PreparedBundle> PrepareBundle(const std::string& folder);

// INVALID_ARGUMENT unless the bundle is of the kind that RUN_BUILD (a build) or REPLAY (a result)
// runs.
absl::Status CheckBundleKind(const LoadedBundle& bundle, helx::v1::JobKind kind);

// Uploads what the server lacks of the bundle and submits a job that runs its image as it is:
// nothing is compiled, no other file is read. REQUIRES: options.kind is JOB_KIND_RUN_BUILD or
// JOB_KIND_REPLAY.
absl::StatusOr<helx::v1::Job> SubmitBundle(const std::shared_ptr<Connection>& connection,
                                           const PreparedBundle& bundle, const std::string& name,
                                           const SubmitOptions& options,
                                           const ByteProgress& progress = {},
                                           std::stop_token stop = {});

// A frozen request as a file (request.json, docs/formats.md) with the blobs that building it needs
// but for the model, which the server holds since it froze it.
struct PreparedRequest {
  Digest request;
  std::vector<BlobContent> blobs;
};
absl::StatusOr<PreparedRequest> PrepareRequest(const std::string& path);

// The text of request.json for a frozen request (canonical helx.request/v1) and the contents that
// its document named.
absl::StatusOr<std::string> RequestFileOf(const std::string& frozen_request, const JobEntry& job);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_BUNDLE_FLOW_H_

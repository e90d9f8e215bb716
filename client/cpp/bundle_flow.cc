#include "client/cpp/bundle_flow.h"

#include "core/base/file.h"
#include "core/bundle/request_file.h"

namespace helx::client {
namespace {

constexpr size_t kRequestFileBytes = 40u << 20;

}  // namespace

absl::StatusOr<PreparedBundle> PrepareBundle(const std::string& folder) {
  auto loaded = LoadBundle(folder);
  if (!loaded.ok()) {
    return WithErrorCode(
        absl::Status(loaded.status().code(), folder + ": " + MessageOf(loaded.status())),
        ErrorCodeOf(loaded.status()));
  }
  PreparedBundle prepared;
  prepared.bundle = *std::move(loaded);
  prepared.manifest = DigestOf(std::string_view(prepared.bundle.manifest_text));
  for (const Artifact& artifact : prepared.bundle.manifest.artifacts) {
    HELX_ASSIGN_OR_RETURN(std::string content, prepared.bundle.ReadArtifact(artifact.path));
    prepared.blobs.push_back(BlobContent::OfBytes(std::move(content)));
  }
  prepared.blobs.push_back(BlobContent::OfBytes(prepared.bundle.manifest_text));
  return prepared;
}

absl::Status CheckBundleKind(const LoadedBundle& bundle, helx::v1::JobKind kind) {
  if (kind == helx::v1::JOB_KIND_RUN_BUILD && bundle.result.executed) {
    return WithErrorCode(
        InvalidArgument("the bundle is a result, which has run already; replay it instead"),
        "not_a_build");
  }
  if (kind == helx::v1::JOB_KIND_REPLAY && !bundle.result.executed) {
    return WithErrorCode(
        InvalidArgument("the bundle is a build, which has not run yet; run-build it instead"),
        "not_a_result");
  }
  return absl::OkStatus();
}

absl::StatusOr<helx::v1::Job> SubmitBundle(const std::shared_ptr<Connection>& connection,
                                           const PreparedBundle& bundle, const std::string& name,
                                           const SubmitOptions& options,
                                           const ByteProgress& progress, std::stop_token stop) {
  HELX_RETURN_IF_ERROR(CheckBundleKind(bundle.bundle, options.kind));
  helx::v1::SubmitJobRequest request;
  ApplyOptions(options, request);
  request.set_name(name);
  *request.mutable_bundle() = ToProto(bundle.manifest);
  return SubmitJob(connection, request, bundle.blobs, progress, stop);
}

absl::StatusOr<PreparedRequest> PrepareRequest(const std::string& path) {
  const auto text = ReadFile(path, kRequestFileBytes);
  if (!text.ok()) {
    return InvalidArgument(MessageOf(text.status()) +
                           "; give the path of a request.json that freeze wrote");
  }
  auto content = ParseRequestFile(*text);
  if (!content.ok()) {
    return WithErrorCode(InvalidArgument(path + ": " + MessageOf(content.status())),
                         ErrorCodeOf(content.status()));
  }
  HELX_ASSIGN_OR_RETURN(std::string canonical, content->request.Canonical());
  PreparedRequest prepared;
  for (auto& [hash, bytes] : content->tensors) {
    prepared.blobs.push_back(BlobContent::OfBytes(std::move(bytes)));
  }
  prepared.blobs.push_back(BlobContent::OfBytes(std::move(canonical)));
  prepared.request = prepared.blobs.back().digest();
  return prepared;
}

absl::StatusOr<std::string> RequestFileOf(const std::string& frozen_request, const JobEntry& job) {
  HELX_ASSIGN_OR_RETURN(const FrozenRequest request, FrozenRequest::Parse(frozen_request));
  std::vector<std::string> contents;
  const auto add = [&contents](const std::vector<TensorEntry>& tensors) {
    for (const TensorEntry& tensor : tensors) contents.push_back(tensor.bytes);
  };
  if (job.tensor_io) {
    add(job.tensor_io->inputs);
    for (const auto& set : job.tensor_io->input_sequence) add(set);
    for (const ReferenceEntry& reference : job.tensor_io->references) add(reference.tensors);
  }
  return RequestFile(request, contents);
}

}  // namespace helx::client

#include "client/cpp/result_client.h"

#include <filesystem>

#include "client/cpp/bundle_folder.h"
#include "client/cpp/rpc.h"
#include "core/base/file.h"
#include "core/bundle/verify.h"
#include "helx/v1/results.grpc.pb.h"

namespace helx::client {
namespace {

using helx::v1::Results;

template <typename Request>
Request RequestFor(const Digest& bundle) {
  Request request;
  *request.mutable_result()->mutable_bundle() = ToProto(bundle);
  return request;
}

// Reads a stream of pieces to its end; begins anew when the server restarts in between.
template <typename Request>
absl::StatusOr<std::string> ReadText(Connection& connection, Results::Stub& stub,
                                     std::unique_ptr<grpc::ClientReader<helx::v1::TextPiece>> (
                                         Results::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&),
                                     const Request& request, std::stop_token stop) {
  Backoff backoff(connection);
  for (;;) {
    grpc::ClientContext context;
    Prepare(context, connection, std::chrono::milliseconds(0));
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto reader = (stub.*method)(&context, request);
    std::string text;
    helx::v1::TextPiece piece;
    while (reader->Read(&piece)) text += piece.data();
    const grpc::Status status = reader->Finish();
    if (status.ok()) return text;
    if (stop.stop_requested()) return Interrupted();
    if (!IsTransient(status) || !backoff.Pause(stop)) {
      return stop.stop_requested() ? Interrupted() : FromGrpc(status, connection);
    }
    HELX_RETURN_IF_ERROR(connection.Revive());
  }
}

absl::Status SetTolerance(const ToleranceText& text, helx::v1::Tolerance* out) {
  HELX_ASSIGN_OR_RETURN(const Tolerance tolerance, ToleranceOf(text));
  out->set_absolute(tolerance.absolute);
  out->set_relative(tolerance.relative);
  return absl::OkStatus();
}

absl::Status SetPolicy(const ComparisonEntry& comparison, helx::v1::ComparisonPolicy* out) {
  HELX_RETURN_IF_ERROR(
      SetTolerance(comparison.default_tolerance, out->mutable_default_tolerance()));
  for (const auto& [output, tolerance] : comparison.per_tensor) {
    auto* item = out->add_per_tensor();
    item->set_output(output);
    HELX_RETURN_IF_ERROR(SetTolerance(tolerance, item->mutable_tolerance()));
  }
  out->set_nan(comparison.nan_match_both ? helx::v1::MATCH_BOTH : helx::v1::NEVER_MATCH);
  return absl::OkStatus();
}

Verification FromProto(const helx::v1::Verification& verification) {
  Verification out;
  out.reference_index = verification.reference_index();
  out.matched = verification.matched();
  for (const auto& tensor : verification.tensors()) {
    TensorVerdict verdict;
    verdict.output = tensor.output();
    verdict.elements = tensor.elements();
    verdict.mismatches = tensor.mismatches();
    verdict.nonfinite_pairs = tensor.nonfinite_pairs();
    if (!tensor.max_abs_error().empty()) verdict.max_abs_error = tensor.max_abs_error();
    if (tensor.has_first_difference()) {
      const auto& first = tensor.first_difference();
      verdict.first_difference = {
          {first.position().begin(), first.position().end()}, first.actual(), first.reference()};
    }
    out.tensors.push_back(std::move(verdict));
  }
  return out;
}

std::optional<std::string> TextIfAny(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

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
  return OpenBundleBlobs(result.manifest(), [blobs = std::make_shared<BlobClient>(connection_),
                                             stop](const Artifact& artifact) {
    return blobs->DownloadBytes(artifact.digest, stop);
  });
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

absl::StatusOr<helx::v1::VerifyResponse> ResultClient::Verify(const Digest& bundle,
                                                              std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  helx::v1::VerifyResponse response;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Results::Stub::Verify,
                            RequestFor<helx::v1::VerifyRequest>(bundle), response, stop));
  return response;
}

absl::StatusOr<Verification> ResultClient::VerifySample(const Digest& bundle, int64_t sample,
                                                        const ReferenceOrigin& origin,
                                                        const std::vector<TensorData>& reference,
                                                        const ComparisonEntry& comparison,
                                                        std::stop_token stop) {
  auto request = RequestFor<helx::v1::VerifyRequest>(bundle);
  request.set_sample(sample);
  HELX_RETURN_IF_ERROR(SetPolicy(comparison, request.mutable_policy()));
  auto* sent = request.mutable_reference();
  sent->set_origin(origin.origin);
  sent->set_description(origin.description);
  std::vector<BlobContent> blobs;
  for (const TensorData& tensor : reference) {
    if (!IsUtf8(tensor.spec.name)) {
      return WithErrorCode(InvalidArgument("the name of reference tensor " +
                                           std::to_string(tensor.spec.index) + " is not UTF-8"),
                           "not_utf8");
    }
    blobs.push_back(BlobContent::OfBytes(tensor.data));
    auto* item = sent->add_tensors();
    *item->mutable_digest() = ToProto(blobs.back().digest());
    item->mutable_spec()->set_index(tensor.spec.index);
    item->mutable_spec()->set_name(tensor.spec.name);
    item->mutable_spec()->set_dtype(std::string(DTypeName(tensor.spec.dtype)));
    item->mutable_spec()->mutable_shape()->Assign(tensor.spec.shape.begin(),
                                                  tensor.spec.shape.end());
  }
  HELX_RETURN_IF_ERROR(BlobClient(connection_).UploadMissing(blobs, {}, stop));
  const auto stub = Results::NewStub(connection_->transport().channel);
  helx::v1::VerifyResponse response;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Results::Stub::Verify, request, response, stop));
  if (response.samples_size() != 1) return DataLoss("the server answered without a verdict");
  return FromProto(response.samples(0).verification());
}

absl::StatusOr<InputIdentity> ResultClient::GetInputIdentity(const Digest& bundle,
                                                             std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  helx::v1::InputIdentity response;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Results::Stub::GetInputIdentity,
                            RequestFor<helx::v1::GetInputIdentityRequest>(bundle), response, stop));
  InputIdentity identity;
  identity.value = TextIfAny(response.value());
  identity.canonical_json = TextIfAny(response.canonical_json());
  identity.unavailable_reason = response.unavailable_reason();
  identity.sequence_value = TextIfAny(response.sequence_value());
  identity.sequence_canonical_json = TextIfAny(response.sequence_canonical_json());
  return identity;
}

absl::StatusOr<std::string> ResultClient::Observe(const Digest& bundle, std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  return ReadText(*connection_, *stub, &Results::Stub::Observe,
                  RequestFor<helx::v1::ObserveRequest>(bundle), stop);
}

absl::StatusOr<std::string> ResultClient::Export(const Digest& bundle, std::stop_token stop) {
  const auto stub = Results::NewStub(connection_->transport().channel);
  return ReadText(*connection_, *stub, &Results::Stub::Export,
                  RequestFor<helx::v1::ExportRequest>(bundle), stop);
}

}  // namespace helx::client

#include "server/api/stored_bundle.h"

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/verify.h"
#include "server/scheduler/names.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

constexpr int64_t kReferenceBytes = int64_t{16} << 20;
constexpr int kReferenceTensors = 10'000;

absl::StatusOr<ToleranceText> ToleranceFrom(const v1::Tolerance& tolerance,
                                            const std::string& where) {
  ToleranceText text;
  for (const auto& [name, value, shortest] :
       {std::tuple("absolute", tolerance.absolute(), &text.absolute),
        std::tuple("relative", tolerance.relative(), &text.relative)}) {
    auto number = ShortestNonNegative(value);
    if (!number.ok()) {
      return WithErrorCode(InvalidArgument(where + "." + name + ": " + MessageOf(number.status())),
                           ErrorCodeOf(number.status()));
    }
    *shortest = *std::move(number);
  }
  return text;
}

absl::StatusOr<ComparisonEntry> PolicyFrom(const v1::ComparisonPolicy& policy) {
  ComparisonEntry out;
  HELX_ASSIGN_OR_RETURN(out.default_tolerance,
                        ToleranceFrom(policy.default_tolerance(), "policy.default_tolerance"));
  for (int i = 0; i < policy.per_tensor_size(); ++i) {
    const v1::OutputTolerance& item = policy.per_tensor(i);
    HELX_ASSIGN_OR_RETURN(
        ToleranceText tolerance,
        ToleranceFrom(item.tolerance(), "policy.per_tensor[" + std::to_string(i) + "]"));
    for (const auto& [output, unused] : out.per_tensor) {
      if (output != item.output()) continue;
      return WithErrorCode(InvalidArgument("policy.per_tensor names output " +
                                           std::to_string(output) + " twice; name it once"),
                           "duplicate_output");
    }
    out.per_tensor.emplace_back(item.output(), std::move(tolerance));
  }
  if (!v1::NanPolicy_IsValid(policy.nan())) {
    return InvalidArgument("policy.nan is " + std::to_string(policy.nan()) +
                           "; allowed are NEVER_MATCH (1) and MATCH_BOTH (2)");
  }
  out.nan_match_both = policy.nan() == v1::MATCH_BOTH;
  return out;
}

absl::StatusOr<TensorSpec> SpecFrom(const v1::TensorSpec& spec, const std::string& where) {
  TensorSpec out;
  out.index = spec.index();
  out.name = spec.name();
  const auto dtype = DTypeFromName(spec.dtype());
  if (!dtype) {
    return WithErrorCode(InvalidArgument(where + ".dtype is " + Quoted(spec.dtype()) +
                                         "; allowed: " + std::string(kDTypeNames)),
                         "wrong_dtype");
  }
  out.dtype = *dtype;
  out.shape.assign(spec.shape().begin(), spec.shape().end());
  return out;
}

absl::StatusOr<std::vector<TensorData>> ReferenceFrom(const std::string& instance,
                                                      const v1::ReferenceOutputs& reference,
                                                      BlobStore* blobs) {
  const std::string& origin = reference.origin();
  if (origin != "files" && origin != "host_litert" && origin != "other") {
    return WithErrorCode(InvalidArgument("reference.origin is " + Quoted(origin) +
                                         "; allowed are files, host_litert and other"),
                         "not_allowed");
  }
  if (reference.tensors_size() > kReferenceTensors) {
    return InvalidArgument("reference.tensors: more than 10000 tensors");
  }
  std::vector<TensorData> out;
  std::vector<Digest> missing;
  int64_t total = 0;
  for (int i = 0; i < reference.tensors_size(); ++i) {
    const std::string where = "reference.tensors[" + std::to_string(i) + "]";
    const v1::ReferenceTensor& tensor = reference.tensors(i);
    HELX_ASSIGN_OR_RETURN(TensorSpec spec, SpecFrom(tensor.spec(), where + ".spec"));
    const Digest digest = FromProto(tensor.digest());
    HELX_RETURN_IF_ERROR(Annotate(CheckDigest(digest), where + ".digest"));
    total += digest.size_bytes;
    if (total > kReferenceBytes || total < 0) {
      return WithErrorCode(InvalidArgument("reference.tensors have more than 16777216 bytes"),
                           "tensor_bytes_exceeded");
    }
    auto bytes = blobs->Read(instance, digest, kReferenceBytes);
    if (absl::IsNotFound(bytes.status())) {
      missing.push_back(digest);
      continue;
    }
    if (absl::IsDataLoss(bytes.status())) blobs->Discard(instance, digest);
    HELX_RETURN_IF_ERROR(bytes.status());
    out.push_back({std::move(spec), *std::move(bytes)});
  }
  if (!missing.empty()) return MissingBlobs::Error(missing);
  return out;
}

v1::Verification ToProto(const Verification& verification) {
  v1::Verification out;
  out.set_reference_index(verification.reference_index);
  out.set_matched(verification.matched);
  for (const TensorVerdict& verdict : verification.tensors) {
    v1::TensorVerdict* tensor = out.add_tensors();
    tensor->set_output(verdict.output);
    tensor->set_elements(verdict.elements);
    tensor->set_mismatches(verdict.mismatches);
    tensor->set_nonfinite_pairs(verdict.nonfinite_pairs);
    tensor->set_max_abs_error(verdict.max_abs_error.value_or(""));
    if (!verdict.first_difference) continue;
    v1::ElementDifference* first = tensor->mutable_first_difference();
    first->mutable_position()->Assign(verdict.first_difference->position.begin(),
                                      verdict.first_difference->position.end());
    first->set_actual(verdict.first_difference->actual);
    first->set_reference(verdict.first_difference->reference);
  }
  return out;
}

v1::Assessment AssessmentOf(const std::string& name) {
  if (name == "match") return v1::MATCH;
  return name == "mismatch" ? v1::MISMATCH : v1::NOT_COMPARED;
}

}  // namespace

absl::StatusOr<LoadedBundle> LoadStoredBundle(const std::string& instance, const v1::Result& result,
                                              BlobStore* blobs) {
  HELX_ASSIGN_OR_RETURN(
      std::shared_ptr<const BundleSource> source,
      OpenBundleBlobs(
          result.manifest(),
          [instance, blobs](const Artifact& artifact) -> absl::StatusOr<std::string> {
            auto content = blobs->Read(instance, artifact.digest, artifact.digest.size_bytes);
            if (absl::IsDataLoss(content.status())) {
              blobs->Discard(instance, artifact.digest);
            }
            if (absl::IsNotFound(content.status())) {
              return DataLoss("artifact_missing: " + artifact.path + " is gone from the store");
            }
            return content;
          }));
  return LoadBundle(std::move(source));
}

absl::StatusOr<v1::VerifyResponse> VerifyLoaded(const std::string& instance,
                                                const LoadedBundle& bundle,
                                                const v1::VerifyRequest& request,
                                                BlobStore* blobs) {
  v1::VerifyResponse response;
  *response.mutable_bundle() = ToProto(DigestOf(std::string_view(bundle.manifest_text)));
  response.set_content_digest(bundle.content_digest);
  response.set_artifacts(static_cast<int64_t>(bundle.manifest.artifacts.size()));
  if (request.has_reference()) {
    HELX_ASSIGN_OR_RETURN(const std::vector<TensorData> reference,
                          ReferenceFrom(instance, request.reference(), blobs));
    HELX_ASSIGN_OR_RETURN(const ComparisonEntry policy, PolicyFrom(request.policy()));
    HELX_ASSIGN_OR_RETURN(const Verification verification,
                          VerifySample(bundle, request.sample(), reference, policy));
    v1::SampleVerification* sample = response.add_samples();
    sample->set_sample(request.sample());
    *sample->mutable_verification() = ToProto(verification);
    response.set_assessment(verification.matched ? v1::MATCH : v1::MISMATCH);
    return response;
  }
  for (const Sample& sample : bundle.result.samples) {
    v1::SampleVerification* out = response.add_samples();
    out->set_sample(sample.index);
    if (sample.verification) *out->mutable_verification() = ToProto(*sample.verification);
  }
  response.set_assessment(AssessmentOf(bundle.result.Assessment()));
  return response;
}

}  // namespace helx::server

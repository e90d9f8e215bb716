#include "core/bundle/evidence.h"

#include <algorithm>
#include <set>

#include "core/base/hex.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/image.h"
#include "core/bundle/layout.h"
#include "core/bundle/measurements.h"
#include "core/bundle/memory_plan.h"
#include "core/bundle/refusal.h"
#include "core/bundle/verify.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

std::string SampleText(size_t i) { return "sample " + std::to_string(i); }

absl::Status CheckSame(bool same, const char* code, const std::string& what) {
  return same ? absl::OkStatus()
              : RefuseEvidence(code, what + " of result.json differs from request.json");
}

// The tensor request as the result states it.
TensorRequest StatedRequest(const ResultDocument& result, const FrozenRequest& request) {
  TensorRequest stated;
  stated.explicit_inputs = result.input_intent == "explicit";
  for (const auto& set : result.inputs) {
    auto& bound = stated.input_sets.emplace_back();
    for (const RetainedTensor& tensor : set) bound.push_back({tensor.spec, tensor.digest});
  }
  // Without capture the result names no inputs; they are the request's implicit zeros.
  if (!result.acquisition.capture) stated.input_sets = request.tensors.input_sets;
  stated.outputs = result.outputs;
  stated.references = result.references;
  stated.comparison = result.comparison;
  return stated;
}

// The file of that path and its digest: named by the result, listed in the manifest.
absl::Status CheckFile(const RetainedFile& stated, const Artifact& listed) {
  if (stated.digest == listed.digest) return absl::OkStatus();
  return RefuseEvidence("file_mismatch", listed.path + " has the SHA-256 " + listed.digest.hash +
                                             "; result.json says " + stated.digest.hash);
}

// result.json names what lies beside the tensors, file by file.
absl::Status CheckFiles(const Evidence& evidence) {
  const std::vector<const Artifact*> listed = FilesOfResult(evidence.manifest);
  const std::vector<RetainedFile>& stated = evidence.result.files;
  for (size_t i = 0; i < stated.size(); ++i) {
    if (i > 0 && stated[i].path <= stated[i - 1].path) {
      return RefuseEvidence("result_invalid",
                            "result.files ascend by path, each at most once; "
                            "found " +
                                ShownText(stated[i].path));
    }
    const auto at = std::find_if(listed.begin(), listed.end(), [&](const Artifact* artifact) {
      return artifact->path == stated[i].path;
    });
    if (at == listed.end()) {
      return RefuseEvidence("file_missing", "result.json names " + ShownText(stated[i].path) +
                                                ", which is not a file of the bundle's evidence");
    }
    HELX_RETURN_IF_ERROR(CheckFile(stated[i], **at));
  }
  for (const Artifact* artifact : listed) {
    if (std::none_of(stated.begin(), stated.end(), [artifact](const RetainedFile& file) {
          return file.path == artifact->path;
        })) {
      return RefuseEvidence("file_unreferenced", artifact->path + " is not named by result.json");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const std::string*> FileOf(const Evidence& evidence, const char* path,
                                          const char* missing) {
  const auto file = evidence.files.find(path);
  if (file != evidence.files.end()) return &file->second;
  return RefuseEvidence(missing, std::string(path) + " is not in the bundle");
}

// The image answers the tensor request, and fits the platform's memory.
absl::Status CheckImage(const Image& image, const std::string& tensor_digest,
                        const Platform& platform) {
  HELX_ASSIGN_OR_RETURN(const std::vector<uint8_t> raw, HexDecode(tensor_digest));
  const std::string_view compiled(reinterpret_cast<const char*>(raw.data()), raw.size());
  bool found = false;
  for (const ImageSection& section : image.sections) {
    found = found || (section.name == ".helx_request" &&
                      section.content.find(compiled) != std::string_view::npos);
    if (std::none_of(platform.regions.begin(), platform.regions.end(),
                     [&section](const MemoryRegion& region) {
                       return section.address >= region.address &&
                              section.address + section.bytes <=
                                  uint64_t{region.address} + region.bytes;
                     })) {
      return RefuseEvidence("image_outside_platform",
                            "the image has " + ShownText(section.name) + " (" +
                                std::to_string(section.bytes) + " bytes) at " +
                                HexAddress(section.address) + ", outside the memory of " +
                                std::string(platform.name));
    }
  }
  if (found) return absl::OkStatus();
  return RefuseEvidence("compiled_digest_mismatch",
                        std::string(kImagePath) + " does not hold the tensor-request digest " +
                            tensor_digest + ": it was built for another request");
}

// Collects the tensor files a result names and checks each against its manifest entry and its
// dtype.
class TensorFiles {
 public:
  explicit TensorFiles(const Evidence& evidence) : evidence_(evidence) {}

  // `what` is for messages: "input 0".
  absl::Status Take(const std::string& path, const std::string& expected, const TensorSpec& spec,
                    const std::string& sha256, const char* code, const std::string& what) {
    if (path != expected) {
      return RefuseEvidence("tensor_path", what + " is said to lie in " + ShownText(path) +
                                               "; its place is " + expected);
    }
    const Artifact* artifact = evidence_.manifest.Find(path);
    if (artifact == nullptr) {
      return RefuseEvidence("tensor_missing",
                            what + " names " + path + ", which is not a file of the bundle");
    }
    if (artifact->digest.hash != sha256) {
      return RefuseEvidence(code, what + " (" + path + ") has the SHA-256 " +
                                      artifact->digest.hash + "; stated: " + sha256);
    }
    const absl::Status storage = CheckTensorBytes(spec, evidence_.files.at(path));
    if (!storage.ok()) {
      return RefuseEvidence("tensor_storage", what + " (" + path + "): " + MessageOf(storage));
    }
    named_.insert(path);
    return absl::OkStatus();
  }

  absl::Status CheckNoOthers() const {
    for (const Artifact& artifact : evidence_.manifest.artifacts) {
      if (artifact.path.starts_with("tensors/") && !named_.contains(artifact.path)) {
        return RefuseEvidence(
            "tensor_unreferenced",
            artifact.path + " is named by neither inputs, references nor samples");
      }
    }
    return absl::OkStatus();
  }

 private:
  const Evidence& evidence_;
  std::set<std::string> named_;
};

absl::Status CheckInputs(const Evidence& evidence, TensorFiles* files) {
  const auto& sets = evidence.request.tensors.input_sets;
  if (!evidence.request.tensors.explicit_inputs) {
    for (const BoundTensor& tensor : sets.front()) {
      if (sets.size() != 1 || ZeroDigest(tensor.digest.size_bytes) != tensor.digest) {
        return RefuseEvidence("intent_false",
                              "input " + std::to_string(tensor.spec.index) +
                                  " is recorded as implicit zeros, but is not zero");
      }
    }
  }
  const bool capture = evidence.result.acquisition.capture;
  if (evidence.result.inputs.size() != (capture ? sets.size() : 0)) {
    return RefuseEvidence("inputs_mismatch", std::to_string(evidence.result.inputs.size()) +
                                                 " input sets are retained; " +
                                                 std::to_string(capture ? sets.size() : 0) +
                                                 " were requested");
  }
  for (size_t s = 0; s < evidence.result.inputs.size(); ++s) {
    for (size_t i = 0; i < evidence.result.inputs[s].size(); ++i) {
      const RetainedTensor& tensor = evidence.result.inputs[s][i];
      HELX_RETURN_IF_ERROR(files->Take(tensor.path, InputPath(s, i), tensor.spec,
                                       tensor.digest.hash, "input_artifact_mismatch",
                                       "input " + std::to_string(tensor.spec.index)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(const Evidence& evidence, TensorFiles* files) {
  const ResultDocument& result = evidence.result;
  for (size_t i = 0; i < result.references.size(); ++i) {
    for (size_t k = 0; k < result.references[i].tensors.size(); ++k) {
      const BoundTensor& tensor = result.references[i].tensors[k];
      HELX_RETURN_IF_ERROR(
          files->Take(result.reference_paths[i][k], ReferencePath(i, k), tensor.spec,
                      tensor.digest.hash, "reference_artifact_mismatch",
                      "reference " + std::to_string(i) + ", output " + std::to_string(k)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSample(const Evidence& evidence, size_t i, TensorFiles* files) {
  const ResultDocument& result = evidence.result;
  const Sample& sample = result.samples[i];
  if (sample.index != static_cast<int64_t>(i)) {
    return RefuseEvidence("sample_index",
                          SampleText(i) + " has the index " + std::to_string(sample.index));
  }
  const size_t outputs = result.outputs.size();
  if (sample.signatures.size() != outputs) {
    return RefuseEvidence("signature_count",
                          SampleText(i) + " has " + std::to_string(sample.signatures.size()) +
                              " signatures for " + std::to_string(outputs) + " outputs");
  }
  for (const std::string& signature : sample.signatures) {
    if (!IsSha256Hex(signature)) {
      return RefuseEvidence("signature_malformed", SampleText(i) +
                                                       " has a signature that is not a "
                                                       "SHA-256");
    }
  }
  const size_t retained = result.acquisition.capture ? outputs : 0;
  if (sample.output_tensors.size() != retained) {
    return RefuseEvidence(
        "output_count", SampleText(i) + " retains " + std::to_string(sample.output_tensors.size()) +
                            " outputs; the acquisition asks for " + std::to_string(retained));
  }
  for (size_t k = 0; k < retained; ++k) {
    HELX_RETURN_IF_ERROR(files->Take(sample.output_tensors[k], OutputPath(i, k), result.outputs[k],
                                     sample.signatures[k], "signature_mismatch",
                                     SampleText(i) + ", output " + std::to_string(k)));
  }
  return absl::OkStatus();
}

// The first member in which two verdicts differ, by name.
std::string Disagreement(const Json& stated, const Json& computed) {
  for (const auto& [name, value] : computed.items()) {
    if (!stated.contains(name) || stated[name] != value) {
      if (name == "tensors" && stated.contains(name) && stated[name].size() == value.size()) {
        for (size_t k = 0; k < value.size(); ++k) {
          if (stated[name][k] != value[k]) {
            return "output " + std::to_string(k) + ", " + Disagreement(stated[name][k], value[k]);
          }
        }
      }
      return name + ": stated " + stated.value(name, Json()).dump() + ", computed " + value.dump();
    }
  }
  return "unknown members";
}

}  // namespace

absl::Status CheckAgreement(const Evidence& evidence) {
  const FrozenRequest& request = evidence.request;
  const ResultDocument& result = evidence.result;
  HELX_ASSIGN_OR_RETURN(const std::string identity, request.Identity());
  HELX_RETURN_IF_ERROR(
      CheckSame(result.request_identity == identity, "identity_mismatch", "request_identity"));
  HELX_RETURN_IF_ERROR(CheckSame(result.model == request.model, "model_mismatch", "model"));
  HELX_RETURN_IF_ERROR(
      CheckSame(result.platform == request.platform, "platform_mismatch", "platform"));
  HELX_RETURN_IF_ERROR(CheckSame(result.engine == request.engine, "engine_mismatch", "engine"));
  HELX_RETURN_IF_ERROR(
      CheckSame(result.toolchain == request.toolchain, "toolchain_mismatch", "toolchain"));
  HELX_RETURN_IF_ERROR(CheckSame(result.target == request.target, "target_mismatch", "target"));
  HELX_RETURN_IF_ERROR(
      CheckSame(result.acquisition == request.acquisition, "acquisition_mismatch", "acquisition"));
  HELX_RETURN_IF_ERROR(
      CheckSame(!result.executed || request.execute, "execution_mismatch", "executed"));
  const TensorRequest stated = StatedRequest(result, request);
  const TensorRequest& bound = request.tensors;
  HELX_RETURN_IF_ERROR(CheckSame(stated.explicit_inputs == bound.explicit_inputs, "intent_mismatch",
                                 "tensors.input_intent"));
  HELX_RETURN_IF_ERROR(
      CheckSame(stated.input_sets == bound.input_sets, "inputs_mismatch", "tensors.inputs"));
  HELX_RETURN_IF_ERROR(
      CheckSame(stated.outputs == bound.outputs, "outputs_mismatch", "tensors.outputs"));
  HELX_RETURN_IF_ERROR(CheckSame(stated.references == bound.references, "references_mismatch",
                                 "tensors.references"));
  HELX_RETURN_IF_ERROR(
      CheckSame(stated.comparison == bound.comparison, "policy_mismatch", "tensors.policy"));
  HELX_ASSIGN_OR_RETURN(const std::string tensor_digest, stated.DigestHex());
  if (result.tensor_request_digest != tensor_digest) {
    return RefuseEvidence("runner_digest_mismatch",
                          "the runner reported the tensor-request digest " +
                              result.tensor_request_digest + "; the request's is " + tensor_digest);
  }
  return absl::OkStatus();
}

absl::Status CheckBuild(const Evidence& evidence) {
  const Platform* platform = FindPlatform(evidence.result.platform);
  if (platform == nullptr) {
    return RefuseEvidence("platform_unknown", "this program knows no platform " +
                                                  ShownText(evidence.result.platform) +
                                                  "; use a newer helxctl");
  }
  HELX_ASSIGN_OR_RETURN(const std::string* elf, FileOf(evidence, kImagePath, "image_missing"));
  HELX_ASSIGN_OR_RETURN(const std::string* plan,
                        FileOf(evidence, kMemoryPlanPath, "memory_plan_missing"));
  const std::string& image_hash = evidence.manifest.Find(kImagePath)->digest.hash;
  if (image_hash != evidence.result.image_sha256) {
    return RefuseEvidence("image_mismatch", std::string(kImagePath) + " has the SHA-256 " +
                                                image_hash + "; result.json says " +
                                                evidence.result.image_sha256);
  }
  HELX_RETURN_IF_ERROR(CheckFiles(evidence));
  const auto image = ReadImage(*elf);
  if (!image.ok()) return RefuseEvidence("image_invalid", image.status());
  HELX_RETURN_IF_ERROR(CheckImage(*image, evidence.result.tensor_request_digest, *platform));
  HELX_RETURN_IF_ERROR(
      CheckMeasurements(evidence.result, evidence.request, *platform, image->sizes));
  return CheckMemoryPlan(*plan, *image, *platform, evidence.request);
}

absl::Status CheckTensors(const Evidence& evidence) {
  TensorFiles files(evidence);
  HELX_RETURN_IF_ERROR(CheckInputs(evidence, &files));
  HELX_RETURN_IF_ERROR(CheckReferences(evidence, &files));
  const ResultDocument& result = evidence.result;
  const int64_t samples = result.executed ? result.acquisition.samples : 0;
  if (static_cast<int64_t>(result.samples.size()) != samples) {
    return RefuseEvidence("sample_count",
                          "the result has " + std::to_string(result.samples.size()) +
                              " samples; the acquisition asks for " + std::to_string(samples));
  }
  for (size_t i = 0; i < result.samples.size(); ++i) {
    HELX_RETURN_IF_ERROR(CheckSample(evidence, i, &files));
  }
  return files.CheckNoOthers();
}

absl::Status CheckVerdicts(const Evidence& evidence) {
  const ResultDocument& result = evidence.result;
  for (size_t i = 0; i < result.samples.size(); ++i) {
    const Sample& sample = result.samples[i];
    if (result.references.empty()) {
      if (!sample.verification) continue;
      return RefuseEvidence("verdict_without_reference",
                            SampleText(i) + " has a verdict, but there is no reference");
    }
    if (!sample.verification) {
      return RefuseEvidence("verdict_missing", SampleText(i) + " has a reference, but no verdict");
    }
    if (sample.output_tensors.empty() && !result.outputs.empty()) {
      return RefuseEvidence("verdict_without_outputs",
                            SampleText(i) + " has a verdict, but its outputs were not captured");
    }
    std::vector<std::string_view> actual, reference;
    std::vector<TensorSpec> specs;
    for (const std::string& path : sample.output_tensors) actual.push_back(evidence.files.at(path));
    for (const std::string& path : result.reference_paths[i]) {
      reference.push_back(evidence.files.at(path));
    }
    for (const BoundTensor& tensor : result.references[i].tensors) specs.push_back(tensor.spec);
    const auto computed = VerifyOutputs(result.outputs, actual, static_cast<int64_t>(i), specs,
                                        reference, result.comparison);
    if (!computed.ok()) {
      return RefuseEvidence("reference_unusable",
                            SampleText(i) + ": " + MessageOf(computed.status()));
    }
    const Json stated = VerificationToJson(*sample.verification);
    const Json again = VerificationToJson(*computed);
    if (stated != again) {
      return RefuseEvidence("verdict_mismatch",
                            SampleText(i) + ": the recorded verdict is not what its bytes give: " +
                                Disagreement(stated, again));
    }
  }
  return absl::OkStatus();
}

}  // namespace helx

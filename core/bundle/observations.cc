#include "core/bundle/observations.h"

#include <string>
#include <utility>

#include "core/base/sha256.h"

namespace helx {
namespace {

constexpr char kQuantizationReason[] =
    "scale and zero point are not recorded with the tensors; values are compared as stored";

Json TextOrNull(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json Quantization() {
  return Json{{"reason", kQuantizationReason},
              {"scale", nullptr},
              {"status", "unavailable"},
              {"zero_point", nullptr}};
}

// A tensor's metadata with the artifact that holds its bytes; the artifact's id is its path in the
// manifest.
Json ArtifactTensor(const TensorSpec& spec, const Json& artifact_id, const std::string& sha256,
                    int64_t size_bytes) {
  Json value = SpecToJson(spec);
  value["artifact_id"] = artifact_id;
  value["quantization"] = Quantization();
  value["sha256"] = sha256;
  value["size_bytes"] = size_bytes;
  return value;
}

Json InputSet(const std::vector<RetainedTensor>& set) {
  Json list = Json::array();
  for (const RetainedTensor& input : set) {
    list.push_back(
        ArtifactTensor(input.spec, input.path, input.digest.hash, input.digest.size_bytes));
  }
  return list;
}

Json InputSequence(const ResultDocument& result) {
  if (result.inputs.size() < 2) return Json();
  Json list = Json::array();
  for (const auto& set : result.inputs) list.push_back(InputSet(set));
  return list;
}

Json OutputSpecs(const ResultDocument& result) {
  Json list = Json::array();
  for (const TensorSpec& spec : result.outputs) {
    Json value = SpecToJson(spec);
    value["quantization"] = Quantization();
    list.push_back(std::move(value));
  }
  return list;
}

Json References(const ResultDocument& result) {
  Json list = Json::array();
  for (size_t i = 0; i < result.references.size(); ++i) {
    const BoundReference& reference = result.references[i];
    Json tensors = Json::array();
    for (size_t k = 0; k < reference.tensors.size(); ++k) {
      const BoundTensor& tensor = reference.tensors[k];
      tensors.push_back(ArtifactTensor(tensor.spec, result.reference_paths[i][k],
                                       tensor.digest.hash, tensor.digest.size_bytes));
    }
    list.push_back(Json{{"description", reference.description},
                        {"origin", reference.origin},
                        {"reference_index", i},
                        {"tensors", std::move(tensors)}});
  }
  return list;
}

// Signatures name outputs whether or not their bytes were kept.
absl::StatusOr<Json> SampleOutputs(const ResultDocument& result, const Sample& sample) {
  Json list = Json::array();
  for (size_t k = 0; k < result.outputs.size(); ++k) {
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(result.outputs[k]));
    const Json id = k < sample.output_tensors.size() ? Json(sample.output_tensors[k]) : Json();
    list.push_back(ArtifactTensor(result.outputs[k], id, sample.signatures[k], size));
  }
  return list;
}

absl::StatusOr<Json> SampleBinding(const ResultDocument& result, const Sample& sample) {
  HELX_ASSIGN_OR_RETURN(Json outputs, SampleOutputs(result, sample));
  Json value{{"comparison", nullptr},
             {"outputs", std::move(outputs)},
             {"reference_index", nullptr},
             {"sample_index", sample.index},
             {"status", "not_compared"}};
  if (sample.verification) {
    value["comparison"] = VerificationToJson(*sample.verification);
    value["reference_index"] = sample.verification->reference_index;
    value["status"] = sample.verification->matched ? "match" : "mismatch";
  }
  return value;
}

absl::StatusOr<Json> TensorBinding(const ResultDocument& result) {
  Json samples = Json::array();
  for (const Sample& sample : result.samples) {
    HELX_ASSIGN_OR_RETURN(Json item, SampleBinding(result, sample));
    samples.push_back(std::move(item));
  }
  return Json{
      {"assessment", result.Assessment()},
      {"captured", result.acquisition.capture},
      {"comparison_policy", ComparisonToJson(result.comparison)},
      {"comparison_units", "stored_values"},
      {"input_intent", result.input_intent},
      {"input_sequence", InputSequence(result)},
      {"inputs", result.inputs.size() == 1 ? InputSet(result.inputs[0]) : Json()},
      {"outputs", OutputSpecs(result)},
      {"quantization_metadata", Json{{"reason", kQuantizationReason}, {"status", "unavailable"}}},
      {"references", References(result)},
      {"request_digest", result.tensor_request_digest},
      {"samples", std::move(samples)},
      {"schema", "helx.tensor-binding/v1"},
      {"storage", "little-endian"}};
}

Json Observation(const char* metric, const char* unit, const Metric& figure, const Json& sample) {
  return Json{{"accuracy", figure.accuracy},
              {"basis", figure.basis},
              {"metric", metric},
              {"sample_index", sample},
              {"unavailable_reason", TextOrNull(figure.reason)},
              {"unit", unit},
              {"value", figure.value ? Json(*figure.value) : Json()}};
}

Json Figures(const ResultDocument& result) {
  Json list = Json::array();
  for (const Sample& sample : result.samples) {
    list.push_back(Observation("instructions", "instruction", sample.instructions, sample.index));
  }
  const MemoryFigures& memory = result.memory;
  for (const auto& [name, figure] :
       {std::pair{"rom_bytes", &memory.rom_bytes}, std::pair{"text_bytes", &memory.text_bytes},
        std::pair{"rodata_bytes", &memory.rodata_bytes},
        std::pair{"weight_bytes", &memory.weight_bytes}, std::pair{"ram_bytes", &memory.ram_bytes},
        std::pair{"arena_bytes", &memory.arena_bytes},
        std::pair{"variable_bytes", &memory.variable_bytes},
        std::pair{"stack_high_water_bytes", &memory.stack_high_water_bytes}}) {
    list.push_back(Observation(name, "byte", *figure, nullptr));
  }
  return list;
}

// The manifest's list, each file named by its path.
Json Artifacts(const Json& manifest) {
  Json list = Json::array();
  for (const Json& artifact : manifest["artifacts"]) {
    Json value = artifact;
    value["id"] = artifact["path"];
    list.push_back(std::move(value));
  }
  return list;
}

Json Workload(const ResultDocument& result, const InputIdentity& identity) {
  return Json{{"input_identity", TextOrNull(identity.value)},
              {"input_identity_unavailable_reason", TextOrNull(identity.unavailable_reason)},
              {"input_sequence_identity", TextOrNull(identity.sequence_value)},
              {"model",
               Json{{"sha256", result.model.hash}, {"size_bytes", result.model.size_bytes}}},
              {"samples", result.acquisition.samples},
              {"state_policy", result.acquisition.state},
              {"warmups", result.acquisition.warmup}};
}

Json System(const ResultDocument& result) {
  return Json{{"core", result.core},
              {"engine", ToolToJson(result.engine)},
              {"image_sha256", result.image_sha256},
              {"platform", result.platform},
              {"target", ToolToJson(result.target)},
              {"toolchain", ToolToJson(result.toolchain)}};
}

// What the run came to, apart from its numbers: a mismatch changes nothing here.
Json Outcome(const ResultDocument& result, const Json& manifest) {
  return Json{{"execution", result.executed ? "succeeded" : "not_executed"},
              {"issues", manifest["issues"]},
              {"status", manifest["status"]},
              {"validity", manifest["validity"]}};
}

}  // namespace

absl::StatusOr<Json> Observations(const LoadedBundle& bundle) {
  const ResultDocument& result = bundle.result;
  HELX_ASSIGN_OR_RETURN(const InputIdentity identity, BundleInputIdentity(bundle));
  HELX_ASSIGN_OR_RETURN(Json binding, TensorBinding(result));
  HELX_ASSIGN_OR_RETURN(const Json manifest, ParseJson(bundle.manifest_text));
  return Json{{"artifacts", Artifacts(manifest)},
              {"extensions", Json{{kExportExtension, Json{{"tensor_binding", std::move(binding)}}}}},
              {"mapping", std::string(kExportMapping)},
              {"observations", Figures(result)},
              {"outcome", Outcome(result, manifest)},
              {"producer", Json{{"name", "helx"}, {"result_schema", std::string(result.kSchema)}}},
              {"schema_version", std::string(kExportSchemaVersion)},
              {"subject", Json{{"content_digest", bundle.content_digest},
                               {"manifest_sha256", Sha256Hex(bundle.manifest_text)},
                               {"request_identity", result.request_identity}}},
              {"system", System(result)},
              {"workload", Workload(result, identity)}};
}

}  // namespace helx

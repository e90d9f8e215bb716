#include "core/bundle/result.h"

#include "core/base/yaml_scalar.h"

namespace helx {
namespace {

template <typename T, typename ToJson>
Json ListToJson(const std::vector<T>& values, ToJson to_json) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

// Reads every item of a list with `from_json(item, path)`.
template <typename T, typename FromJson>
absl::Status ListFromJson(const Json& object, const char* name, const std::string& where,
                          FromJson from_json, std::vector<T>* out) {
  HELX_ASSIGN_OR_RETURN(const Json* list, JsonList(object, name, where));
  for (size_t i = 0; i < list->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(T item, from_json((*list)[i], ItemPath(where + "." + name, i)));
    out->push_back(std::move(item));
  }
  return absl::OkStatus();
}

Json OptionalToJson(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

absl::StatusOr<std::string> StringFromJson(const Json& value, const std::string& where) {
  if (!value.is_string()) return InvalidArgument(where + " is not a string");
  return value.get<std::string>();
}

Json MetricToJson(const Metric& metric) {
  return Json{{"accuracy", metric.accuracy},
              {"basis", metric.basis},
              {"reason", metric.reason},
              {"value", OptionalToJson(metric.value)}};
}

absl::StatusOr<Metric> MetricFromJson(const Json& object, const char* name,
                                      const std::string& where) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, name, where));
  const std::string path = where + "." + name;
  Metric metric;
  HELX_ASSIGN_OR_RETURN(metric.accuracy, JsonString(*value, "accuracy", path));
  HELX_ASSIGN_OR_RETURN(metric.basis, JsonString(*value, "basis", path));
  HELX_ASSIGN_OR_RETURN(metric.reason, JsonString(*value, "reason", path));
  HELX_ASSIGN_OR_RETURN(const Json* number, JsonMember(*value, "value", path));
  if (!number->is_null()) {
    HELX_ASSIGN_OR_RETURN(metric.value, JsonInt(*value, "value", path));
    if (*metric.value < 0) {
      return InvalidArgument(path + ".value is " + std::to_string(*metric.value) +
                             "; a counter is 0 or more");
    }
  }
  if (metric.value.has_value() != metric.reason.empty()) {
    return InvalidArgument(path + " must have either a value or the reason why there is none");
  }
  return metric;
}

Json TensorToJson(const TensorSpec& spec, const std::string& path, const Digest& digest) {
  Json value = SpecToJson(spec);
  value["path"] = path;
  value["sha256"] = digest.hash;
  value["size"] = digest.size_bytes;
  return value;
}

Json RetainedToJson(const RetainedTensor& tensor) {
  return TensorToJson(tensor.spec, tensor.path, tensor.digest);
}

absl::StatusOr<RetainedTensor> RetainedFromJson(const Json& value, const std::string& where) {
  RetainedTensor tensor;
  HELX_ASSIGN_OR_RETURN(tensor.spec, SpecFromJson(value, where));
  HELX_ASSIGN_OR_RETURN(tensor.path, JsonString(value, "path", where));
  HELX_ASSIGN_OR_RETURN(tensor.digest.hash, JsonString(value, "sha256", where));
  HELX_ASSIGN_OR_RETURN(tensor.digest.size_bytes, JsonInt(value, "size", where));
  HELX_RETURN_IF_ERROR(Annotate(CheckDigest(tensor.digest), where));
  return tensor;
}

Json VerdictToJson(const TensorVerdict& verdict) {
  Json first;
  if (verdict.first_difference) {
    first = Json{{"actual", verdict.first_difference->actual},
                 {"position", verdict.first_difference->position},
                 {"reference", verdict.first_difference->reference}};
  }
  return Json{{"elements", verdict.elements},
              {"first_difference", std::move(first)},
              {"max_abs_error", verdict.max_abs_error ? Json(*verdict.max_abs_error) : Json()},
              {"mismatches", verdict.mismatches},
              {"nonfinite_pairs", verdict.nonfinite_pairs},
              {"output", verdict.output}};
}

absl::StatusOr<TensorVerdict> VerdictFromJson(const Json& value, const std::string& where) {
  TensorVerdict verdict;
  HELX_ASSIGN_OR_RETURN(const int64_t output, JsonInt(value, "output", where));
  if (output < 0 || output > INT32_MAX) return InvalidArgument(where + ".output is no ordinal");
  verdict.output = static_cast<int32_t>(output);
  HELX_ASSIGN_OR_RETURN(verdict.elements, JsonInt(value, "elements", where));
  HELX_ASSIGN_OR_RETURN(verdict.mismatches, JsonInt(value, "mismatches", where));
  HELX_ASSIGN_OR_RETURN(verdict.nonfinite_pairs, JsonInt(value, "nonfinite_pairs", where));
  HELX_ASSIGN_OR_RETURN(const Json* error, JsonMember(value, "max_abs_error", where));
  if (!error->is_null()) {
    HELX_ASSIGN_OR_RETURN(verdict.max_abs_error, StringFromJson(*error, where + ".max_abs_error"));
  }
  HELX_ASSIGN_OR_RETURN(const Json* first, JsonMember(value, "first_difference", where));
  if (first->is_null()) return verdict;
  const std::string path = where + ".first_difference";
  TensorVerdict::Difference& difference = verdict.first_difference.emplace();
  HELX_ASSIGN_OR_RETURN(difference.actual, JsonString(*first, "actual", path));
  HELX_ASSIGN_OR_RETURN(difference.reference, JsonString(*first, "reference", path));
  HELX_RETURN_IF_ERROR(ListFromJson(
      *first, "position", path,
      [](const Json& item, const std::string& at) -> absl::StatusOr<int64_t> {
        if (!item.is_number_integer() || item < 0 || item > INT64_MAX) {
          return InvalidArgument(at + " is not a coordinate");
        }
        return item.get<int64_t>();
      },
      &difference.position));
  return verdict;
}

absl::StatusOr<std::optional<Verification>> VerificationFromJson(const Json& object,
                                                                 const std::string& where) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, "verification", where));
  if (value->is_null()) return std::optional<Verification>();
  const std::string path = where + ".verification";
  Verification verification;
  HELX_ASSIGN_OR_RETURN(verification.matched, JsonBool(*value, "matched", path));
  HELX_ASSIGN_OR_RETURN(verification.reference_index, JsonInt(*value, "reference_index", path));
  HELX_RETURN_IF_ERROR(
      ListFromJson(*value, "tensors", path, VerdictFromJson, &verification.tensors));
  return std::optional<Verification>(std::move(verification));
}

Json SampleToJson(const Sample& sample) {
  return Json{
      {"index", sample.index},
      {"instructions", MetricToJson(sample.instructions)},
      {"output_tensors", sample.output_tensors},
      {"signatures", sample.signatures},
      {"verification", sample.verification ? VerificationToJson(*sample.verification) : Json()}};
}

absl::StatusOr<Sample> SampleFromJson(const Json& value, const std::string& where) {
  Sample sample;
  HELX_ASSIGN_OR_RETURN(sample.index, JsonInt(value, "index", where));
  HELX_ASSIGN_OR_RETURN(sample.instructions, MetricFromJson(value, "instructions", where));
  HELX_RETURN_IF_ERROR(
      ListFromJson(value, "signatures", where, StringFromJson, &sample.signatures));
  HELX_RETURN_IF_ERROR(
      ListFromJson(value, "output_tensors", where, StringFromJson, &sample.output_tensors));
  HELX_ASSIGN_OR_RETURN(sample.verification, VerificationFromJson(value, where));
  return sample;
}

constexpr MemoryMember kMemoryMembers[] = {
    {"arena_bytes", &MemoryFigures::arena_bytes},
    {"ram_bytes", &MemoryFigures::ram_bytes},
    {"rodata_bytes", &MemoryFigures::rodata_bytes},
    {"rom_bytes", &MemoryFigures::rom_bytes},
    {"stack_high_water_bytes", &MemoryFigures::stack_high_water_bytes},
    {"text_bytes", &MemoryFigures::text_bytes},
    {"variable_bytes", &MemoryFigures::variable_bytes},
    {"weight_bytes", &MemoryFigures::weight_bytes},
};

Json MemoryToJson(const MemoryFigures& memory) {
  Json value = Json::object();
  for (const MemoryMember& row : kMemoryMembers) {
    value[row.name] = MetricToJson(memory.*row.member);
  }
  return value;
}

absl::StatusOr<MemoryFigures> MemoryFromJson(const Json& object, const std::string& where) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, "memory", where));
  MemoryFigures memory;
  for (const MemoryMember& row : kMemoryMembers) {
    HELX_ASSIGN_OR_RETURN(memory.*row.member, MetricFromJson(*value, row.name, where + ".memory"));
  }
  return memory;
}

Json FileToJson(const RetainedFile& file) {
  Json value = DigestToJson(file.digest);
  value["path"] = file.path;
  return value;
}

absl::StatusOr<RetainedFile> FileFromJson(const Json& value, const std::string& where) {
  RetainedFile file;
  HELX_ASSIGN_OR_RETURN(file.path, JsonString(value, "path", where));
  HELX_ASSIGN_OR_RETURN(file.digest, DigestFromJson(value, where));
  return file;
}

Json ReferenceToJson(const BoundReference& reference, const std::vector<std::string>& paths) {
  Json tensors = Json::array();
  for (size_t i = 0; i < reference.tensors.size(); ++i) {
    const BoundTensor& tensor = reference.tensors[i];
    tensors.push_back(
        TensorToJson(tensor.spec, i < paths.size() ? paths[i] : std::string(), tensor.digest));
  }
  return Json{{"description", reference.description},
              {"origin", reference.origin},
              {"tensors", std::move(tensors)}};
}

Json ReferencesToJson(const ResultDocument& result) {
  Json list = Json::array();
  for (size_t i = 0; i < result.references.size(); ++i) {
    const std::vector<std::string> none;
    list.push_back(ReferenceToJson(result.references[i], i < result.reference_paths.size()
                                                             ? result.reference_paths[i]
                                                             : none));
  }
  return list;
}

absl::Status ReferencesFromJson(const Json& tensors, ResultDocument* result) {
  HELX_ASSIGN_OR_RETURN(const Json* list, JsonList(tensors, "references", "tensors"));
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = ItemPath("tensors.references", i);
    BoundReference reference;
    HELX_ASSIGN_OR_RETURN(reference.origin, JsonString((*list)[i], "origin", path));
    HELX_ASSIGN_OR_RETURN(reference.description, JsonString((*list)[i], "description", path));
    std::vector<RetainedTensor> retained;
    HELX_RETURN_IF_ERROR(ListFromJson((*list)[i], "tensors", path, RetainedFromJson, &retained));
    std::vector<std::string>& paths = result->reference_paths.emplace_back();
    for (RetainedTensor& tensor : retained) {
      paths.push_back(std::move(tensor.path));
      reference.tensors.push_back({std::move(tensor.spec), std::move(tensor.digest)});
    }
    result->references.push_back(std::move(reference));
  }
  return absl::OkStatus();
}

// `inputs` is null when none were captured or when each sample has its own (`input_sequence`).
Json TensorsToJson(const ResultDocument& result) {
  const auto set_to_json = [](const std::vector<RetainedTensor>& set) {
    return ListToJson(set, RetainedToJson);
  };
  const bool one = result.inputs.size() == 1;
  return Json{{"input_intent", result.input_intent},
              {"input_sequence",
               result.inputs.size() > 1 ? ListToJson(result.inputs, set_to_json) : Json()},
              {"inputs", one ? set_to_json(result.inputs[0]) : Json()},
              {"outputs", ListToJson(result.outputs, SpecToJson)},
              {"policy", ComparisonToJson(result.comparison)},
              {"references", ReferencesToJson(result)},
              {"request_digest", result.tensor_request_digest}};
}

absl::Status TensorsFromJson(const Json& value, ResultDocument* result) {
  const std::string where = "tensors";
  HELX_ASSIGN_OR_RETURN(result->input_intent, JsonString(value, "input_intent", where));
  if (result->input_intent != "explicit" && result->input_intent != "implicit_zeros") {
    return InvalidArgument("tensors.input_intent is " + ShownText(result->input_intent) +
                           "; allowed: explicit, implicit_zeros");
  }
  HELX_ASSIGN_OR_RETURN(const Json* inputs, JsonMember(value, "inputs", where));
  HELX_ASSIGN_OR_RETURN(const Json* sequence, JsonMember(value, "input_sequence", where));
  if (!inputs->is_null()) {
    HELX_RETURN_IF_ERROR(
        ListFromJson(value, "inputs", where, RetainedFromJson, &result->inputs.emplace_back()));
  } else if (!sequence->is_null()) {
    HELX_RETURN_IF_ERROR(JsonList(value, "input_sequence", where).status());
    for (size_t i = 0; i < sequence->size(); ++i) {
      const std::string path = ItemPath("tensors.input_sequence", i);
      std::vector<RetainedTensor>& set = result->inputs.emplace_back();
      if (!(*sequence)[i].is_array()) return InvalidArgument(path + " is not a list");
      for (size_t k = 0; k < (*sequence)[i].size(); ++k) {
        HELX_ASSIGN_OR_RETURN(set.emplace_back(),
                              RetainedFromJson((*sequence)[i][k], ItemPath(path, k)));
      }
    }
  }
  HELX_RETURN_IF_ERROR(ListFromJson(value, "outputs", where, SpecFromJson, &result->outputs));
  HELX_RETURN_IF_ERROR(ReferencesFromJson(value, result));
  HELX_ASSIGN_OR_RETURN(const Json* policy, JsonMember(value, "policy", where));
  HELX_ASSIGN_OR_RETURN(result->comparison, ComparisonFromJson(*policy, "tensors.policy"));
  HELX_ASSIGN_OR_RETURN(result->tensor_request_digest, JsonString(value, "request_digest", where));
  if (!IsSha256Hex(result->tensor_request_digest)) {
    return InvalidArgument("tensors.request_digest is not a SHA-256");
  }
  return absl::OkStatus();
}

absl::Status HeadFromJson(const Json& value, ResultDocument* result) {
  const std::string where = "result";
  HELX_ASSIGN_OR_RETURN(result->request_identity, JsonString(value, "request_identity", where));
  HELX_ASSIGN_OR_RETURN(result->platform, JsonString(value, "platform", where));
  HELX_ASSIGN_OR_RETURN(result->core, JsonString(value, "core", where));
  HELX_ASSIGN_OR_RETURN(result->engine, ToolFromJson(value, "engine", where));
  HELX_ASSIGN_OR_RETURN(result->toolchain, ToolFromJson(value, "toolchain", where));
  HELX_ASSIGN_OR_RETURN(result->target, ToolFromJson(value, "target", where));
  HELX_ASSIGN_OR_RETURN(result->acquisition, AcquisitionFromJson(value, where));
  HELX_ASSIGN_OR_RETURN(result->executed, JsonBool(value, "executed", where));
  HELX_ASSIGN_OR_RETURN(result->image_sha256, JsonString(value, "image_sha256", where));
  if (!IsSha256Hex(result->image_sha256)) {
    return InvalidArgument("result.image_sha256 is not a SHA-256");
  }
  HELX_ASSIGN_OR_RETURN(const Json* model, JsonMember(value, "model", where));
  HELX_ASSIGN_OR_RETURN(result->model.hash, JsonString(*model, "sha256", "result.model"));
  HELX_ASSIGN_OR_RETURN(result->model.size_bytes, JsonInt(*model, "size", "result.model"));
  return Annotate(CheckDigest(result->model), "result.model");
}

}  // namespace

std::span<const MemoryMember> MemoryMembers() { return kMemoryMembers; }

Json VerificationToJson(const Verification& verification) {
  return Json{{"matched", verification.matched},
              {"reference_index", verification.reference_index},
              {"tensors", ListToJson(verification.tensors, VerdictToJson)}};
}

Json ResultDocument::ToJson() const {
  return Json{{"acquisition", AcquisitionToJson(acquisition)},
              {"core", core},
              {"engine", ToolToJson(engine)},
              {"executed", executed},
              {"files", ListToJson(files, FileToJson)},
              {"image_sha256", image_sha256},
              {"measurements", Json{{"memory", MemoryToJson(memory)},
                                    {"samples", ListToJson(samples, SampleToJson)}}},
              {"model", DigestToJson(model)},
              {"platform", platform},
              {"request_identity", request_identity},
              {"schema", std::string(kSchema)},
              {"target", ToolToJson(target)},
              {"tensors", TensorsToJson(*this)},
              {"toolchain", ToolToJson(toolchain)}};
}

absl::StatusOr<std::string> ResultDocument::Canonical() const { return CanonicalJson(ToJson()); }

absl::StatusOr<ResultDocument> ResultDocument::Parse(std::string_view text) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseJson(text));
  HELX_ASSIGN_OR_RETURN(const std::string schema, JsonString(value, "schema", "result"));
  if (schema != kSchema) {
    return WithErrorCode(InvalidArgument("the schema is " + ShownText(schema) +
                                         "; expected: " + std::string(kSchema)),
                         "result_schema");
  }
  ResultDocument result;
  HELX_RETURN_IF_ERROR(HeadFromJson(value, &result));
  HELX_RETURN_IF_ERROR(ListFromJson(value, "files", "result", FileFromJson, &result.files));
  HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonMember(value, "tensors", "result"));
  HELX_RETURN_IF_ERROR(TensorsFromJson(*tensors, &result));
  HELX_ASSIGN_OR_RETURN(const Json* measurements, JsonMember(value, "measurements", "result"));
  HELX_RETURN_IF_ERROR(
      ListFromJson(*measurements, "samples", "measurements", SampleFromJson, &result.samples));
  HELX_ASSIGN_OR_RETURN(result.memory, MemoryFromJson(*measurements, "measurements"));
  HELX_ASSIGN_OR_RETURN(const std::string again, result.Canonical());
  if (again != text) {
    return WithErrorCode(InvalidArgument("holds unknown members or is not the canonical text of "
                                         "its value"),
                         "result_not_canonical");
  }
  return result;
}

std::string ResultDocument::Assessment() const {
  bool compared = false;
  for (const Sample& sample : samples) {
    if (!sample.verification) continue;
    compared = true;
    if (!sample.verification->matched) return "mismatch";
  }
  return compared ? "match" : "not_compared";
}

}  // namespace helx

// The job document (helx.document/v1).
#include <set>

#include "core/base/yaml_scalar.h"
#include "core/experiment/document.h"
#include "core/experiment/tensor_io_check.h"

namespace helx {
namespace {

constexpr std::string_view kSchema = "helx.document/v1";

absl::Status Refuse(std::string_view path, std::string_view code, std::string_view message) {
  return WithErrorCode(InvalidArgument(std::string(path) + ": " + std::string(message) + " [" +
                                       std::string(code) + "]"),
                       code);
}

Json TensorsToJson(const std::vector<TensorEntry>& tensors) {
  Json list = Json::array();
  for (const TensorEntry& tensor : tensors) {
    Json item = SpecToJson(tensor.spec);
    const Digest digest = tensor.digest.hash.empty() ? DigestOf(tensor.bytes) : tensor.digest;
    item.update(DigestToJson(digest));
    list.push_back(std::move(item));
  }
  return list;
}

absl::StatusOr<std::vector<TensorEntry>> TensorsFromJson(const Json& list,
                                                         const std::string& where) {
  if (!list.is_array()) return InvalidArgument(where + " is not a list");
  std::vector<TensorEntry> tensors;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path = ItemPath(where, i);
    TensorEntry tensor;
    HELX_ASSIGN_OR_RETURN(tensor.spec, SpecFromJson(list[i], path));
    HELX_ASSIGN_OR_RETURN(tensor.digest, DigestFromJson(list[i], path));
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(tensor.spec));
    if (tensor.digest.size_bytes != size) {
      return Refuse(path + ".size", "wrong_length",
                    "found " + std::to_string(tensor.digest.size_bytes) + " bytes; " +
                        SpecText(tensor.spec) + " needs " + std::to_string(size));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Json PolicyToJson(const TensorIoEntry& policy) {
  Json sequence = Json::array();
  for (const auto& set : policy.input_sequence) sequence.push_back(TensorsToJson(set));
  Json references = Json::array();
  for (const ReferenceEntry& reference : policy.references) {
    references.push_back(Json{{"description", reference.description},
                              {"origin", reference.origin},
                              {"tensors", TensorsToJson(reference.tensors)}});
  }
  return Json{{"comparison", ComparisonToJson(policy.comparison)},
              {"input_sequence", std::move(sequence)},
              {"inputs", TensorsToJson(policy.inputs)},
              {"references", std::move(references)}};
}

absl::StatusOr<TensorIoEntry> PolicyFromJson(const Json& value) {
  const std::string where = "tensor_io";
  TensorIoEntry policy;
  HELX_ASSIGN_OR_RETURN(const Json* inputs, JsonMember(value, "inputs", where));
  HELX_ASSIGN_OR_RETURN(policy.inputs, TensorsFromJson(*inputs, where + ".inputs"));
  HELX_ASSIGN_OR_RETURN(const Json* sequence, JsonList(value, "input_sequence", where));
  for (size_t i = 0; i < sequence->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(policy.input_sequence.emplace_back(),
                          TensorsFromJson((*sequence)[i], ItemPath(where + ".input_sequence", i)));
  }
  HELX_ASSIGN_OR_RETURN(const Json* references, JsonList(value, "references", where));
  for (size_t i = 0; i < references->size(); ++i) {
    const std::string path = ItemPath(where + ".references", i);
    const Json& item = (*references)[i];
    ReferenceEntry reference;
    HELX_ASSIGN_OR_RETURN(reference.origin, JsonString(item, "origin", path));
    if (reference.origin != "files" && reference.origin != "host_litert" &&
        reference.origin != "other") {
      return Refuse(
          path + ".origin", "not_allowed",
          "found " + ShownText(reference.origin) + "; allowed: files, host_litert, other");
    }
    HELX_ASSIGN_OR_RETURN(reference.description, JsonString(item, "description", path));
    HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonMember(item, "tensors", path));
    HELX_ASSIGN_OR_RETURN(reference.tensors, TensorsFromJson(*tensors, path + ".tensors"));
    policy.references.push_back(std::move(reference));
  }
  HELX_ASSIGN_OR_RETURN(const Json* comparison, JsonMember(value, "comparison", where));
  HELX_ASSIGN_OR_RETURN(policy.comparison, ComparisonFromJson(*comparison, where + ".comparison"));
  if (const auto problem = CheckTensorLists(policy)) {
    return Refuse(where + "." + problem->path, problem->code, problem->message);
  }
  return policy;
}

absl::StatusOr<int64_t> BoundedInt(const Json& object, const char* name, const std::string& where,
                                   int64_t least, int64_t most) {
  HELX_ASSIGN_OR_RETURN(const int64_t value, JsonInt(object, name, where));
  if (value < least || value > most) {
    return Refuse(where + "." + name, "out_of_range",
                  "found " + std::to_string(value) + "; allowed: " + std::to_string(least) +
                      " to " + std::to_string(most));
  }
  return value;
}

absl::StatusOr<std::string> ToolName(const Json& document, const char* name) {
  HELX_ASSIGN_OR_RETURN(std::string value, JsonString(document, name, "document"));
  if (value.empty() || value.size() > 64) {
    return Refuse(name, "wrong_name", "found " + ShownText(value) + "; allowed: 1 to 64 bytes");
  }
  return value;
}

absl::StatusOr<ToleranceText> ToleranceFromJson(const Json& value, const std::string& where) {
  ToleranceText tolerance;
  for (auto [name, text] :
       {std::pair{"absolute", &tolerance.absolute}, std::pair{"relative", &tolerance.relative}}) {
    HELX_ASSIGN_OR_RETURN(*text, JsonString(value, name, where));
    const auto shortest = ShortestNonNegative(*text);
    if (!shortest.ok()) {
      return Refuse(where + "." + name, ErrorCodeOf(shortest.status()),
                    MessageOf(shortest.status()));
    }
    if (*shortest != *text) {
      return Refuse(where + "." + name, "not_canonical",
                    "found " + ShownText(*text) + "; the canonical text is \"" + *shortest + "\"");
    }
  }
  return tolerance;
}

}  // namespace

Json ComparisonToJson(const ComparisonEntry& comparison) {
  Json per_tensor = Json::array();
  for (const auto& [output, tolerance] : comparison.per_tensor) {
    per_tensor.push_back(Json{
        {"absolute", tolerance.absolute}, {"output", output}, {"relative", tolerance.relative}});
  }
  const ToleranceText& all = comparison.default_tolerance;
  return Json{{"default", Json{{"absolute", all.absolute}, {"relative", all.relative}}},
              {"nan", comparison.nan_match_both ? "match_both" : "never_match"},
              {"per_tensor", std::move(per_tensor)}};
}

absl::StatusOr<ComparisonEntry> ComparisonFromJson(const Json& value, std::string_view where_view) {
  const std::string where(where_view);
  ComparisonEntry comparison;
  HELX_ASSIGN_OR_RETURN(const Json* all, JsonMember(value, "default", where));
  HELX_ASSIGN_OR_RETURN(comparison.default_tolerance, ToleranceFromJson(*all, where + ".default"));
  HELX_ASSIGN_OR_RETURN(const std::string nan, JsonString(value, "nan", where));
  if (nan != "never_match" && nan != "match_both") {
    return Refuse(where + ".nan", "not_allowed",
                  "found " + ShownText(nan) + "; allowed: never_match, match_both");
  }
  comparison.nan_match_both = nan == "match_both";
  HELX_ASSIGN_OR_RETURN(const Json* list, JsonList(value, "per_tensor", where));
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = ItemPath(where + ".per_tensor", i);
    HELX_ASSIGN_OR_RETURN(const int64_t output,
                          BoundedInt((*list)[i], "output", path, 0, INT32_MAX));
    HELX_ASSIGN_OR_RETURN(ToleranceText tolerance, ToleranceFromJson((*list)[i], path));
    if (!comparison.per_tensor.empty() && output <= comparison.per_tensor.back().first) {
      return Refuse(path + ".output", "wrong_order", "outputs must ascend, each at most once");
    }
    comparison.per_tensor.emplace_back(static_cast<int32_t>(output), std::move(tolerance));
  }
  return comparison;
}

Json JobDocument(const JobEntry& job, const Digest& model) {
  Json document{
      {"acquisition", Json{{"samples", job.samples}, {"state", job.state}, {"warmup", job.warmup}}},
      {"engine", job.engine},
      {"execute", job.execute},
      {"model", DigestToJson(model)},
      {"platform", job.platform},
      {"schema", std::string(kSchema)},
      {"tensor_io", job.tensor_io ? PolicyToJson(*job.tensor_io) : Json()}};
  if (job.probe) document["probe"] = true;
  if (!job.placement.empty()) document["placement"] = PlacementToJson(job.placement);
  return document;
}

absl::StatusOr<ParsedJobDocument> ParseJobDocument(std::string_view canonical,
                                                   const DocumentLimits& limits) {
  HELX_ASSIGN_OR_RETURN(
      const Json value,
      ParseJson(canonical, {.depth = limits.depth, .bytes = limits.plain_document_bytes}));
  const std::string where = "document";
  HELX_ASSIGN_OR_RETURN(const std::string schema, JsonString(value, "schema", where));
  if (schema != kSchema) {
    return Refuse("schema", "wrong_schema",
                  "found " + ShownText(schema) + "; allowed: " + std::string(kSchema));
  }
  ParsedJobDocument parsed;
  JobEntry& job = parsed.job;
  HELX_ASSIGN_OR_RETURN(const Json* model, JsonMember(value, "model", where));
  HELX_ASSIGN_OR_RETURN(parsed.model, DigestFromJson(*model, "model"));
  if (parsed.model.size_bytes > limits.model_bytes) {
    return Refuse("model.size", "model_too_large",
                  "found " + std::to_string(parsed.model.size_bytes) +
                      " bytes; allowed: " + std::to_string(limits.model_bytes));
  }
  HELX_ASSIGN_OR_RETURN(job.engine, ToolName(value, "engine"));
  HELX_ASSIGN_OR_RETURN(job.platform, ToolName(value, "platform"));
  HELX_ASSIGN_OR_RETURN(job.execute, JsonBool(value, "execute", where));
  if (value.contains("probe")) {
    HELX_ASSIGN_OR_RETURN(job.probe, JsonBool(value, "probe", where));
  }
  HELX_ASSIGN_OR_RETURN(job.placement, PlacementFromJson(value, where));
  HELX_ASSIGN_OR_RETURN(const Json* acquisition, JsonMember(value, "acquisition", where));
  HELX_ASSIGN_OR_RETURN(job.samples,
                        BoundedInt(*acquisition, "samples", "acquisition", 1, limits.samples));
  HELX_ASSIGN_OR_RETURN(job.warmup,
                        BoundedInt(*acquisition, "warmup", "acquisition", 0, limits.warmups));
  HELX_ASSIGN_OR_RETURN(job.state, JsonString(*acquisition, "state", "acquisition"));
  if (job.state != "reset" && job.state != "carry") {
    return Refuse("acquisition.state", "not_allowed",
                  "found " + ShownText(job.state) + "; allowed: reset, carry");
  }
  HELX_ASSIGN_OR_RETURN(const Json* policy, JsonMember(value, "tensor_io", where));
  if (!policy->is_null()) {
    HELX_ASSIGN_OR_RETURN(job.tensor_io, PolicyFromJson(*policy));
  }
  if (const auto problem = CheckAcquisition(job, limits)) {
    return Refuse(problem->path.empty() ? "tensor_io" : "tensor_io." + problem->path, problem->code,
                  problem->message);
  }
  // What was read must be all there is: this refuses unknown members and every other spelling.
  HELX_ASSIGN_OR_RETURN(const std::string again, CanonicalJson(JobDocument(job, parsed.model)));
  if (again != canonical) {
    return Refuse(where, "not_canonical",
                  "holds unknown members or is not the canonical text of its value");
  }
  return parsed;
}

absl::StatusOr<std::vector<Digest>> DocumentBlobs(std::string_view canonical) {
  HELX_ASSIGN_OR_RETURN(const ParsedJobDocument parsed, ParseJobDocument(canonical));
  std::vector<Digest> blobs;
  std::set<Digest> seen;
  const auto add = [&](const Digest& digest) {
    if (seen.insert(digest).second) blobs.push_back(digest);
  };
  const auto add_all = [&](const std::vector<TensorEntry>& tensors) {
    for (const TensorEntry& tensor : tensors) add(tensor.digest);
  };
  add(parsed.model);
  if (parsed.job.tensor_io) {
    const TensorIoEntry& policy = *parsed.job.tensor_io;
    add_all(policy.inputs);
    for (const auto& set : policy.input_sequence) add_all(set);
    for (const ReferenceEntry& reference : policy.references) add_all(reference.tensors);
  }
  return blobs;
}

}  // namespace helx

#include "core/experiment/frozen_request.h"

#include <algorithm>

#include "core/base/sha256.h"

namespace helx {
namespace {

constexpr std::string_view kTensorSchema = "helx.tensor-request/v1";
constexpr std::string_view kRequestSchema = "helx.request/v1";

Json BoundTensorsToJson(const std::vector<BoundTensor>& tensors) {
  Json list = Json::array();
  for (const BoundTensor& tensor : tensors) {
    Json item = SpecToJson(tensor.spec);
    item.update(DigestToJson(tensor.digest));
    list.push_back(std::move(item));
  }
  return list;
}

absl::Status CheckPosition(const TensorSpec& spec, size_t i, std::string_view where) {
  if (spec.index == static_cast<int64_t>(i)) return absl::OkStatus();
  return InvalidArgument(std::string(where) + ".index is " + std::to_string(spec.index) +
                         "; tensors stand in model-index order from 0");
}

absl::StatusOr<std::vector<BoundTensor>> BoundTensorsFromJson(const Json& list,
                                                              const std::string& where) {
  if (!list.is_array()) return InvalidArgument(where + " is not a list");
  std::vector<BoundTensor> tensors;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path = ItemPath(where, i);
    BoundTensor tensor;
    HELX_ASSIGN_OR_RETURN(tensor.spec, SpecFromJson(list[i], path));
    HELX_RETURN_IF_ERROR(CheckPosition(tensor.spec, i, path));
    HELX_ASSIGN_OR_RETURN(tensor.digest, DigestFromJson(list[i], path));
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(tensor.spec));
    if (tensor.digest.size_bytes != size) {
      return InvalidArgument(path + ".size is " + std::to_string(tensor.digest.size_bytes) + "; " +
                             SpecText(tensor.spec) + " needs " + std::to_string(size));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::StatusOr<std::string> CheckedSchema(const Json& value, std::string_view schema) {
  HELX_ASSIGN_OR_RETURN(std::string found, JsonString(value, "schema", schema));
  if (found != schema) {
    return InvalidArgument("the schema is \"" + found + "\"; allowed: " + std::string(schema));
  }
  return found;
}

}  // namespace

Json ToolToJson(const ToolIdentity& tool) {
  return Json{{"detail", tool.detail}, {"name", tool.name}, {"version", tool.version}};
}

absl::StatusOr<ToolIdentity> ToolFromJson(const Json& object, const char* name,
                                          std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, name, where));
  const std::string path = std::string(where) + "." + name;
  ToolIdentity tool;
  HELX_ASSIGN_OR_RETURN(tool.name, JsonString(*value, "name", path));
  HELX_ASSIGN_OR_RETURN(tool.version, JsonString(*value, "version", path));
  HELX_ASSIGN_OR_RETURN(tool.detail, JsonString(*value, "detail", path));
  return tool;
}

Json AcquisitionToJson(const Acquisition& acquisition) {
  return Json{{"capture", acquisition.capture},
              {"samples", acquisition.samples},
              {"state", acquisition.state},
              {"warmup", acquisition.warmup}};
}

absl::StatusOr<Acquisition> AcquisitionFromJson(const Json& object, std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, "acquisition", where));
  const std::string path = std::string(where) + ".acquisition";
  Acquisition acquisition;
  HELX_ASSIGN_OR_RETURN(acquisition.warmup, JsonInt(*value, "warmup", path));
  HELX_ASSIGN_OR_RETURN(acquisition.samples, JsonInt(*value, "samples", path));
  HELX_ASSIGN_OR_RETURN(acquisition.state, JsonString(*value, "state", path));
  HELX_ASSIGN_OR_RETURN(acquisition.capture, JsonBool(*value, "capture", path));
  if (acquisition.warmup < 0 || acquisition.samples < 1 ||
      (acquisition.state != "reset" && acquisition.state != "carry")) {
    return InvalidArgument(path +
                           " is not an acquisition: warmup >= 0, samples >= 1, state reset "
                           "or carry");
  }
  return acquisition;
}

Json TensorRequest::ToJson() const {
  Json sets = Json::array();
  for (const auto& set : input_sets) sets.push_back(BoundTensorsToJson(set));
  Json output_list = Json::array();
  for (const TensorSpec& spec : outputs) output_list.push_back(SpecToJson(spec));
  Json reference_list = Json::array();
  for (const BoundReference& reference : references) {
    reference_list.push_back(Json{{"description", reference.description},
                                  {"origin", reference.origin},
                                  {"tensors", BoundTensorsToJson(reference.tensors)}});
  }
  return Json{{"comparison", ComparisonToJson(comparison)},
              {"input_intent", explicit_inputs ? "explicit" : "implicit_zeros"},
              {"input_sets", std::move(sets)},
              {"outputs", std::move(output_list)},
              {"references", std::move(reference_list)},
              {"schema", std::string(kTensorSchema)}};
}

absl::StatusOr<TensorRequest> TensorRequest::FromJson(const Json& value) {
  constexpr std::string_view where = "tensors";
  HELX_RETURN_IF_ERROR(CheckedSchema(value, kTensorSchema).status());
  TensorRequest request;
  HELX_ASSIGN_OR_RETURN(const std::string intent, JsonString(value, "input_intent", where));
  if (intent != "explicit" && intent != "implicit_zeros") {
    return InvalidArgument("tensors.input_intent is neither explicit nor implicit_zeros");
  }
  request.explicit_inputs = intent == "explicit";
  HELX_ASSIGN_OR_RETURN(const Json* sets, JsonList(value, "input_sets", where));
  if (sets->empty()) return InvalidArgument("tensors.input_sets is empty");
  for (size_t i = 0; i < sets->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(request.input_sets.emplace_back(),
                          BoundTensorsFromJson((*sets)[i], ItemPath("tensors.input_sets", i)));
  }
  HELX_ASSIGN_OR_RETURN(const Json* outputs, JsonList(value, "outputs", where));
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string path = ItemPath("tensors.outputs", i);
    HELX_ASSIGN_OR_RETURN(TensorSpec spec, SpecFromJson((*outputs)[i], path));
    HELX_RETURN_IF_ERROR(CheckPosition(spec, i, path));
    request.outputs.push_back(std::move(spec));
  }
  HELX_ASSIGN_OR_RETURN(const Json* references, JsonList(value, "references", where));
  for (size_t i = 0; i < references->size(); ++i) {
    const std::string path = ItemPath("tensors.references", i);
    const Json& item = (*references)[i];
    BoundReference reference;
    HELX_ASSIGN_OR_RETURN(reference.origin, JsonString(item, "origin", path));
    HELX_ASSIGN_OR_RETURN(reference.description, JsonString(item, "description", path));
    HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonMember(item, "tensors", path));
    HELX_ASSIGN_OR_RETURN(reference.tensors, BoundTensorsFromJson(*tensors, path + ".tensors"));
    request.references.push_back(std::move(reference));
  }
  HELX_ASSIGN_OR_RETURN(const Json* comparison, JsonMember(value, "comparison", where));
  HELX_ASSIGN_OR_RETURN(request.comparison, ComparisonFromJson(*comparison, "tensors.comparison"));
  if (request.ToJson() != value) return InvalidArgument("tensors holds unknown members");
  return request;
}

absl::StatusOr<std::string> TensorRequest::DigestHex() const {
  HELX_ASSIGN_OR_RETURN(const std::string canonical, CanonicalJson(ToJson()));
  return Sha256Hex(canonical);
}

Json FrozenRequest::ToJson() const {
  Json request{{"acquisition", AcquisitionToJson(acquisition)},
               {"engine", ToolToJson(engine)},
               {"execute", execute},
               {"model", DigestToJson(model)},
               {"platform", platform},
               {"schema", std::string(kRequestSchema)},
               {"target", ToolToJson(target)},
               {"tensors", tensors.ToJson()},
               {"toolchain", ToolToJson(toolchain)}};
  if (probe) request["probe"] = true;
  if (!placement.empty()) request["placement"] = PlacementToJson(placement);
  return request;
}

absl::StatusOr<std::string> FrozenRequest::Canonical() const { return CanonicalJson(ToJson()); }

absl::StatusOr<std::string> FrozenRequest::Identity() const {
  HELX_ASSIGN_OR_RETURN(const std::string canonical, Canonical());
  return std::string(kRequestSchema) + ":sha256:" + Sha256Hex(canonical);
}

absl::StatusOr<FrozenRequest> FrozenRequest::FromJson(const Json& value) {
  constexpr std::string_view where = "request";
  HELX_RETURN_IF_ERROR(CheckedSchema(value, kRequestSchema).status());
  FrozenRequest request;
  HELX_ASSIGN_OR_RETURN(const Json* model, JsonMember(value, "model", where));
  HELX_ASSIGN_OR_RETURN(request.model, DigestFromJson(*model, "request.model"));
  HELX_ASSIGN_OR_RETURN(request.engine, ToolFromJson(value, "engine", where));
  HELX_ASSIGN_OR_RETURN(request.toolchain, ToolFromJson(value, "toolchain", where));
  HELX_ASSIGN_OR_RETURN(request.target, ToolFromJson(value, "target", where));
  HELX_ASSIGN_OR_RETURN(request.platform, JsonString(value, "platform", where));
  HELX_ASSIGN_OR_RETURN(request.execute, JsonBool(value, "execute", where));
  if (value.contains("probe")) {
    HELX_ASSIGN_OR_RETURN(request.probe, JsonBool(value, "probe", where));
  }
  HELX_ASSIGN_OR_RETURN(request.placement, PlacementFromJson(value, where));
  HELX_ASSIGN_OR_RETURN(request.acquisition, AcquisitionFromJson(value, where));
  HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonMember(value, "tensors", where));
  HELX_ASSIGN_OR_RETURN(request.tensors, TensorRequest::FromJson(*tensors));
  const auto per_sample = [&](size_t count) {
    return static_cast<int64_t>(count) == request.acquisition.samples;
  };
  const size_t sets = request.tensors.input_sets.size();
  if (sets != 1 && !per_sample(sets)) {
    return InvalidArgument("request.tensors.input_sets holds neither one set nor one per sample");
  }
  const size_t references = request.tensors.references.size();
  if (references != 0 && !per_sample(references)) {
    return InvalidArgument("request.tensors.references holds neither none nor one per sample");
  }
  if ((request.tensors.explicit_inputs || references != 0) && !request.acquisition.capture) {
    return InvalidArgument("request has explicit inputs or references without capture");
  }
  if (request.ToJson() != value) return InvalidArgument("request holds unknown members");
  return request;
}

absl::StatusOr<FrozenRequest> FrozenRequest::Parse(std::string_view canonical) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseJson(canonical));
  HELX_ASSIGN_OR_RETURN(FrozenRequest request, FromJson(value));
  HELX_ASSIGN_OR_RETURN(const std::string again, request.Canonical());
  if (again != canonical) return InvalidArgument("the request is not canonical JSON");
  return request;
}

absl::StatusOr<std::string> FrozenRequest::BuildKey() const {
  HELX_ASSIGN_OR_RETURN(const std::string tensor_request, tensors.DigestHex());
  Json key{{"engine", ToolToJson(engine)},
           {"model", DigestToJson(model)},
           {"platform", platform},
           {"schema", "helx.build-key/v1"},
           {"tensor_request", tensor_request},
           {"toolchain", ToolToJson(toolchain)}};
  if (probe) key["probe"] = true;
  if (!placement.empty()) key["placement"] = PlacementToJson(placement);
  HELX_ASSIGN_OR_RETURN(const std::string canonical, CanonicalJson(key));
  return Sha256Hex(canonical);
}

absl::StatusOr<std::string> FrozenRequest::BuildBundleKey() const {
  HELX_ASSIGN_OR_RETURN(const std::string build_key, BuildKey());
  HELX_ASSIGN_OR_RETURN(const std::string canonical,
                        CanonicalJson(Json{{"acquisition", AcquisitionToJson(acquisition)},
                                           {"build_key", build_key},
                                           {"schema", "helx.build-bundle-key/v1"}}));
  return Sha256Hex(canonical);
}

absl::StatusOr<std::string> FrozenRequest::RunKey() const {
  HELX_ASSIGN_OR_RETURN(const std::string build_key, BuildKey());
  HELX_ASSIGN_OR_RETURN(const std::string canonical,
                        CanonicalJson(Json{{"acquisition", AcquisitionToJson(acquisition)},
                                           {"build_key", build_key},
                                           {"schema", "helx.run-key/v1"},
                                           {"target", ToolToJson(target)}}));
  return Sha256Hex(canonical);
}

Digest ZeroDigest(int64_t count) {
  const std::string zeros(static_cast<size_t>(std::min<int64_t>(count, 1 << 16)), '\0');
  Sha256 hash;
  for (int64_t left = count; left > 0; left -= static_cast<int64_t>(zeros.size())) {
    hash.Update(std::string_view(zeros).substr(
        0, static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(zeros.size())))));
  }
  return Digest{hash.FinishHex(), count};
}

}  // namespace helx

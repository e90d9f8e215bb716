// Models, tensors and input identities of the C ABI.
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/yaml_scalar.h"
#include "core/capi/boundary.h"
#include "core/model/reader.h"

namespace helx::capi {
namespace {

absl::StatusOr<Json> InterfaceToJson(const model::Subgraph& graph,
                                     const std::vector<int32_t>& numbers, const char* role) {
  Json list = Json::array();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const model::Tensor& tensor = graph.tensors[static_cast<size_t>(numbers[i])];
    const std::string subject =
        std::string(role) + " " + std::to_string(i) + " is " + model::TensorText(tensor);
    const std::optional<DType> dtype = model::StorageType(tensor.type);
    if (!dtype) {
      return WithErrorCode(
          InvalidArgument(subject + "; storage types are " + std::string(kDTypeNames)),
          "unsupported_dtype");
    }
    if (model::ElementCount(tensor) < 1) {
      return WithErrorCode(InvalidArgument(subject + "; every dimension must be at least 1"),
                           "unsupported_shape");
    }
    TensorSpec spec{static_cast<int32_t>(i), tensor.name, *dtype, {}};
    spec.shape.assign(tensor.shape.begin(), tensor.shape.end());
    list.push_back(SpecToJson(spec));
  }
  return list;
}

absl::StatusOr<std::string> ModelTensors(helx_bytes bytes) {
  HELX_ASSIGN_OR_RETURN(const model::Model model, model::ReadModel(AsBytes(View(bytes))));
  const model::Subgraph& graph = model.primary();
  HELX_ASSIGN_OR_RETURN(Json inputs, InterfaceToJson(graph, graph.inputs, "input"));
  HELX_ASSIGN_OR_RETURN(Json outputs, InterfaceToJson(graph, graph.outputs, "output"));
  return Compact(Json{{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}});
}

absl::StatusOr<std::string> CheckTensor(helx_bytes spec_text, helx_bytes data) {
  HELX_ASSIGN_OR_RETURN(const TensorSpec spec, ParseSpec(spec_text));
  HELX_RETURN_IF_ERROR(CheckTensorBytes(spec, View(data)));
  HELX_ASSIGN_OR_RETURN(const int64_t elements, ElementCount(spec));
  return Compact(
      Json{{"elements", elements}, {"sha256", Sha256Hex(View(data))}, {"size_bytes", data.size}});
}

absl::StatusOr<std::string> Compare(helx_bytes spec_text, helx_bytes actual, helx_bytes reference,
                                    helx_bytes policy_text) {
  HELX_ASSIGN_OR_RETURN(TensorSpec spec, ParseSpec(spec_text));
  HELX_ASSIGN_OR_RETURN(ComparisonEntry policy, ParsePolicy(policy_text));
  for (const auto& [output, tolerance] : policy.per_tensor) {
    if (output == spec.index) policy.default_tolerance = tolerance;
  }
  policy.per_tensor.clear();
  const int32_t output = spec.index;
  spec.index = 0;
  HELX_ASSIGN_OR_RETURN(
      const Verification verification,
      VerifyOutputs({spec}, {View(actual)}, 0, {spec}, {View(reference)}, policy));
  Json verdict = VerificationToJson(verification)["tensors"][0];
  verdict["matched"] = verification.matched;
  verdict["output"] = output;
  return Compact(verdict);
}

absl::StatusOr<std::string> ToleranceNumber(helx_bytes text) {
  HELX_ASSIGN_OR_RETURN(const std::string shortest, ShortestNonNegative(View(text)));
  return Compact(Json(shortest));
}

absl::StatusOr<std::string> Identity(helx_bytes sets_text) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseArgument(sets_text, "input_sets"));
  if (!value.is_array()) return InvalidArgument("input_sets is not a list of lists");
  std::vector<std::vector<IdentifiedInput>> sets;
  for (const Json& set : value) {
    if (!set.is_array()) return InvalidArgument("input_sets is not a list of lists");
    auto& inputs = sets.emplace_back();
    for (const Json& item : set) {
      IdentifiedInput input;
      HELX_ASSIGN_OR_RETURN(input.spec, SpecFromJson(item, "input"));
      HELX_ASSIGN_OR_RETURN(input.sha256, JsonString(item, "sha256", "input"));
      inputs.push_back(std::move(input));
    }
  }
  HELX_ASSIGN_OR_RETURN(const InputIdentity identity, IdentifyInputs(sets));
  return Compact(IdentityToJson(identity));
}

}  // namespace
}  // namespace helx::capi

extern "C" {

int helx_model_tensors(helx_bytes model, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::ModelTensors(model); });
}

int helx_tensor_check(helx_bytes spec, helx_bytes data, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::CheckTensor(spec, data); });
}

int helx_tolerance_number(helx_bytes text, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::ToleranceNumber(text); });
}

int helx_compare(helx_bytes spec, helx_bytes actual, helx_bytes reference, helx_bytes policy,
                 helx_buffer* out) {
  return helx::capi::Call(out,
                          [&] { return helx::capi::Compare(spec, actual, reference, policy); });
}

int helx_input_identity(helx_bytes input_sets, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::Identity(input_sets); });
}

}  // extern "C"

#include "core/tensor/input_identity.h"

#include "core/base/digest.h"
#include "core/base/sha256.h"

namespace helx {
namespace {

absl::StatusOr<Json> SetToJson(const std::vector<IdentifiedInput>& set) {
  Json list = Json::array();
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i].spec.index != static_cast<int64_t>(i)) {
      return InvalidArgument("input " + std::to_string(i) + " has the index " +
                             std::to_string(set[i].spec.index) +
                             "; inputs stand in contiguous model-index order");
    }
    if (!IsSha256Hex(set[i].sha256)) {
      return InvalidArgument("the digest of input " + std::to_string(i) +
                             " is not 64 lower-case hexadecimal characters");
    }
    Json item = SpecToJson(set[i].spec);
    item["sha256"] = set[i].sha256;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

absl::StatusOr<InputIdentity> IdentifyInputs(
    const std::vector<std::vector<IdentifiedInput>>& input_sets) {
  InputIdentity identity;
  if (input_sets.empty()) {
    identity.unavailable_reason = "no inputs were captured (the experiment has no tensor_io)";
    return identity;
  }
  Json sets = Json::array();
  for (const auto& set : input_sets) {
    HELX_ASSIGN_OR_RETURN(Json list, SetToJson(set));
    sets.push_back(std::move(list));
  }
  if (input_sets.size() == 1) {
    HELX_ASSIGN_OR_RETURN(identity.canonical_json,
                          CanonicalJson(Json{{"inputs", std::move(sets[0])},
                                             {"schema", "helx.inputs/v1"},
                                             {"storage", "little-endian"}}));
    identity.value = "helx.inputs/v1:sha256:" + Sha256Hex(*identity.canonical_json);
    return identity;
  }
  HELX_ASSIGN_OR_RETURN(identity.sequence_canonical_json,
                        CanonicalJson(Json{{"input_sets", std::move(sets)},
                                           {"schema", "helx.input-sequence/v1"},
                                           {"storage", "little-endian"}}));
  identity.sequence_value =
      "helx.input-sequence/v1:sha256:" + Sha256Hex(*identity.sequence_canonical_json);
  identity.unavailable_reason =
      "each sample has its own inputs; see the identity of the input sequence";
  return identity;
}

}  // namespace helx

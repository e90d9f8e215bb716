// The single lowerings and what they share (docs/integer-operators.md, sections 13.1 to 13.6).
#ifndef HELX_CORE_OPS_LOWER_FORMS_H_
#define HELX_CORE_OPS_LOWER_FORMS_H_

#include <optional>
#include <string>
#include <string_view>

#include "core/ops/graph.h"
#include "core/ops/json.h"
#include "core/ops/result.h"

namespace helx::ops {

// The largest max_elems a form may state.
inline constexpr int64_t kLargestMaxElems = 0x7FFFFFFF;

// One member's graph, or its first refusal in the order form, layer, unsupported, limit.
Result<Graph> LowerWhm(std::string_view member, std::string_view form);
Result<Graph> LowerWorldTransition(std::string_view member, std::optional<int64_t> channels);
Result<Graph> LowerGruCell(std::string_view member);
Result<Graph> LowerMlp(std::string_view member);
Result<Graph> LowerTfq(std::string_view member);

// A canonical JSON object with exactly these keys (sorted) and this "form"; else kForm.
Result<Json> ReadForm(std::string_view member, const std::vector<std::string_view>& keys,
                      std::string_view form);

inline Refusal FormFault(std::string detail) { return {Code::kForm, std::move(detail)}; }
inline Refusal LayerFault(std::string detail) { return {Code::kLayer, std::move(detail)}; }
inline Refusal LimitFault(std::string detail) { return {Code::kLimit, std::move(detail)}; }

// {"c","fixed","h_cap","hi","lo","w_cap"}, all integers.
bool IsInput(const Json& json);
// {"hi","lo"}, integers.
bool IsRange(const Json& json);
// "acc32", "acc64" or "".
bool IsPin(const Json& json);

// The numbers of an IsInput object; false when a field cannot hold one.
bool ReadInput(const Json& json, Input* input);
bool ReadRange(const Json& json, int64_t* lo, int64_t* hi);

// True when `json` is a layer of `op`: exactly its parameters by name, with the right JSON types,
// and "op" too unless `bare`.
bool IsLayer(const Json& json, Op op, bool bare);
// The parameters of an IsLayer object; false when one is out of section 5's ranges or an array has
// the wrong length.
bool ReadLayer(const Json& json, Op op, Params* params);
// The layer as canonical JSON, the inverse of ReadLayer.
std::string LayerText(Op op, const Params& params, bool bare);

// Adds a node and gives its value id.
uint32_t AddNode(Graph* graph, Op op, std::vector<uint32_t> args, Params params);
// Parameters of clamp and check.
Params LimitParams(int64_t lo, int64_t hi);
// rescale or conv's rqb with one record; also mul's rq (post_bias unused).
Params RequantParams(Rounding rounding, int64_t mult, int64_t shift, int64_t post_bias);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_LOWER_FORMS_H_

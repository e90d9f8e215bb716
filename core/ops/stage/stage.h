// The stage operators (docs/integer-operators.md, section 5E): a byte stream or an integer list in,
// an integer list out, outside any graph.
#ifndef HELX_CORE_OPS_STAGE_STAGE_H_
#define HELX_CORE_OPS_STAGE_STAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ops/json.h"
#include "core/ops/result.h"

namespace helx::ops {

struct StageRefusal {
  Code code;
  // -1 before any element, an element's index, or the number of elements at close.
  int64_t at;
  bool operator==(const StageRefusal&) const = default;
};

// An open stage operator: Next() once per element, then Close(). A clone continues identically.
class StageStream {
 public:
  virtual ~StageStream() = default;
  virtual std::unique_ptr<StageStream> Clone() const = 0;
  // The number of elements it will give.
  virtual int64_t size() const = 0;
  // The next element into `*value`, or the refusal. REQUIRES: fewer than size() calls so far, none
  // of them refused.
  virtual std::optional<StageRefusal> Next(int64_t* value) = 0;
  virtual std::optional<StageRefusal> Close() { return std::nullopt; }
};

using OpenedStage = std::variant<std::unique_ptr<StageStream>, StageRefusal>;

// The operators' names in the text's order.
const std::vector<std::string_view>& StageOperatorNames();

// Opens operator `name` on the fields `in`; the refusal's `at` is -1.
// REQUIRES: `name` is one of StageOperatorNames().
OpenedStage OpenStage(std::string_view name, const Json& in);

enum class StageMode { kWhole, kStep };

// The integers, or the refusal. kWhole runs one object to its end; kStep copies the object before
// every call and continues with the copy. Both give the same outcome (section 5E.0.2).
using StageOutcome = std::variant<std::vector<int64_t>, StageRefusal>;
StageOutcome RunStage(std::string_view name, const Json& in, StageMode mode);

// Openers of the single operators.
OpenedStage OpenRans64(const Json& in);
OpenedStage OpenMans(const Json& in);
OpenedStage OpenPredictor(const Json& in, bool median);
OpenedStage OpenDequant(const Json& in);
OpenedStage OpenScaleIndex(const Json& in);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_STAGE_STAGE_H_

// Refusal codes of wai-ops/1 (docs/integer-operators.md, section 4.1) and the result type that
// carries one. core/ops has no exceptions and no dependency beyond the standard library.
#ifndef HELX_CORE_OPS_RESULT_H_
#define HELX_CORE_OPS_RESULT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace helx::ops {

enum class Code : uint8_t {
  // Load, steps 1 to 8.
  kHeader,
  kChecksum,
  kInputs,
  kNodes,
  kParams,
  kOutputs,
  kPlan,
  kBounds,
  // Run (kInputs is shared with load).
  kRange,
  kCaps,
  kShape,
  kMaxElems,
  kCheck,
  // Stage operators (kShape and kRange are shared with the run).
  kTables,
  kIndex,
  kAlign,
  kTruncated,
  kState,
  kFinal,
  kTrailing,
  kMarker,
  kSymbol,
  // Lowerings.
  kForm,
  kMember,
  kLayer,
  kUnsupported,
  kLimit,
};

// The code exactly as the text and the corpus write it.
std::string_view CodeName(Code code);

// A named refusal. `detail` says what and where for a person; only the code is compared.
struct Refusal {
  Code code;
  std::string detail;

  // "code: detail".
  std::string Text() const;
};

// Either a value or a refusal.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}            // NOLINT: implicit by design
  Result(Refusal refusal) : state_(std::move(refusal)) {}  // NOLINT: implicit by design

  bool ok() const { return std::holds_alternative<T>(state_); }
  // REQUIRES: ok().
  T& value() { return *std::get_if<T>(&state_); }
  const T& value() const { return *std::get_if<T>(&state_); }
  // REQUIRES: !ok().
  const Refusal& refusal() const { return *std::get_if<Refusal>(&state_); }

 private:
  std::variant<T, Refusal> state_;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_RESULT_H_

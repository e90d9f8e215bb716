#include "worker/engine/ops/lookup.h"

#include "worker/engine/ops/common.h"

namespace helx::engine {

Call LookupCall(const LowerContext& context, const Tensor& input,
                const std::function<int32_t(int32_t)>& function, Argument from, Argument to) {
  const IntegerRange range = *StorageRange(input.type);
  std::vector<uint8_t> table(256);
  for (int32_t x = range.lowest; x <= range.highest; ++x) {
    table[static_cast<uint8_t>(x)] = static_cast<uint8_t>(function(x));
  }
  Call call;
  call.function = "helx_lookup_8";
  call.params_type = "helx_lookup_8_params";
  call.params = {
      Field("count", model::ElementCount(input)),
      Field("table", context.ConstantArray("uint8_t", table)),
  };
  call.arguments = {from, to};
  return call;
}

}  // namespace helx::engine

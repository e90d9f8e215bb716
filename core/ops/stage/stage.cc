#include "core/ops/stage/stage.h"

#include <utility>

namespace helx::ops {

const std::vector<std::string_view>& StageOperatorNames() {
  static const std::vector<std::string_view>* const kNames = new std::vector<std::string_view>{
      "rans64_decode", "mans_decode", "pred_delta", "pred_med", "dequant", "scale_index"};
  return *kNames;
}

OpenedStage OpenStage(std::string_view name, const Json& in) {
  if (name == "rans64_decode") return OpenRans64(in);
  if (name == "mans_decode") return OpenMans(in);
  if (name == "dequant") return OpenDequant(in);
  if (name == "scale_index") return OpenScaleIndex(in);
  return OpenPredictor(in, name == "pred_med");
}

StageOutcome RunStage(std::string_view name, const Json& in, StageMode mode) {
  OpenedStage opened = OpenStage(name, in);
  if (const auto* refusal = std::get_if<StageRefusal>(&opened)) return *refusal;
  std::unique_ptr<StageStream> stream = std::move(*std::get_if<0>(&opened));
  std::vector<int64_t> out(stream->size());
  for (int64_t& value : out) {
    if (mode == StageMode::kStep) stream = stream->Clone();
    if (const auto refusal = stream->Next(&value)) return *refusal;
  }
  if (const auto refusal = stream->Close()) return *refusal;
  return out;
}

}  // namespace helx::ops

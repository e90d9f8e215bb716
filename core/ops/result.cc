#include "core/ops/result.h"

namespace helx::ops {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kHeader:
      return "header";
    case Code::kChecksum:
      return "checksum";
    case Code::kInputs:
      return "inputs";
    case Code::kNodes:
      return "nodes";
    case Code::kParams:
      return "params";
    case Code::kOutputs:
      return "outputs";
    case Code::kPlan:
      return "plan";
    case Code::kBounds:
      return "bounds";
    case Code::kRange:
      return "range";
    case Code::kCaps:
      return "caps";
    case Code::kShape:
      return "shape";
    case Code::kMaxElems:
      return "max_elems";
    case Code::kCheck:
      return "check";
    case Code::kTables:
      return "tables";
    case Code::kIndex:
      return "index";
    case Code::kAlign:
      return "align";
    case Code::kTruncated:
      return "truncated";
    case Code::kState:
      return "state";
    case Code::kFinal:
      return "final";
    case Code::kTrailing:
      return "trailing";
    case Code::kMarker:
      return "marker";
    case Code::kSymbol:
      return "symbol";
    case Code::kForm:
      return "form";
    case Code::kMember:
      return "member";
    case Code::kLayer:
      return "layer";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kLimit:
      return "limit";
  }
  return "";
}

std::string Refusal::Text() const {
  std::string text(CodeName(code));
  if (!detail.empty()) text += ": " + detail;
  return text;
}

}  // namespace helx::ops

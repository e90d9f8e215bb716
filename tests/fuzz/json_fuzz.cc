// The strict JSON reader: what it accepts has one canonical text, or holds a floating-point number.
#include "core/base/json.h"
#include "tests/fuzz/fuzz_target.h"

namespace helx::fuzz {

std::vector<std::string> Seeds() {
  return {
      R"({"a":[1,-2,18446744073709551615,true,null,"\u00e9\n"],"b":{"c":{}}})",
      R"([[[[0.5,1e300,-0.0]]], {"a":1,"a":2}])",
      "\"\xc3\xa9\xf0\x9f\x98\x80\"",
      R"({"schema":"helx.document/v1","acquisition":{"samples":1,"state":"reset","warmup":0}})",
  };
}

}  // namespace helx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using helx::fuzz::Require;
  const auto value = helx::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!value.ok()) return 0;
  const auto canonical = helx::CanonicalJson(*value);
  if (!canonical.ok()) return 0;
  const auto again = helx::ParseJson(*canonical);
  Require(again.ok() && *again == *value, "canonical text reads back");
  const auto twice = helx::CanonicalJson(*again);
  Require(twice.ok() && *twice == *canonical, "canonical text is a fixed point");
  return 0;
}

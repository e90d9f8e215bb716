// A fuzz target and its seeds. libFuzzer drives LLVMFuzzerTestOneInput (HELX_FUZZ=ON); without clang
// the replay driver feeds it the seeds and mutations of them.
#ifndef HELX_TESTS_FUZZ_FUZZ_TARGET_H_
#define HELX_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace helx::fuzz {

std::vector<std::string> Seeds();

// Ends the process when a property does not hold, so that the fuzzer keeps the input.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", what);
  std::abort();
}

}  // namespace helx::fuzz

#endif  // HELX_TESTS_FUZZ_FUZZ_TARGET_H_

// Models to start from: random layers, and the small ones of HELX_MODELS.
#ifndef HELX_TESTS_FUZZ_MODEL_SEEDS_H_
#define HELX_TESTS_FUZZ_MODEL_SEEDS_H_

#include <string>
#include <vector>

namespace helx::fuzz {

std::vector<std::string> ModelSeeds();

}  // namespace helx::fuzz

#endif  // HELX_TESTS_FUZZ_MODEL_SEEDS_H_

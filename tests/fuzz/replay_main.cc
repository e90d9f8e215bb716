// Feeds a fuzz target its seeds and mutations of them. HELX_FUZZ_RUNS sets the number of inputs
// (default 20,000), HELX_FUZZ_SEED the first seed. Arguments are files to feed once instead.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/base/splitmix64.h"
#include "tests/fuzz/fuzz_target.h"

namespace helx::fuzz {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void Feed(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void Mutate(const std::vector<std::string>& seeds, SplitMix64* random, std::string* text) {
  static constexpr char kMarks[] = "{}[]:,\"'\\-#&*!|>%@0123456789.eE \n\t\xff\xc3";
  for (uint64_t n = 1 + random->Next() % 4; n > 0 && !text->empty(); --n) {
    const size_t at = random->Next() % text->size();
    const size_t length = 1 + random->Next() % 24;
    switch (random->Next() % 7) {
      case 0:
        (*text)[at] = static_cast<char>(random->Next());
        break;
      case 1:
        (*text)[at] = kMarks[random->Next() % (sizeof(kMarks) - 1)];
        break;
      case 2:
        text->erase(at, length);
        break;
      case 3:
        text->insert(at, 1, kMarks[random->Next() % (sizeof(kMarks) - 1)]);
        break;
      case 4:
        text->insert(at, text->substr(random->Next() % text->size(), length));
        break;
      case 5: {
        const std::string& other = seeds[random->Next() % seeds.size()];
        text->insert(at, other.substr(random->Next() % (other.size() + 1), length));
        break;
      }
      default:
        text->resize(at);
        break;
    }
  }
}

int Replay(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    Feed(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  if (argc > 1) return 0;
  const std::vector<std::string> seeds = Seeds();
  for (const std::string& seed : seeds) Feed(seed);
  const uint64_t runs = FromEnvironment("HELX_FUZZ_RUNS", 20'000);
  const uint64_t first = FromEnvironment("HELX_FUZZ_SEED", 1);
  for (uint64_t run = 0; run < runs; ++run) {
    SplitMix64 random(first + run);
    std::string text = seeds[random.Next() % seeds.size()];
    Mutate(seeds, &random, &text);
    Feed(text);
  }
  return 0;
}

}  // namespace
}  // namespace helx::fuzz

int main(int argc, char** argv) { return helx::fuzz::Replay(argc, argv); }

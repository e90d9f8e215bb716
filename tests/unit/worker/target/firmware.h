// Images for tests: the real runner around a model written by hand.
#ifndef HELX_TESTS_UNIT_WORKER_TARGET_FIRMWARE_H_
#define HELX_TESTS_UNIT_WORKER_TARGET_FIRMWARE_H_

#include <string>
#include <vector>

#include "worker/target/linker_script.h"
#include "worker/target/target.h"

namespace helx::target {

// A fresh folder, removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A model of `input_count` inputs and outputs of given sizes, all in an arena of its own, whose invoke is `body`: C that sees
// `in0`, `in1`..., `out0`..., `arena` (uint8_t*, 16-byte aligned), `variable` (uint32_t, reset to 7), and returns a status.
struct TestModel {
  std::vector<uint32_t> input_bytes;
  std::vector<uint32_t> output_bytes;
  std::string body;
  std::string before;        // C at file scope
  uint32_t scratch_bytes = 64;
};

// The digests that the image holds: of these bytes.
using InputSets = std::vector<std::vector<std::string>>;

// Compiles and links; the path of the ELF file in `folder`. Fails the test when the compiler does. `options`: more flags for
// the model's own file.
std::string BuildImage(const Board& board, const TestModel& model, const InputSets& inputs,
                       const std::string& folder, const std::vector<std::string>& options = {});

// The tensor-request digest that every test image reports: bytes 0, 1, ... 31.
Sha256Bytes TestRequestDigest();

// A request that fits the model; the image runs as built.
RunRequest MakeRequest(const std::string& image, const TestModel& model, const InputSets& inputs,
                       const std::string& folder);

// `count` bytes that look random, the same every time.
std::string Bytes(size_t count, uint64_t seed = 1);

}  // namespace helx::target

#endif  // HELX_TESTS_UNIT_WORKER_TARGET_FIRMWARE_H_

// Reader, checks, planner and code generation on every board: a model is refused with reasons, or becomes sources whose plan
// holds. The first byte chooses the board.
#include "core/base/file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/model_seeds.h"
#include "worker/engine/codegen.h"
#include "worker/engine/program.h"

namespace helx::fuzz {
namespace {

void CheckPlan(const engine::Program& program) {
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const engine::PlannedBuffer& a = program.buffers[i];
    Require(a.offset >= 0 && a.offset + a.bytes <= program.arena_bytes, "buffers lie in the arena");
    for (size_t k = 0; k < i; ++k) {
      const engine::PlannedBuffer& b = program.buffers[k];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      Require(!together || apart, "buffers that live together lie apart");
    }
  }
}

void Check(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::span<const target::Board> boards = target::AllBoards();
  const target::Board& board = boards[static_cast<uint8_t>(bytes[0]) % boards.size()];
  std::vector<engine::Violation> violations;
  const std::optional<engine::Program> program =
      engine::BuildProgram(AsBytes(bytes.substr(1)), board, &violations);
  Require(program.has_value() == violations.empty(), "a refusal has reasons, and only a refusal");
  for (const engine::Violation& v : violations) {
    Require(!v.code.empty() && !v.subject.empty() && !v.message.empty(), "reasons are complete");
  }
  if (!program) return;
  CheckPlan(*program);
  Require(!engine::GenerateSources(*program).at("model.c").empty(), "there is code");
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& model : ModelSeeds()) {
    seeds.push_back(std::string(1, static_cast<char>(seeds.size())) + model);
  }
  return seeds;
}

}  // namespace helx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  helx::fuzz::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}

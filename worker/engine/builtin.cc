#include "worker/engine/builtin.h"

#include "worker/engine/codegen.h"
#include "worker/engine/program.h"
#include "worker/engine/sources_hash.h"

namespace helx::engine {
namespace {

// "operator 7 (GATHER_ND): ... (and 2 more)".
absl::Status Refusal(const std::vector<Violation>& violations) {
  const Violation& first = violations.front();
  std::string text = first.code + ": " + first.subject + ": " + first.message;
  if (violations.size() > 1) {
    text += " (and " + std::to_string(violations.size() - 1) + " more)";
  }
  return InvalidArgument(text);
}

}  // namespace

std::string BuiltinEngine::version() const {
  return std::string(kProjectVersion) + "+" + std::string(kGeneratorHash.substr(0, 12)) + "." +
         std::string(kKernelsHash.substr(0, 12));
}

absl::StatusOr<ModelInterface> BuiltinEngine::Preflight(std::span<const uint8_t> model,
                                                        const target::Board& board,
                                                        std::vector<Violation>* violations,
                                                        const target::PlacementWish& wish) const {
  std::optional<Program> program = BuildProgram(model, board, violations, Purpose::kMeasure, wish);
  if (!program) return Refusal(*violations);
  return std::move(program->interface);
}

absl::StatusOr<GeneratedModel> BuiltinEngine::Generate(std::span<const uint8_t> model,
                                                       const target::Board& board,
                                                       Purpose purpose) const {
  std::vector<Violation> violations;
  std::optional<Program> program = BuildProgram(model, board, &violations, purpose);
  if (!program) return Refusal(violations);
  GeneratedModel generated;
  generated.files = GenerateSources(*program);
  generated.memory = MemoryReport(*program);
  generated.interface = std::move(program->interface);
  return generated;
}

}  // namespace helx::engine

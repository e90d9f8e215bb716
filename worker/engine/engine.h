// An engine: a named recipe from a model to C sources and, with the toolchain, to an image.
#ifndef HELX_WORKER_ENGINE_ENGINE_H_
#define HELX_WORKER_ENGINE_ENGINE_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/tensor/tensor_spec.h"
#include "worker/target/board.h"
#include "worker/target/linker_script.h"

namespace helx::engine {

// One reason why a model cannot be built for a board.
struct Violation {
  std::string
      code;  // "unsupported_operator", "unsupported_dtype", "malformed_model", "does_not_fit", ...
  std::string subject;  // "operator 7 (GATHER_ND)", "tensor 12 (conv1/bias)"
  std::string message;  // what was found, what is allowed, what to do
};

// What freezing needs to know of a model.
struct ModelInterface {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

// Generated files that depend on the model and the board, never on the tensor request.
struct GeneratedModel {
  std::map<std::string, std::string>
      files;  // name -> content: model.c, weights.S, weights.bin, ...
  ModelInterface interface;
  // Integers and strings only: {"arena_bytes","peak_bytes","scratch_bytes","variable_bytes","weight_bytes",
  //  "tensors":[{"name","offset","bytes","first","last",...}], "operators":[{"index","name","macs","live_bytes",...}]};
  // docs/formats.md has every member.
  Json memory;
};

// What an image is for: to be measured, or to report what each operator of the model leaves, for
// which every tensor keeps the shape that the model gives it.
enum class Purpose { kMeasure, kProbe };

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  // Changes whenever generated code or kernels change: part of the build key.
  virtual std::string version() const = 0;
  // The model's interface, or the violations in operator order (at least one, at most 64).
  // REQUIRES: target::CheckWish(board, wish).
  virtual absl::StatusOr<ModelInterface> Preflight(
      std::span<const uint8_t> model, const target::Board& board,
      std::vector<Violation>* violations, const target::PlacementWish& wish = {}) const = 0;
  virtual absl::StatusOr<GeneratedModel> Generate(std::span<const uint8_t> model,
                                                  const target::Board& board,
                                                  Purpose purpose = Purpose::kMeasure) const = 0;
};

// The engine of that name, or nullptr.
const Engine* FindEngine(std::string_view name);
std::vector<const Engine*> AllEngines();

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_ENGINE_H_

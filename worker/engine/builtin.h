// The builtin engine: ahead-of-time compilation to C calls into this project's kernels.
#ifndef HELX_WORKER_ENGINE_BUILTIN_H_
#define HELX_WORKER_ENGINE_BUILTIN_H_

#include "worker/engine/engine.h"

namespace helx::engine {

class BuiltinEngine : public Engine {
 public:
  std::string_view name() const override { return "builtin"; }
  std::string version() const override;
  absl::StatusOr<ModelInterface> Preflight(std::span<const uint8_t> model,
                                           const target::Board& board,
                                           std::vector<Violation>* violations,
                                           const target::PlacementWish& wish) const override;
  absl::StatusOr<GeneratedModel> Generate(std::span<const uint8_t> model,
                                          const target::Board& board,
                                          Purpose purpose) const override;
};

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_BUILTIN_H_

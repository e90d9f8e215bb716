// A program as C sources and as a memory report.
#ifndef HELX_WORKER_ENGINE_CODEGEN_H_
#define HELX_WORKER_ENGINE_CODEGEN_H_

#include <map>
#include <string>

#include "core/base/json.h"
#include "worker/engine/program.h"

namespace helx::engine {

// model.c: one call per operator over named tensors, and helx_the_model for the runner. With constants also weights.bin and
// weights.S, which defines helx_weights in section .helx_weights. The arena lies in .helx_arena.
// Equal programs give equal bytes.
std::map<std::string, std::string> GenerateSources(const Program& program);

// GeneratedModel::memory.
Json MemoryReport(const Program& program);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_CODEGEN_H_

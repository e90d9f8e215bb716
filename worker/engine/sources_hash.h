// What this program was built from: computed by hash_sources.cmake from file contents.
#ifndef HELX_WORKER_ENGINE_SOURCES_HASH_H_
#define HELX_WORKER_ENGINE_SOURCES_HASH_H_

#include <string_view>

namespace helx::engine {

extern const std::string_view kProjectVersion;
// Hex SHA-256 of the lines "name sha256\n" over worker/kernels/*.{c,h}, sorted by name.
extern const std::string_view kKernelsHash;
// The same over the sources of the generator (worker/engine) and the board table.
extern const std::string_view kGeneratorHash;

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_SOURCES_HASH_H_

// The C sources that images are made of, carried inside this program so that its identity covers them.
#ifndef HELX_WORKER_ENGINE_EMBEDDED_SOURCES_H_
#define HELX_WORKER_ENGINE_EMBEDDED_SOURCES_H_

#include <span>
#include <string_view>

namespace helx::engine {

struct EmbeddedSource {
  std::string_view path;  // "kernels/conv_s8.c", "runner/runner.c"
  std::string_view content;
};

// By path. Kernels and runner: C sources and headers, assembly, linker scripts.
std::span<const EmbeddedSource> EmbeddedSources();

// Hex SHA-256 over the embedded sources and the generator's own sources: changes whenever one of them does.
std::string_view SourcesHash();

// Of the project.
extern const std::string_view kEngineVersion;

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_EMBEDDED_SOURCES_H_

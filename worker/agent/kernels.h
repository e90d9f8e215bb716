// The part of an image that depends on no model: runner and kernels, compiled once per core, flags and compiler.
#ifndef HELX_WORKER_AGENT_KERNELS_H_
#define HELX_WORKER_AGENT_KERNELS_H_

#include <string>

#include "core/base/status.h"
#include "worker/agent/catalogue.h"

namespace helx::agent {

// Makes sure that `folder` holds the archive of every board the catalogue offers, compiling what is missing. Several
// workers may do so at once. A board whose archive cannot be made gets a reason in the catalogue.
absl::Status PrepareKernels(const std::string& folder, Catalogue* catalogue);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_KERNELS_H_

// The kinds of action. Each answers its outcome record; an error status means that the host or HELX
// failed.
#ifndef HELX_WORKER_AGENT_ACTION_STEPS_H_
#define HELX_WORKER_AGENT_ACTION_STEPS_H_

#include <string>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/experiment/frozen_request.h"
#include "worker/agent/action.h"
#include "worker/agent/catalogue.h"

namespace helx::agent {

struct ActionInput {
  std::string folder;
  Catalogue catalogue;

  // A blob of the input folder, checked against its digest.
  absl::StatusOr<std::string> Blob(const Digest& digest) const;
  // The same for a tensor; zero-filled tensors need no blob.
  absl::StatusOr<std::string> TensorBytes(const BoundTensor& tensor) const;
};

// Document -> frozen request, or violations. Emits request.json.
absl::StatusOr<Json> FreezeStep(const ActionInput& input, const ActionContext& context);

// Build or result bundle -> its frozen request, the bundle verified in whole. Emits request.json;
// the outcome says whether the bundle's image was executed ("executed").
absl::StatusOr<Json> FreezeBundleStep(const ActionInput& input, const ActionContext& context);

// Frozen request -> build bundle. Emits its files.
absl::StatusOr<Json> BuildStep(const ActionInput& input, const ActionContext& context);

// Frozen request + build bundle -> result bundle. Emits its files.
absl::StatusOr<Json> RunStep(const ActionInput& input, const ActionContext& context);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_ACTION_STEPS_H_

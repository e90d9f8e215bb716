// What a build bundle and a result bundle have in common: the request with its tensors, the image's
// files, the result document's static half.
#ifndef HELX_WORKER_AGENT_BUNDLE_ASSEMBLY_H_
#define HELX_WORKER_AGENT_BUNDLE_ASSEMBLY_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/result.h"
#include "core/bundle/writer.h"
#include "core/experiment/frozen_request.h"
#include "worker/agent/action_steps.h"
#include "worker/target/board.h"
#include "worker/target/image.h"

namespace helx::agent {

// The bytes of everything a request binds.
struct RequestTensors {
  std::vector<std::vector<std::string>> inputs;      // per input set, per input
  std::vector<std::vector<std::string>> references;  // per reference, per output
};

absl::StatusOr<RequestTensors> ReadTensors(const ActionInput& input, const FrozenRequest& request);

// Which of a request's tools an action uses.
enum class ToolUse { kBuild, kRun };

// Reads request.json of the input folder and checks that the tools the action uses are this host's
// (else a message for an INFRA outcome in `*changed`).
absl::StatusOr<FrozenRequest> ReadRequest(const ActionInput& input, ToolUse use,
                                          std::string* changed);

// Adds request.json and, with capture, the inputs and references as files; returns the result
// document with everything that is known before a run.
absl::StatusOr<ResultDocument> AddRequest(const FrozenRequest& request,
                                          const RequestTensors& tensors, const target::Board& board,
                                          BundleWriter* writer);

// Emits every file of a finished bundle.
absl::Status EmitBundle(const std::string& folder, const ActionContext& context);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_BUNDLE_ASSEMBLY_H_

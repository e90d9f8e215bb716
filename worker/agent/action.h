// The work of one action as a pure function of a folder: what runs inside the sandbox.
//
// Input folder (read-only):
//   action.json    {"kind":"freeze"|"freeze_bundle"|"build"|"run","catalogue":{...}}
//   document.json  freeze: canonical helx.document/v1
//   request.json   build, run: canonical helx.request/v1
//   blobs/{sha256} the model and every tensor the action reads
//   bundle/...     run: the files of the bundle whose image runs; freeze_bundle: the bundle,
//   manifest included objects/...    build: cached objects of this model, when there are any
// Output: records (action_stream.h). The outcome record is
//   {"ok":true, ...action-specific...} or
//   {"ok":false,"fault":"USER|INFRA|DEVICE|BUG","code","message","violations":[...]}.
#ifndef HELX_WORKER_AGENT_ACTION_H_
#define HELX_WORKER_AGENT_ACTION_H_

#include <functional>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "worker/agent/action_stream.h"

namespace helx::agent {

// Where an action's records go.
using Emit = std::function<void(RecordType, std::string_view name, std::string_view payload)>;

struct ActionContext {
  std::string input_folder;
  std::string work_folder;     // empty, writable, sized
  std::string kernels_folder;  // a build's: holds the board's libhelx.a; read-only
  Emit emit;
};

// Reads action.json and does it. Always ends with one outcome record; never throws.
void RunAction(const ActionContext& context);

// A refusal or failure, as the outcome record spells it.
Json FailureOutcome(std::string_view fault, std::string_view code, std::string_view message);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_ACTION_H_

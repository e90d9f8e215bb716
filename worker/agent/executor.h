// One lease from start to end: fetch inputs, run the action, upload what it left, say how it ended.
#ifndef HELX_WORKER_AGENT_EXECUTOR_H_
#define HELX_WORKER_AGENT_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "helx/v1/worker.pb.h"
#include "worker/agent/action_process.h"
#include "worker/agent/catalogue.h"
#include "worker/agent/kernels.h"

namespace helx::agent {

struct ExecutorCallbacks {
  std::function<bool()> cancelled;
  std::function<void(v1::JobPhase)> on_phase;
  std::function<void(std::string_view)> on_log;
};

class Executor {
 public:
  // `state_folder` holds temporary input folders and the caches of blobs and objects. `kernels` outlives the executor.
  Executor(std::shared_ptr<grpc::Channel> channel, HostPaths paths, std::string state_folder,
           Catalogue catalogue, const KernelArchives* kernels);
  ~Executor();

  // Fills everything of the completion but worker, session and lease. Blocks until the action ended.
  v1::CompleteRequest Execute(const v1::ExecuteAction& action, const ExecutorCallbacks& callbacks);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_EXECUTOR_H_

// A lane's session with helxd: polls for the desired state, runs what it is told, reports and completes.
#ifndef HELX_WORKER_AGENT_LANE_H_
#define HELX_WORKER_AGENT_LANE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "helx/v1/worker.grpc.pb.h"
#include "worker/agent/executor.h"

namespace helx::agent {

struct WorkerIdentity {
  std::string worker;
  std::string session;
  v1::WorkerCatalogue catalogue;
};

// Thread-compatible: Run on one thread, Stop from any.
class LaneSession {
 public:
  LaneSession(std::shared_ptr<grpc::Channel> channel, WorkerIdentity identity, v1::Lane lane,
              Executor* executor);
  ~LaneSession();

  // Returns after Stop(), or when a newer session of the same worker exists (then false).
  bool Run();
  void Stop();

 private:
  // One Synchronize call; false when the session is over.
  bool SynchronizeOnce();
  void Start(const v1::ExecuteAction& action);
  void Work(v1::ExecuteAction action);
  void Complete(v1::CompleteRequest request);
  void Wake();

  std::unique_ptr<v1::Worker::Stub> stub_;
  const WorkerIdentity identity_;
  const v1::Lane lane_;
  Executor* const executor_;

  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancel_{false};
  std::mutex mutex_;
  std::shared_ptr<grpc::ClientContext> polling_;  // the held call, while there is one
  bool busy_ = false;
  v1::Lease lease_;
  std::thread work_;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_LANE_H_

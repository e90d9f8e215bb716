// Internal to server/scheduler.
#ifndef HELX_SERVER_SCHEDULER_TURN_H_
#define HELX_SERVER_SCHEDULER_TURN_H_

#include <utility>

#include "server/scheduler/scheduler.h"

namespace helx::server {

class Scheduler::Turn {
 public:
  explicit Turn(Scheduler* scheduler) : scheduler_(scheduler), lock_(scheduler->mutex_) {}
  ~Turn() { scheduler_->Commit(std::move(transaction)); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Scheduler* const scheduler_;
  std::unique_lock<std::mutex> lock_;

 public:
  Transaction transaction;
};

inline constexpr char kCatalogueKey[] = "catalogue_digest";
inline constexpr char kIdCeilingKey[] = "job_id_ceiling";

// The longest text of a failure, in bytes.
inline constexpr size_t kFailureTextBytes = 1024;

// The longest document of a job, in bytes; larger tensors go as blobs.
inline constexpr size_t kDocumentLimit = 1 << 20;

bool IsTerminal(v1::JobPhase phase);
// Whether the subject of such jobs is a bundle: its image runs as it is.
inline bool RunsBundle(v1::JobKind kind) {
  return kind == v1::JOB_KIND_RUN_BUILD || kind == v1::JOB_KIND_REPLAY;
}
v1::Failure MakeFailure(v1::Fault fault, const std::string& code, const std::string& message);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_TURN_H_

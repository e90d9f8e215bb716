// What the scheduler tells whoever counts. Called with the scheduler's mutex held: must be quick
// and must not call back.
#ifndef HELX_SERVER_SCHEDULER_OBSERVER_H_
#define HELX_SERVER_SCHEDULER_OBSERVER_H_

#include "helx/v1/jobs.pb.h"
#include "helx/v1/types.pb.h"

namespace helx::server {

class SchedulerObserver {
 public:
  virtual ~SchedulerObserver() = default;
  // A job entered a phase; `from` is JOB_PHASE_UNSPECIFIED for a new one.
  virtual void PhaseChanged(v1::JobPhase from, v1::JobPhase to, double seconds_in_from) {
    (void)from, (void)to, (void)seconds_in_from;
  }
  // A job reached a terminal phase (job.phase()).
  virtual void JobFinished(const v1::Job& job) { (void)job; }
  virtual void CacheHit(v1::ActionKind kind) { (void)kind; }
  // A job joined an action that was in flight.
  virtual void Deduplicated(v1::ActionKind kind) { (void)kind; }
  virtual void Retried(v1::Fault fault) { (void)fault; }
  virtual void LeaseExpired() {}
  virtual void LeaseEnded(double seconds) { (void)seconds; }
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_OBSERVER_H_

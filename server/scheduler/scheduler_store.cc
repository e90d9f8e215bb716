// What the scheduler and the care of the store have to tell each other.
#include "server/scheduler/references.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {

ReferencesByInstance Scheduler::LiveReferences() const {
  std::lock_guard lock(mutex_);
  ReferencesByInstance out;
  for (const auto& [key, job] : jobs_) AppendReferences(job->record, out[job->instance]);
  for (const auto& [key, action] : actions_) {
    AppendReferences(action->record, out[action->instance]);
    for (const auto& waiter : action->waiters) {
      out[waiter->instance].push_back({FromProto(waiter->document), true});
    }
  }
  for (const auto& waiter : waiting_) {
    out[waiter->instance].push_back({FromProto(waiter->document), true});
  }
  pool_.ForEachCheck([&](const records::HealthCheckRecord& record) {
    if (record.check().has_document()) {
      out[record.check().instance()].push_back({FromProto(record.check().document()), true});
    }
  });
  return out;
}

// In a turn: what is decided here, and what is written of the same rows, reach the store in order.
void Scheduler::ForgetActions(const std::string& instance, const std::vector<std::string>& keys) {
  Turn turn(this);
  for (const std::string& key : keys) {
    if (actions_.contains(InstanceKey(instance, key))) continue;
    const auto record = cache_.Load(instance, key);
    if (!record.ok()) continue;
    const v1::ActionOutput& output = record->output();
    bool stored = false;
    for (const auto& [named, digest] :
         {std::pair(output.has_frozen_request(), &output.frozen_request()),
          std::pair(output.has_bundle(), &output.bundle())}) {
      if (named) stored = stored || blobs_->IsStored(instance, FromProto(*digest)).value_or(true);
    }
    if (stored) continue;
    cache_.Forget(instance, key);
    turn.transaction.writes.push_back({Family::kActions, InstanceKey(instance, key), std::nullopt});
  }
}

void Scheduler::ForgetBundles(const std::string& instance, const std::vector<Digest>& bundles) {
  Turn turn(this);
  for (const Digest& bundle : bundles) {
    if (blobs_->IsStored(instance, bundle).value_or(true)) continue;
    turn.transaction.writes.push_back(
        {Family::kIndexBundles, InstanceKey(instance, bundle.hash), std::nullopt});
  }
}

}  // namespace helx::server

// Freezing: of a job on its way, and for callers who wait for nothing else.
#include <utility>

#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {

// Whether everything that would follow this freezing is stored too.
bool Scheduler::IsStoredWhole(const LiveJob& job, const records::ActionRecord& frozen) {
  if (job.record.no_cache() || job.record.job().kind() == v1::JOB_KIND_REPLAY) return false;
  const v1::ActionOutput& output = frozen.output();
  if (job.record.job().kind() == v1::JOB_KIND_RUN_BUILD) {
    return output.executed() || output.run_key().empty() ||
           cache_.Find(job.instance, BundleRunKey(job, output.build_key(), output.run_key())) !=
               nullptr;
  }
  const bool runs = job.record.job().kind() == v1::JOB_KIND_RUN && !output.run_key().empty();
  const std::string last = runs ? "run:" + output.run_key() : "build:" + output.build_key();
  return cache_.Find(job.instance, last) != nullptr;
}

// Takes a job's freezing back: no live worker offers the tools it names any more.
void Scheduler::Unfreeze(LiveJob& job) {
  job.record.mutable_job()->clear_frozen_request();
  job.record.clear_build_key();
  job.record.clear_run_key();
  job.record.clear_build_bundle();
  records::Placement placement;  // as the document asked
  placement.set_engine(job.record.placement().engine());
  placement.set_platform(job.record.placement().platform());
  *job.record.mutable_placement() = placement;
}

// True once the job is frozen; false when it waits or has ended.
bool Scheduler::AdvanceFreeze(LiveJob& job, Transaction& t) {
  const std::string key =
      FreezeKey(job.record.has_document() ? job.record.document() : job.record.build_bundle());
  const auto catalogues = workers_.LiveCatalogues();
  // Without a worker the last known catalogue may be out of date: then only what is stored whole is
  // an answer.
  if (const auto hit = cache_.Find(job.instance, key);
      hit != nullptr && (!catalogues.empty() || IsStoredWhole(job, *hit))) {
    observer_->CacheHit(v1::ACTION_KIND_FREEZE);
    TakeFrozen(job, *hit);
    return true;
  }
  const auto violations = Refusal(job.record.placement(), catalogues);
  if (violations.empty()) {
    Attach(job, v1::ACTION_KIND_FREEZE, key, t);
  } else if (catalogues.empty() || InStartup()) {
    AwaitWorker(job, !catalogues.empty(), t);
  } else {
    v1::Failure refusal =
        MakeFailure(RefusalFault(violations[0]), violations[0].code(), violations[0].message());
    for (const auto& violation : violations) *refusal.add_violations() = violation;
    Fail(job, v1::FAILED, refusal, t);
  }
  return false;
}

void Scheduler::AdvanceWaiter(const std::shared_ptr<FreezeWaiter>& waiter, Transaction& t) {
  waiting_.erase(waiter);
  const std::string key = FreezeKey(waiter->document);
  if (const auto hit = cache_.Find(waiter->instance, key)) return AnswerFreeze(*waiter, *hit, t);
  const auto catalogues = workers_.LiveCatalogues();
  const auto violations = Refusal(waiter->placement, catalogues);
  if (!violations.empty()) {
    if (catalogues.empty() || InStartup()) {
      waiting_.insert(waiter);
      return;
    }
    v1::FreezeResponse response;
    *response.mutable_refusal() =
        MakeFailure(RefusalFault(violations[0]), violations[0].code(), violations[0].message());
    for (const auto& violation : violations)
      *response.mutable_refusal()->add_violations() = violation;
    t.effects.push_back([waiter, response](const absl::Status&) { waiter->done(response); });
    return;
  }
  const bool fresh = !actions_.contains(InstanceKey(waiter->instance, key));
  auto found = GetAction(waiter->instance, key, v1::ACTION_KIND_FREEZE);
  if (!found.ok()) {
    t.effects.push_back([waiter, why = found.status()](const absl::Status&) { waiter->done(why); });
    return;
  }
  Action& action = **found;
  action.waiters.insert(waiter);
  waiter->action = &action;
  if (!fresh) return;
  action.owner = waiter->owner;
  *action.record.mutable_document() = waiter->document;
  *action.record.mutable_placement() = waiter->placement;
  Enqueue(action, t);
}

std::shared_ptr<FreezeWaiter> Scheduler::Freeze(
    const Caller& caller, const std::string& document,
    std::function<void(absl::StatusOr<v1::FreezeResponse>)> done) {
  auto waiter = std::make_shared<FreezeWaiter>();
  waiter->instance = caller.instance;
  waiter->owner = InstanceKey(caller.instance, caller.user);
  waiter->done = std::move(done);
  absl::Status refused = document.size() <= kDocumentLimit
                             ? absl::OkStatus()
                             : InvalidArgument("document has " + std::to_string(document.size()) +
                                               " bytes; at most 1048576 are allowed");
  if (refused.ok()) {
    Turn turn(this);
    refused = stopped_ ? absl::UnavailableError("the server is shutting down") : store_->health();
    if (refused.ok()) refused = CheckQuota(waiter->instance, 0);
    if (refused.ok()) {
      refused = TakeDocument(waiter->instance, document, &waiter->document, &waiter->placement,
                             turn.transaction);
    }
    if (refused.ok()) AdvanceWaiter(waiter, turn.transaction);
  }
  if (!refused.ok()) waiter->done(refused);
  return waiter;
}

void Scheduler::AbandonFreeze(const std::shared_ptr<FreezeWaiter>& waiter) {
  Turn turn(this);
  waiting_.erase(waiter);
  if (waiter->action == nullptr || waiter->action->waiters.erase(waiter) == 0) return;
  DropIfUnwanted(*waiter->action, turn.transaction);
}

void Scheduler::AnswerFreeze(FreezeWaiter& waiter, const records::ActionRecord& record,
                             Transaction& t) {
  t.effects.push_back([this, done = waiter.done, instance = waiter.instance,
                       digest = record.output().frozen_request()](const absl::Status& status) {
    if (!status.ok()) return done(status);
    auto content = blobs_->Read(instance, FromProto(digest));
    if (!content.ok()) return done(content.status());
    v1::FreezeResponse response;
    response.set_frozen_request(*std::move(content));
    *response.mutable_digest() = digest;
    done(std::move(response));
  });
}

void Scheduler::TakeFrozen(LiveJob& job, const records::ActionRecord& record) {
  const v1::ActionOutput& output = record.output();
  *job.record.mutable_job()->mutable_frozen_request() = output.frozen_request();
  job.record.set_build_key(output.build_key());
  job.record.set_run_key(output.run_key());
  *job.record.mutable_placement() = record.output_placement();
  job.record.mutable_placement()->clear_selectors();
  job.record.set_bundle_executed(output.executed());
}

}  // namespace helx::server

// The way of a job: submission, from one action to the next, its end.
#include <algorithm>
#include <utility>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/bundle/manifest.h"
#include "helx/v1/results.pb.h"
#include "server/scheduler/job_document.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/names.h"
#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr size_t kDocumentLimit = 1 << 20;
constexpr int32_t kPriorityMost = 1000;
constexpr int64_t kManifestLimit = 3 << 20;
constexpr int64_t kQueueLimitMostMs = int64_t{30} * 24 * 3600 * 1000;

std::string FrozenKey(const v1::Digest& digest) { return "frozen:" + digest.hash(); }

// Kinds whose subject is a bundle: its image runs as it is.
bool RunsBundle(v1::JobKind kind) {
  return kind == v1::JOB_KIND_RUN_BUILD || kind == v1::JOB_KIND_REPLAY;
}

absl::Status CheckLimit(const char* field, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return InvalidArgument(std::string(field) + " is " + std::to_string(value) +
                         "; allowed are 0 (the default) to " + std::to_string(most));
}

absl::Status CheckSubmit(const v1::SubmitJobRequest& request, int64_t run_limit_most) {
  HELX_RETURN_IF_ERROR(CheckName("name", request.name()));
  if (!request.run().empty()) HELX_RETURN_IF_ERROR(CheckName("run", request.run()));
  HELX_RETURN_IF_ERROR(CheckText("model_stem", request.model_stem(), 128));
  if (!request.request_id().empty()) {
    HELX_RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  }
  HELX_RETURN_IF_ERROR(Selector::Parse(request.selector()).status());
  if (request.priority() < -kPriorityMost || request.priority() > kPriorityMost) {
    return InvalidArgument("priority is " + std::to_string(request.priority()) +
                           "; allowed are -1000 to 1000");
  }
  HELX_RETURN_IF_ERROR(CheckLimit("queue_limit_ms", request.queue_limit_ms(), kQueueLimitMostMs));
  HELX_RETURN_IF_ERROR(CheckLimit("run_limit_ms", request.run_limit_ms(), run_limit_most));
  if (!v1::JobKind_IsValid(request.kind())) {
    return InvalidArgument("kind is " + std::to_string(request.kind()) +
                           "; allowed are RUN (1), BUILD (2), RUN_BUILD (3) and REPLAY (4)");
  }
  if (RunsBundle(request.kind()) != (request.subject_case() == v1::SubmitJobRequest::kBundle)) {
    return InvalidArgument(RunsBundle(request.kind())
                               ? "a job of kind RUN_BUILD or REPLAY needs a bundle: it runs the "
                                 "bundle's image with the bundle's own inputs"
                               : "a job of kind RUN or BUILD needs a document or a frozen_request");
  }
  switch (request.subject_case()) {
    case v1::SubmitJobRequest::kDocument:
      if (request.document().size() <= kDocumentLimit) return absl::OkStatus();
      return InvalidArgument("document has " + std::to_string(request.document().size()) +
                             " bytes; at most " + std::to_string(kDocumentLimit) +
                             " are allowed, tensors go as blobs");
    case v1::SubmitJobRequest::kFrozenRequest:
      return Annotate(CheckDigest(FromProto(request.frozen_request())), "frozen_request");
    case v1::SubmitJobRequest::kBundle:
      return Annotate(CheckDigest(FromProto(request.bundle())), "bundle");
    default:
      return InvalidArgument("a job needs a document, a frozen_request or a bundle");
  }
}

}  // namespace

std::string Scheduler::FreezeKey(const v1::Digest& document) const {
  return "freeze:" +
         Sha256Hex(std::string_view(FromProto(document).ToString() + "\n" + catalogue_digest_));
}

void Scheduler::Submit(const Caller& caller, const v1::SubmitJobRequest& request, JobDone done) {
  absl::Status refused = CheckSubmit(request, options_.run_limit_ms);
  if (refused.ok()) {
    Turn turn(this);
    refused = SubmitInTurn(caller, request, done, turn.transaction);
  }
  if (!refused.ok()) done(refused);
}

// A refusal is returned and leaves the transaction empty; otherwise `done` is called once the job
// is on disk.
absl::Status Scheduler::SubmitInTurn(const Caller& caller, const v1::SubmitJobRequest& request,
                                     const JobDone& done, Transaction& t) {
  if (stopped_) return absl::UnavailableError("the server is shutting down");
  std::string row;
  std::string body;
  if (!request.request_id().empty()) {
    row = InstanceKey(caller.instance, caller.user, request.request_id());
    const Sha256Bytes sha = Sha256Of(AsBytes(request.SerializeAsString()));
    body.assign(sha.begin(), sha.end());
    HELX_ASSIGN_OR_RETURN(const bool repeated, AnswerRepeated(row, body, caller, done, t));
    if (repeated) return absl::OkStatus();
  }
  HELX_RETURN_IF_ERROR(store_->health());
  const std::string owner = InstanceKey(caller.instance, caller.user);
  const auto live = live_of_.find(owner);
  if (options_.user_jobs > 0 && live != live_of_.end() && live->second >= options_.user_jobs) {
    return absl::ResourceExhaustedError(caller.user + " has " + std::to_string(live->second) +
                                        " unfinished jobs; at most " +
                                        std::to_string(options_.user_jobs) +
                                        " are allowed: wait for some, or cancel them");
  }
  auto owned = std::make_unique<LiveJob>();
  LiveJob& job = *owned;
  job.instance = caller.instance;
  HELX_RETURN_IF_ERROR(TakeSubject(request, job, t));
  job.id = NewJobId(t);
  records::JobRecord& record = job.record;
  v1::Job* proto = record.mutable_job();
  proto->set_name("jobs/" + job.id);
  proto->set_instance(caller.instance);
  proto->set_user(caller.user);
  proto->set_experiment(request.name());
  proto->set_run(request.run());
  proto->set_model_stem(request.model_stem());
  proto->set_selector(request.selector());
  proto->set_kind(request.kind() == v1::JOB_KIND_UNSPECIFIED ? v1::JOB_KIND_RUN : request.kind());
  SetTimestamp(clock_->WallMicros(), proto->mutable_create_time());
  record.set_no_cache(request.no_cache());
  record.set_priority(request.priority());
  record.set_queue_limit_ms(request.queue_limit_ms() ? request.queue_limit_ms()
                                                     : options_.queue_limit_ms);
  record.set_run_limit_ms(request.run_limit_ms() ? request.run_limit_ms() : options_.run_limit_ms);
  if (!row.empty()) {
    records::IdempotencyRecord idempotency;
    idempotency.set_body_sha256(body);
    idempotency.set_job(job.id);
    idempotency.set_expire_us(clock_->WallMicros() + options_.idempotency_ms * 1000);
    t.writes.push_back({Family::kIdempotency, row, idempotency.SerializeAsString()});
    idempotency_[row] = {body, job.id};
    t.effects.push_back([this, row](const absl::Status& status) {
      if (!status.ok()) return;
      std::lock_guard lock(mutex_);
      idempotency_.erase(row);
    });
  }
  ++live_of_[owner];
  jobs_[InstanceKey(job.instance, job.id)] = std::move(owned);
  Advance(job, t);
  t.effects.push_back(
      [this, done, answer = *job.record.mutable_job()](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        FillQueueState(&answer);
        done(std::move(answer));
      });
  return absl::OkStatus();
}

// Whether this request id was seen before with the same body: then the job that it made is the
// answer.
absl::StatusOr<bool> Scheduler::AnswerRepeated(const std::string& row, const std::string& body,
                                               const Caller& caller, const JobDone& done,
                                               Transaction& t) {
  std::string known_body;
  std::string id;
  if (const auto pending = idempotency_.find(row); pending != idempotency_.end()) {
    std::tie(known_body, id) = pending->second;
  } else {
    const auto stored = store_->Get(Family::kIdempotency, row);
    if (absl::IsNotFound(stored.status())) return false;
    HELX_RETURN_IF_ERROR(stored.status());
    records::IdempotencyRecord record;
    if (!record.ParseFromString(*stored)) return DataLoss("an idempotency row is damaged");
    if (record.expire_us() < clock_->WallMicros()) return false;
    known_body = record.body_sha256();
    id = record.job();
  }
  if (known_body != body) {
    return absl::AlreadyExistsError("request_id was used for jobs/" + id +
                                    " with another request; use a fresh request_id");
  }
  // In its turn after the batch that holds the job.
  t.effects.push_back([this, done, instance = caller.instance, id](const absl::Status& status) {
    if (!status.ok()) return done(status);
    const auto job_row = store_->Get(Family::kJobs, JobKey(instance, id));
    records::JobRecord record;
    if (!job_row.ok()) return done(job_row.status());
    if (!record.ParseFromString(*job_row)) {
      return done(DataLoss("the row of job " + id + " is damaged"));
    }
    FillQueueState(record.mutable_job());
    done(record.job());
  });
  return true;
}

absl::Status Scheduler::TakeSubject(const v1::SubmitJobRequest& request, LiveJob& job,
                                    Transaction& t) {
  if (request.subject_case() == v1::SubmitJobRequest::kDocument) {
    return TakeDocument(job.instance, request.document(), job.record.mutable_document(),
                        job.record.mutable_placement(), t);
  }
  if (request.subject_case() == v1::SubmitJobRequest::kBundle) {
    return TakeBundle(request.bundle(), job);
  }
  const Digest digest = FromProto(request.frozen_request());
  HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(job.instance, digest));
  if (!stored) return MissingBlobs::Error({digest});
  const auto frozen = cache_.Find(job.instance, FrozenKey(request.frozen_request()));
  if (frozen == nullptr) {
    return InvalidArgument("blob " + digest.ToString() +
                           " is not a request that this server froze; submit its document");
  }
  TakeFrozen(job, *frozen);
  return absl::OkStatus();
}

// Stores the document. Unless its freezing is cached, it must be readable and every blob that it
// names must be there.
absl::Status Scheduler::TakeDocument(const std::string& instance, const std::string& document,
                                     v1::Digest* digest, records::Placement* placement,
                                     Transaction& t) {
  const Digest name = DigestOf(std::string_view(document));
  *digest = ToProto(name);
  if (const auto hit = cache_.Find(instance, FreezeKey(*digest))) {
    // As this document asked when it was frozen; needed again if its tools have gone away since.
    *placement = hit->placement();
  } else {
    HELX_ASSIGN_OR_RETURN(const JobDocumentView view, ReadJobDocument(document));
    std::vector<Digest> missing;
    for (const Digest& blob : view.blobs) {
      HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(instance, blob));
      if (!stored) missing.push_back(blob);
    }
    if (!missing.empty()) return MissingBlobs::Error(missing);
    placement->set_engine(view.engine);
    placement->set_platform(view.platform);
  }
  HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(instance, name));
  if (!stored) BlobStore::AppendRows(instance, name, document, t.writes);
  return absl::OkStatus();
}

// Every file of the bundle must be there; what they hold is for the worker that freezes it.
absl::Status Scheduler::TakeBundle(const v1::Digest& bundle, LiveJob& job) {
  const Digest digest = FromProto(bundle);
  const auto text = blobs_->Read(job.instance, digest, kManifestLimit);
  if (absl::IsNotFound(text.status())) return MissingBlobs::Error({digest});
  HELX_RETURN_IF_ERROR(text.status());
  const auto manifest = Manifest::Parse(*text);
  if (!manifest.ok()) {
    return WithErrorCode(
        InvalidArgument("bundle: blob " + digest.ToString() +
                        " is not the manifest of a bundle: " + MessageOf(manifest.status())),
        ErrorCodeOf(manifest.status()));
  }
  std::vector<Digest> missing;
  for (const Artifact& artifact : manifest->artifacts) {
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(job.instance, artifact.digest));
    if (!stored) missing.push_back(artifact.digest);
  }
  if (!missing.empty()) return MissingBlobs::Error(missing);
  *job.record.mutable_build_bundle() = bundle;
  return absl::OkStatus();
}

// Takes the job as far as it gets: to the action that it must wait for, or to its end.
void Scheduler::Advance(LiveJob& job, Transaction& t) {
  records::JobRecord& record = job.record;
  if (!record.job().selector().empty() && RefuseSelector(job, t)) return;
  if (!record.job().has_frozen_request() && !AdvanceFreeze(job, t)) return;
  if (RunsBundle(record.job().kind())) return AdvanceBundle(job, t);
  const bool runs = record.job().kind() == v1::JOB_KIND_RUN && !record.run_key().empty();
  // A health check is about the device that runs it, so its run is nobody else's.
  const std::string run_key =
      "run:" + (job.is_check()
                    ? Sha256Hex(std::string_view(record.run_key() + "\n" + record.device()))
                    : record.run_key());
  const std::string build_key = "build:" + record.build_key();
  if (runs && !record.no_cache() && !job.is_check()) {
    if (const auto hit = cache_.Find(job.instance, run_key)) {
      observer_->CacheHit(v1::ACTION_KIND_RUN);
      return Succeed(job, *hit, true, t);
    }
  }
  if (!record.has_build_bundle()) {
    const auto hit = record.no_cache() ? nullptr : cache_.Find(job.instance, build_key);
    if (hit == nullptr) return Attach(job, v1::ACTION_KIND_BUILD, build_key, t);
    observer_->CacheHit(v1::ACTION_KIND_BUILD);
    *record.mutable_build_bundle() = hit->output().bundle();
    if (!runs) return Succeed(job, *hit, true, t);
  }
  Attach(job, v1::ACTION_KIND_RUN, run_key, t);
}

// From a verified bundle to its run.
void Scheduler::AdvanceBundle(LiveJob& job, Transaction& t) {
  const records::JobRecord& record = job.record;
  if (RefuseBundle(job, t)) return;
  const std::string key = BundleRunKey(job, record.build_key(), record.run_key());
  if (record.job().kind() == v1::JOB_KIND_RUN_BUILD && !record.no_cache()) {
    if (const auto hit = cache_.Find(job.instance, key)) {
      observer_->CacheHit(v1::ACTION_KIND_RUN);
      return Succeed(job, *hit, true, t);
    }
  }
  const auto catalogues = workers_.LiveCatalogues();
  if (Refusal(record.placement(), catalogues).empty()) {
    return Attach(job, v1::ACTION_KIND_RUN, key, t);
  }
  if (catalogues.empty() || InStartup()) return AwaitWorker(job, !catalogues.empty(), t);
  Fail(job, v1::FAILED,
       MakeFailure(v1::INFRA, "executor_unavailable",
                   "the image runs on " + record.placement().platform() + " under " +
                       record.placement().executor() + " " + record.placement().executor_version() +
                       ", which no live worker offers; build the experiment anew for the "
                       "executors that 'targets' lists"),
       t);
}

// Whether a verified bundle is not what this kind of job runs; then the job has ended.
bool Scheduler::RefuseBundle(LiveJob& job, Transaction& t) {
  const records::JobRecord& record = job.record;
  std::string code, message;
  if (record.job().kind() == v1::JOB_KIND_RUN_BUILD && record.bundle_executed()) {
    code = "not_a_build";
    message = "the bundle is a result, which has run already; replay it instead";
  } else if (record.job().kind() == v1::JOB_KIND_REPLAY && !record.bundle_executed()) {
    code = "not_a_result";
    message = "the bundle is a build, which has not run yet; run-build it instead";
  } else if (record.run_key().empty()) {
    code = "build_only";
    message =
        "the experiment of this build says fvp.enabled: false, so it never runs; build it "
        "again with fvp.enabled: true";
  } else {
    return false;
  }
  job.record.mutable_job()->clear_frozen_request();  // a refusal, as by freezing
  Fail(job, v1::FAILED, MakeFailure(v1::USER, code, message), t);
  return true;
}

// An image that this server's workers made stands for its request; any other stands only for
// itself, whatever it says.
std::string Scheduler::BundleRunKey(const LiveJob& job, const std::string& build_key,
                                    const std::string& run_key) const {
  const bool replay = job.record.job().kind() == v1::JOB_KIND_REPLAY;
  const v1::Digest& bundle = job.record.build_bundle();
  const auto made = cache_.Load(job.instance, replay ? "run:" + run_key : "build:" + build_key);
  if (made.ok() && made->output().bundle().hash() == bundle.hash()) return "run:" + run_key;
  return "run:" + Sha256Hex(std::string_view(run_key + "\n" + FromProto(bundle).ToString()));
}

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

void Scheduler::AwaitWorker(LiveJob& job, bool any_worker, Transaction& t) {
  job.record.clear_action();
  const char* reason = any_worker ? "platform_unavailable" : "no_worker";
  const v1::Job& proto = job.record.job();
  if (proto.phase() != v1::QUEUED || proto.queue_reason() != reason) Requeue(job, reason, t);
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

void Scheduler::Succeed(LiveJob& job, const records::ActionRecord& record, bool cached,
                        Transaction& t) {
  const v1::ActionOutput& output = record.output();
  v1::Job* proto = job.record.mutable_job();
  *proto->mutable_bundle() = output.bundle();
  proto->set_content_digest(output.content_digest());
  proto->set_assessment(output.assessment() == v1::ASSESSMENT_UNSPECIFIED ? v1::NOT_COMPARED
                                                                          : output.assessment());
  proto->set_cached(cached);
  *proto->mutable_issues() = record.issues();

  v1::ResultEntry entry;
  entry.set_experiment(proto->experiment());
  entry.set_run(proto->run());
  entry.set_model_stem(proto->model_stem());
  *entry.mutable_bundle() = output.bundle();
  entry.set_content_digest(output.content_digest());
  entry.set_assessment(proto->assessment());
  SetTimestamp(clock_->WallMicros(), entry.mutable_create_time());
  entry.set_job(proto->name());
  *entry.mutable_issues() = record.issues();
  t.writes.push_back(
      {Family::kIndexResults, InstanceKey(job.instance, job.id), entry.SerializeAsString()});
  const std::string name =
      proto->run().empty() ? proto->experiment() : proto->experiment() + "/" + proto->run();
  t.writes.push_back({Family::kIndexLatest, InstanceKey(job.instance, name, job.id),
                      output.bundle().SerializeAsString()});
  Finish(job, v1::SUCCEEDED, t);
}

void Scheduler::Fail(LiveJob& job, v1::JobPhase phase, const v1::Failure& failure, Transaction& t) {
  *job.record.mutable_job()->mutable_failure() = failure;
  Finish(job, phase, t);
}

// The last transition. The job leaves memory with the end of the turn.
void Scheduler::Finish(LiveJob& job, v1::JobPhase phase, Transaction& t) {
  if (job.action != nullptr) {
    Action& action = *job.action;
    Detach(job);
    DropIfUnwanted(action, t);
  }
  job.record.clear_action();
  Transition(job, phase, t);
  observer_->JobFinished(job.record.job());
  if (--live_of_[job.owner()] <= 0) live_of_.erase(job.owner());
  if (job.is_check()) HealthCheckEnded(job, t);
  const auto found = jobs_.find(InstanceKey(job.instance, job.id));
  t.ended_jobs.push_back(std::move(found->second));
  jobs_.erase(found);
}

void Scheduler::Requeue(LiveJob& job, const std::string& reason, Transaction& t) {
  if (job.phase() != v1::QUEUED || job.record.job().last_event() == 0) {
    job.queued_since_ms = Now();
  }
  job.record.mutable_job()->set_queue_reason(reason);
  Transition(job, v1::QUEUED, t);
}

void Scheduler::Cancel(const Caller& caller, const std::string& id, JobDone done) {
  Turn turn(this);
  const auto found = jobs_.find(InstanceKey(caller.instance, id));
  if (found == jobs_.end()) {
    // Ended already, or never was: as the store has it, after what is on its way there.
    turn.transaction.effects.push_back(
        [this, done = std::move(done), instance = caller.instance, id](const absl::Status& status) {
          if (!status.ok()) return done(status);
          const auto row = store_->Get(Family::kJobs, JobKey(instance, id));
          records::JobRecord record;
          if (absl::IsNotFound(row.status())) return done(NotFound("there is no jobs/" + id));
          if (!row.ok()) return done(row.status());
          if (!record.ParseFromString(*row)) {
            return done(DataLoss("the row of job " + id + " is damaged"));
          }
          done(record.job());
        });
    return;
  }
  LiveJob& job = *found->second;
  if (!caller.is_operator && job.record.job().user() != caller.user) {
    const absl::Status refused = absl::PermissionDeniedError(
        "jobs/" + id + " belongs to " + job.record.job().user() + "; only that user and operators cancel it");
    turn.transaction.effects.push_back(
        [done = std::move(done), refused](const absl::Status&) { done(refused); });
    return;
  }
  if (!job.record.job().cancel_requested()) CancelInTurn(job, turn.transaction);
  turn.transaction.effects.push_back(
      [done = std::move(done), answer = job.record.job()](const absl::Status& status) {
        if (!status.ok()) return done(status);
        done(answer);
      });
}

// A job that shares its action leaves it; the last one takes the action down and ends when its
// worker has let go.
void Scheduler::CancelInTurn(LiveJob& job, Transaction& t) {
  job.record.mutable_job()->set_cancel_requested(true);
  Action* action = job.action;
  if (action == nullptr || action->state != Action::State::kLeased || action->wanted()) {
    return Finish(job, v1::CANCELLED, t);
  }
  job.cancel_deadline_ms = Now() + options_.cancel_limit_ms;
  Transition(job, v1::CANCELLING, t);
  BeginCancel(*action, t);
}

void Scheduler::FillQueueState(v1::Job* job) const {
  if (job->phase() != v1::QUEUED) return;
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(InstanceKey(job->instance(), job->name().substr(5)));
  if (found == jobs_.end() || found->second->phase() != v1::QUEUED) return;
  const LiveJob& live = *found->second;
  const Action* action = live.action;
  if (action == nullptr) {
    job->set_queue_reason(live.record.job().queue_reason());
  } else if (action->state == Action::State::kBackoff) {
    job->set_queue_reason("retry_backoff");
  } else if (action->state == Action::State::kQueued) {
    job->set_queue_reason(QueueReason(*action));
    job->set_queue_position(static_cast<int32_t>(queue_.Position(*action)));
  }
}

// What was submitted then, from the store.
absl::StatusOr<v1::SubmitJobRequest> Scheduler::RequestOf(
    const Caller& caller, const v1::ResubmitJobRequest& request) const {
  HELX_ASSIGN_OR_RETURN(const std::string id, JobIdOf(request.name()));
  const auto row = store_->Get(Family::kJobs, JobKey(caller.instance, id));
  if (absl::IsNotFound(row.status())) return NotFound("there is no jobs/" + id);
  HELX_RETURN_IF_ERROR(row.status());
  records::JobRecord record;
  if (!record.ParseFromString(*row)) return DataLoss("the row of job " + id + " is damaged");
  const v1::Job& job = record.job();
  v1::SubmitJobRequest out;
  out.set_request_id(request.request_id());
  out.set_name(job.experiment());
  out.set_run(job.run());
  out.set_model_stem(job.model_stem());
  out.set_kind(job.kind());
  out.set_no_cache(request.no_cache());
  // A health check's priority is nobody's to ask for.
  const int32_t priority = record.device().empty() ? record.priority() : 0;
  out.set_priority(request.priority() != 0 ? request.priority() : priority);
  out.set_selector(request.selector().empty() ? job.selector() : request.selector());
  out.set_queue_limit_ms(request.queue_limit_ms() != 0 ? request.queue_limit_ms()
                                                       : record.queue_limit_ms());
  out.set_run_limit_ms(request.run_limit_ms() != 0 ? request.run_limit_ms()
                                                   : record.run_limit_ms());
  if (record.has_document()) {
    const Digest digest = FromProto(record.document());
    auto document = blobs_->Read(caller.instance, digest);
    if (absl::IsNotFound(document.status())) return MissingBlobs::Error({digest});
    HELX_ASSIGN_OR_RETURN(*out.mutable_document(), std::move(document));
  } else if (RunsBundle(job.kind())) {
    *out.mutable_bundle() = record.build_bundle();
  } else {
    *out.mutable_frozen_request() = job.frozen_request();
  }
  return out;
}

void Scheduler::Resubmit(const Caller& caller, const v1::ResubmitJobRequest& request,
                         JobDone done) {
  const auto again = RequestOf(caller, request);
  if (!again.ok()) return done(again.status());
  Submit(caller, *again, std::move(done));
}

std::string Scheduler::ReadLiveLog(const Caller& caller, const std::string& id,
                                   v1::ActionKind kind, int32_t number, int64_t offset,
                                   size_t limit, int64_t* start) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(InstanceKey(caller.instance, id));
  if (found == jobs_.end() || found->second->action == nullptr) return "";
  const Action& action = *found->second->action;
  if (action.lane == nullptr || action.record.kind() != kind || action.lane->attempt != number) {
    return "";
  }
  return action.log.Read(offset, limit, start);
}

uint64_t Scheduler::Watch(const Caller& caller, const std::string& id, std::function<void()> wake,
                          bool logs) {
  std::lock_guard lock(mutex_);
  const std::string key = InstanceKey(caller.instance, id);
  watchers_[++watches_] = {key, std::move(wake), logs};
  watchers_of_.emplace(key, watches_);
  return watches_;
}

void Scheduler::Unwatch(uint64_t watch) {
  std::lock_guard lock(mutex_);
  const auto found = watchers_.find(watch);
  if (found == watchers_.end()) return;
  const auto [begin, end] = watchers_of_.equal_range(found->second.job);
  for (auto it = begin; it != end; ++it) {
    if (it->second == watch) {
      watchers_of_.erase(it);
      break;
    }
  }
  watchers_.erase(found);
}

}  // namespace helx::server

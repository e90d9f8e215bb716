// Submission: what is checked before a job exists, repeated request ids, the subject of a job.
#include <algorithm>
#include <utility>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/bundle/manifest.h"
#include "server/scheduler/job_document.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/names.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr int32_t kPriorityMost = 1000;
constexpr int64_t kQueueLimitMostMs = int64_t{30} * 24 * 3600 * 1000;

std::string FrozenKey(const v1::Digest& digest) { return "frozen:" + digest.hash(); }

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
  FaultPoint("job.submitted");
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
  HELX_RETURN_IF_ERROR(CheckQuota(caller.instance, 0));
  const std::string owner = InstanceKey(caller.instance, caller.user);
  const auto live = live_of_.find(owner);
  if (options_.user_jobs > 0 && live != live_of_.end() && live->second >= options_.user_jobs) {
    return absl::ResourceExhaustedError(
        caller.user + " has " + std::to_string(live->second) + " unfinished jobs; at most " +
        std::to_string(options_.user_jobs) + " are allowed: wait for some, or cancel them");
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
        FaultPoint("job.unacknowledged");
        FillQueueState(&answer);
        done(std::move(answer));
      });
  return absl::OkStatus();
}

int64_t Scheduler::QuotaOf(const std::string& instance) const {
  const auto found = options_.quotas_bytes.find(instance);
  return found == options_.quotas_bytes.end() ? options_.quota_bytes : found->second;
}

absl::Status Scheduler::CheckQuota(const std::string& instance, int64_t more_bytes) const {
  const int64_t quota = QuotaOf(instance);
  const int64_t used = store_->UsageOf(instance).bytes;
  // What there is not even a byte left for is refused too.
  if (quota <= 0 || used + std::max<int64_t>(more_bytes, 1) <= quota) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "instance " + instance + " takes " + std::to_string(used) + " of its " +
      std::to_string(quota) + " bytes" +
      (more_bytes > 0 ? ", and " + std::to_string(more_bytes) + " more do not fit" : "") +
      "; unpin or let the retention policy end what is old ('store status', 'store gc'), or ask an "
      "operator for more (--quota)");
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
    auto record = LoadJob(*store_, instance, id);
    if (!record.ok()) return done(record.status());
    FillQueueState(record->mutable_job());
    done(record->job());
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
  if (!stored) blobs_->AppendRows(instance, name, document, t.writes);
  return absl::OkStatus();
}

// Every file of the bundle must be there; what they hold is for the worker that freezes it.
absl::Status Scheduler::TakeBundle(const v1::Digest& bundle, LiveJob& job) {
  const Digest digest = FromProto(bundle);
  const auto text = blobs_->Read(job.instance, digest, kManifestBytes);
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

// What was submitted then, from the store.
absl::StatusOr<v1::SubmitJobRequest> Scheduler::RequestOf(
    const Caller& caller, const v1::ResubmitJobRequest& request) const {
  HELX_ASSIGN_OR_RETURN(const std::string id, JobIdOf(request.name()));
  HELX_ASSIGN_OR_RETURN(const records::JobRecord record, LoadJob(*store_, caller.instance, id));
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

}  // namespace helx::server

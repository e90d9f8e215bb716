#include "server/scheduler/job_reader.h"

#include <algorithm>

#include "server/scheduler/job_rows.h"
#include "server/scheduler/names.h"
#include "server/scheduler/timestamps.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr int kPageDefault = 50;
constexpr int kPageMost = 1000;
constexpr size_t kAnswerBytes = 3 << 20;  // below the message limit of a client
constexpr size_t kIdsAtOnce = 256;

absl::StatusOr<int> PageSize(int requested) {
  if (requested < 0 || requested > kPageMost) {
    return InvalidArgument("page_size is " + std::to_string(requested) +
                           "; allowed are 0 (meaning 50) to 1000");
  }
  return requested == 0 ? kPageDefault : requested;
}

absl::Status CheckPageToken(const std::string& token) {
  if (token.empty()) return absl::OkStatus();
  return CheckToken("page_token", token);
}

// Gathers jobs that the request's filter lets through until the page or the answer is full.
class Page {
 public:
  Page(const v1::ListJobsRequest& request, int size) : request_(request), size_(size) {}

  // False once the page is full; its token then leads to the job that did not fit.
  bool Add(const std::string& id, const v1::Job& job) {
    if (!Admits(job)) {
      last_ = id;
      return true;
    }
    if (response_.jobs_size() == size_ || bytes_ + job.ByteSizeLong() > kAnswerBytes) {
      response_.set_next_page_token(last_);
      return false;
    }
    bytes_ += job.ByteSizeLong();
    *response_.add_jobs() = job;
    last_ = id;
    return true;
  }
  v1::ListJobsResponse Take() { return std::move(response_); }

 private:
  bool Admits(const v1::Job& job) const {
    const auto& phases = request_.phases();
    return phases.empty() || std::find(phases.begin(), phases.end(), job.phase()) != phases.end();
  }

  const v1::ListJobsRequest& request_;
  const int size_;
  size_t bytes_ = 0;
  std::string last_;
  v1::ListJobsResponse response_;
};

}  // namespace

absl::StatusOr<std::string> JobIdOf(const std::string& name) {
  const absl::Status bad =
      InvalidArgument("name is " + Quoted(name) + "; a job is named jobs/{id}");
  if (name.rfind("jobs/", 0) != 0) return bad;
  std::string id = name.substr(5);
  if (!CheckToken("name", id).ok()) return bad;
  return id;
}

absl::StatusOr<v1::Job> JobReader::Get(const Caller& caller, const std::string& id) const {
  HELX_ASSIGN_OR_RETURN(records::JobRecord record, LoadJob(*store_, caller.instance, id));
  return std::move(*record.mutable_job());
}

absl::StatusOr<v1::ListJobsResponse> JobReader::List(const Caller& caller,
                                                     const v1::ListJobsRequest& request) const {
  HELX_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size()));
  HELX_RETURN_IF_ERROR(CheckPageToken(request.page_token()));
  if (!request.experiment().empty()) {
    HELX_RETURN_IF_ERROR(CheckName("experiment", request.experiment()));
    return ListByName(caller, request, size);
  }
  Page page(request, size);
  absl::Status damaged;
  Store::ScanRange range{.prefix = JobPrefix(caller.instance), .descending = true};
  if (!request.page_token().empty()) range.start = JobKey(caller.instance, request.page_token());
  HELX_RETURN_IF_ERROR(
      store_->Scan(Family::kJobs, range, [&](std::string_view key, std::string_view value) {
        const std::string id(key.substr(range.prefix.size()));
        const auto record = ParseJob(id, value);
        damaged = record.status();
        return record.ok() && page.Add(id, record->job());
      }));
  HELX_RETURN_IF_ERROR(damaged);
  return page.Take();
}

absl::StatusOr<v1::ListJobsResponse> JobReader::ListByName(const Caller& caller,
                                                           const v1::ListJobsRequest& request,
                                                           int size) const {
  Page page(request, size);
  Store::ScanRange range{.prefix = InstanceKey(caller.instance, request.experiment(), ""),
                         .descending = true};
  if (!request.page_token().empty()) range.start = range.prefix + request.page_token();
  while (true) {
    // A scan holds the database open, so rows are looked up between scans.
    std::vector<std::string> ids;
    HELX_RETURN_IF_ERROR(
        store_->Scan(Family::kIndexNames, range, [&](std::string_view key, std::string_view) {
          ids.emplace_back(LastPart(key));
          return ids.size() < kIdsAtOnce;
        }));
    for (const std::string& id : ids) {
      HELX_ASSIGN_OR_RETURN(const v1::Job job, Get(caller, id));
      if (!page.Add(id, job)) return page.Take();
    }
    if (ids.size() < kIdsAtOnce) return page.Take();
    range.start = range.prefix + ids.back();
  }
}

absl::StatusOr<std::vector<v1::JobEvent>> JobReader::Events(const Caller& caller,
                                                            const std::string& id, int64_t from,
                                                            int limit) const {
  // The job row first: events below its last one are on disk with it.
  HELX_ASSIGN_OR_RETURN(const v1::Job now, Get(caller, id));
  std::vector<v1::JobEvent> out;
  const auto add = [&](int64_t sequence, const v1::Job& job) {
    v1::JobEvent event;
    event.set_sequence(sequence);
    *event.mutable_time() = job.update_time();
    *event.mutable_job() = job;
    out.push_back(std::move(event));
  };
  int64_t sequence = std::max<int64_t>(from, 1);
  for (; sequence < now.last_event() && static_cast<int>(out.size()) < limit; ++sequence) {
    HELX_ASSIGN_OR_RETURN(const std::string row,
                          store_->Get(Family::kJobs, JobEventKey(caller.instance, id,
                                                                 static_cast<uint64_t>(sequence))));
    v1::Job job;
    if (!job.ParseFromString(row)) return DataLoss("an event of job " + id + " is damaged");
    add(sequence, job);
  }
  if (sequence == now.last_event() && static_cast<int>(out.size()) < limit) add(sequence, now);
  return out;
}

absl::StatusOr<v1::Result> JobReader::GetResult(const Caller& caller,
                                                const v1::GetResultRequest& request) const {
  Digest bundle;
  if (request.subject_case() == v1::GetResultRequest::kBundle) {
    bundle = FromProto(request.bundle());
    HELX_RETURN_IF_ERROR(Annotate(CheckDigest(bundle), "bundle"));
  } else if (request.subject_case() == v1::GetResultRequest::kExperiment) {
    HELX_RETURN_IF_ERROR(CheckText("experiment", request.experiment(), 129));
    v1::Digest latest;
    HELX_RETURN_IF_ERROR(store_->Scan(
        Family::kIndexLatest,
        {.prefix = InstanceKey(caller.instance, request.experiment(), ""), .descending = true},
        [&](std::string_view, std::string_view value) {
          if (!latest.ParseFromString(std::string(value))) latest.Clear();
          return false;
        }));
    if (latest.hash().empty()) {
      return NotFound("there is no result named " + Quoted(request.experiment()));
    }
    bundle = FromProto(latest);
  } else {
    return InvalidArgument("a result is asked for by bundle or by experiment");
  }
  const auto row = store_->Get(Family::kIndexBundles, InstanceKey(caller.instance, bundle.hash));
  if (absl::IsNotFound(row.status())) return NotFound("there is no bundle " + bundle.ToString());
  HELX_RETURN_IF_ERROR(row.status());
  records::BundleRecord record;
  if (!record.ParseFromString(*row)) return DataLoss("the row of a bundle is damaged");
  v1::Result result;
  *result.mutable_bundle() = record.bundle();
  result.set_content_digest(record.content_digest());
  result.set_assessment(record.assessment());
  *result.mutable_issues() = record.issues();
  for (const v1::Digest& blob : record.blobs()) {
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(caller.instance, FromProto(blob)));
    if (!stored) {
      return DataLoss("artifact " + FromProto(blob).ToString() + " of bundle " + bundle.ToString() +
                      " is gone; submit the job again to make it anew");
    }
  }
  auto manifest = blobs_->Read(caller.instance, FromProto(record.bundle()), kManifestBytes);
  if (absl::IsNotFound(manifest.status())) {
    return DataLoss("the manifest of bundle " + bundle.ToString() + " is gone");
  }
  if (absl::IsDataLoss(manifest.status())) {
    blobs_->Discard(caller.instance, FromProto(record.bundle()));
  }
  HELX_RETURN_IF_ERROR(manifest.status());
  result.set_manifest(*std::move(manifest));
  return result;
}

absl::StatusOr<v1::ListResultsResponse> JobReader::ListResults(
    const Caller& caller, const v1::ListResultsRequest& request) const {
  HELX_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size()));
  HELX_RETURN_IF_ERROR(CheckPageToken(request.page_token()));
  Store::ScanRange range{.prefix = InstanceKey(caller.instance, ""), .descending = true};
  if (!request.page_token().empty()) range.start = range.prefix + request.page_token();
  v1::ListResultsResponse response;
  absl::Status damaged;
  std::string last;
  HELX_RETURN_IF_ERROR(
      store_->Scan(Family::kIndexResults, range, [&](std::string_view key, std::string_view value) {
        if (response.results_size() == size) {
          response.set_next_page_token(last);
          return false;
        }
        if (!response.add_results()->ParseFromString(std::string(value))) {
          damaged = DataLoss("the row of a result is damaged");
          return false;
        }
        last = LastPart(key);
        return true;
      }));
  HELX_RETURN_IF_ERROR(damaged);
  return response;
}

}  // namespace helx::server

#include "server/maintenance/collector.h"

#include <algorithm>
#include <set>

#include "server/maintenance/rows.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {

absl::Status Collector::Run(const Options& options) {
  operation_->Update([&](v1::StoreOperation& state) { state.set_dry_run(options.dry_run); });
  // First what is in memory; then what was on its way to the disk at that time, which the barrier
  // waits for; then the rows. What appears later has been promised its blobs meanwhile.
  const ReferencesByInstance live = scheduler_->LiveReferences();
  HELX_RETURN_IF_ERROR(store_->CommitAndWait({}));
  for (const auto& [instance, usage] : store_->Usage()) {
    const auto found = live.find(instance);
    HELX_RETURN_IF_ERROR(
        CollectInstance(instance, found == live.end() ? References() : found->second, options));
  }
  const bool removed = operation_->Look().state.removed_bytes() > 0;
  if (!options.dry_run && (removed || options.rewrite)) {
    HELX_RETURN_IF_ERROR(store_->Reclaim(options.rewrite, operation_->cancelled()));
  }
  return absl::OkStatus();
}

absl::Status Collector::CollectInstance(const std::string& instance, const References& live,
                                        const Options& options) {
  const int64_t before = blobs_->Now() - blobs_->unused_keep_seconds();
  HELX_ASSIGN_OR_RETURN(Inventory inventory, Inventory::Take(instance, blobs_));
  HELX_RETURN_IF_ERROR(inventory.MarkReached(live));
  std::vector<Candidate> candidates;
  HELX_RETURN_IF_ERROR(pins_->WithPins(instance, [&](const auto& pins) -> absl::Status {
    References pinned;
    for (const auto& [hash, pin] : pins) pinned.push_back({FromProto(pin.bundle()), true});
    return inventory.MarkReached(pinned);
  }));
  HELX_RETURN_IF_ERROR(MarkJobs(inventory, candidates));
  std::vector<std::string> expired;
  HELX_RETURN_IF_ERROR(ChooseExpired(inventory, candidates, expired));
  FaultPoint("collect.marked");
  if (options.dry_run) {
    operation_->Update([&](v1::StoreOperation& state) {
      state.set_removed_jobs(state.removed_jobs() + static_cast<int64_t>(expired.size()));
    });
  } else {
    HELX_RETURN_IF_ERROR(ExpireJobs(instance, expired));
  }
  FaultPoint("collect.expired");
  HELX_RETURN_IF_ERROR(Sweep(inventory, before, options.dry_run));
  FaultPoint("collect.swept");
  return options.dry_run ? absl::OkStatus() : ForgetRows(instance, before);
}

// Marks what is kept whatever the bounds say; `candidates` are the others, the newest first.
absl::Status Collector::MarkJobs(Inventory& inventory, std::vector<Candidate>& candidates) {
  const std::string& instance = inventory.instance();
  std::map<std::string, v1::PinnedResult> pins;
  HELX_RETURN_IF_ERROR(pins_->WithPins(instance, [&](const auto& all) {
    pins = all;
    return absl::OkStatus();
  }));
  const bool bounded = policy_.max_age_seconds > 0 || policy_.max_bytes > 0;
  const int64_t young_us = clock_->WallMicros() - blobs_->unused_keep_seconds() * 1'000'000;
  std::map<std::string, int64_t> results;  // seen so far, by name
  return ForEachRow(
      *store_, Family::kJobs, JobPrefix(instance), true,
      [&](const std::string& key, const std::string& value) -> absl::Status {
        HELX_RETURN_IF_ERROR(operation_->Continue());
        records::JobRecord record;
        const std::string id = key.substr(JobPrefix(instance).size());
        if (!record.ParseFromString(value)) {
          operation_->Problem("the row of jobs/" + id + " of " + instance + " is damaged");
          return absl::OkStatus();
        }
        operation_->Update([](v1::StoreOperation& state) { state.set_jobs(state.jobs() + 1); });
        const v1::Job& job = record.job();
        const int64_t end_us = MicrosOf(job.end_time());
        bool kept = !bounded || !IsTerminal(job.phase()) || end_us >= young_us;
        if (job.has_bundle()) {
          kept = kept || pins.contains(job.bundle().hash());
          kept = ++results[ResultName(job)] <= policy_.keep_last || kept;
        }
        if (!kept) {
          candidates.push_back({id, end_us});
          return absl::OkStatus();
        }
        References references;
        AppendReferences(record, references);
        return inventory.MarkReached(references);
      });
}

// Applies the bounds, from the newest to the oldest: with the first that does not fit any more all
// older ones go.
absl::Status Collector::ChooseExpired(Inventory& inventory,
                                      const std::vector<Candidate>& candidates,
                                      std::vector<std::string>& expired) {
  const int64_t oldest_us = clock_->WallMicros() - policy_.max_age_seconds * 1'000'000;
  bool full = false;
  for (const Candidate& candidate : candidates) {
    HELX_RETURN_IF_ERROR(operation_->Continue());
    const bool old = policy_.max_age_seconds > 0 && candidate.end_us < oldest_us;
    if (!old && !full) {
      HELX_ASSIGN_OR_RETURN(const records::JobRecord record,
                            LoadJob(*store_, inventory.instance(), candidate.id));
      References references;
      AppendReferences(record, references);
      HELX_ASSIGN_OR_RETURN(const std::vector<size_t> places, inventory.Reached(references));
      const int64_t bytes = inventory.marked_bytes() + inventory.SizeOf(places);
      full = policy_.max_bytes > 0 && bytes > policy_.max_bytes;
      if (!full) inventory.Mark(references, places);
    }
    if (old || full) expired.push_back(candidate.id);
  }
  return absl::OkStatus();
}

absl::Status Collector::ExpireJobs(const std::string& instance,
                                   const std::vector<std::string>& expired) {
  if (expired.empty()) return absl::OkStatus();
  const std::set<std::string> ids(expired.begin(), expired.end());
  // A repeated request must not name a job that is gone.
  std::multimap<std::string, std::string> requests;
  HELX_RETURN_IF_ERROR(ForEachRow(*store_, Family::kIdempotency, InstanceKey(instance, ""), false,
                                  [&](const std::string& key, const std::string& value) {
                                    records::IdempotencyRecord record;
                                    if (record.ParseFromString(value) &&
                                        ids.contains(record.job())) {
                                      requests.emplace(record.job(), key);
                                    }
                                    return absl::OkStatus();
                                  }));
  for (size_t at = 0; at < expired.size(); at += kRowsAtOnce) {
    HELX_RETURN_IF_ERROR(operation_->Continue());
    HELX_RETURN_IF_ERROR(pins_->WithPins(instance, [&](const auto& pins) -> absl::Status {
      Writes writes;
      int64_t jobs = 0;
      for (size_t i = at; i < std::min(at + kRowsAtOnce, expired.size()); ++i) {
        const std::string& id = expired[i];
        HELX_ASSIGN_OR_RETURN(const records::JobRecord record, LoadJob(*store_, instance, id));
        const v1::Job& job = record.job();
        // Pinned meanwhile.
        if (job.has_bundle() && pins.contains(job.bundle().hash())) continue;
        ++jobs;
        HELX_RETURN_IF_ERROR(
            store_->Scan(Family::kJobs, {.prefix = JobEventPrefix(instance, id)},
                         [&](std::string_view key, std::string_view) {
                           writes.push_back({Family::kJobs, std::string(key), std::nullopt});
                           return true;
                         }));
        writes.push_back({Family::kJobs, JobKey(instance, id), std::nullopt});
        writes.push_back(
            {Family::kIndexNames, InstanceKey(instance, job.experiment(), id), std::nullopt});
        writes.push_back({Family::kIndexResults, InstanceKey(instance, id), std::nullopt});
        writes.push_back(
            {Family::kIndexLatest, InstanceKey(instance, ResultName(job), id), std::nullopt});
        const auto [begin, end] = requests.equal_range(id);
        for (auto it = begin; it != end; ++it) {
          writes.push_back({Family::kIdempotency, it->second, std::nullopt});
        }
      }
      HELX_RETURN_IF_ERROR(store_->CommitAndWait(std::move(writes)));
      operation_->Update(
          [&](v1::StoreOperation& state) { state.set_removed_jobs(state.removed_jobs() + jobs); });
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

absl::Status Collector::Sweep(const Inventory& inventory, int64_t before_seconds, bool dry_run) {
  int64_t blobs = 0, bytes = 0;
  const auto tell = [&] {
    operation_->Update([&](v1::StoreOperation& state) {
      state.set_removed_blobs(state.removed_blobs() + blobs);
      state.set_removed_bytes(state.removed_bytes() + bytes);
    });
    blobs = bytes = 0;
  };
  for (const Inventory::Blob& blob : inventory.blobs()) {
    if (blob.marked || blob.used_seconds >= before_seconds) continue;
    HELX_RETURN_IF_ERROR(operation_->Continue());
    if (!dry_run) {
      HELX_ASSIGN_OR_RETURN(
          const bool removed,
          blobs_->RemoveUnused(inventory.instance(), blob.digest(), before_seconds));
      if (!removed) continue;
    }
    ++blobs;
    bytes += blob.size_bytes;
    if (blobs % static_cast<int64_t>(kRowsAtOnce) != 0) continue;
    // Not further ahead of the disk than this.
    if (!dry_run) HELX_RETURN_IF_ERROR(store_->CommitAndWait({}));
    tell();
  }
  if (!dry_run) HELX_RETURN_IF_ERROR(store_->CommitAndWait({}));
  operation_->Update([&](v1::StoreOperation& state) {
    state.set_blobs(state.blobs() + static_cast<int64_t>(inventory.blobs().size()));
    state.set_bytes(state.bytes() + inventory.bytes());
  });
  tell();
  return absl::OkStatus();
}

// Cached actions and rows of bundles whose output was removed.
absl::Status Collector::ForgetRows(const std::string& instance, int64_t before_seconds) {
  std::vector<std::string> actions;
  HELX_RETURN_IF_ERROR(ForEachRow(
      *store_, Family::kActions, InstanceKey(instance, ""), false,
      [&](const std::string& key, const std::string& value) -> absl::Status {
        records::ActionRecord record;
        if (!record.ParseFromString(value)) return absl::OkStatus();
        const v1::ActionOutput& output = record.output();
        bool stored = false;
        if (output.has_bundle()) {
          HELX_ASSIGN_OR_RETURN(stored, blobs_->IsStored(instance, FromProto(output.bundle())));
        } else if (output.has_frozen_request()) {
          HELX_ASSIGN_OR_RETURN(stored,
                                blobs_->IsStored(instance, FromProto(output.frozen_request())));
        }
        // One that only ever failed counts its attempts for a while.
        for (const v1::Attempt& attempt : record.attempts()) {
          stored = stored || MicrosOf(attempt.end_time()) / 1'000'000 >= before_seconds;
        }
        if (!stored) actions.push_back(key.substr(InstanceKey(instance, "").size()));
        return absl::OkStatus();
      }));
  scheduler_->ForgetActions(instance, actions);
  std::vector<Digest> bundles;
  HELX_RETURN_IF_ERROR(
      ForEachRow(*store_, Family::kIndexBundles, InstanceKey(instance, ""), false,
                 [&](const std::string&, const std::string& value) -> absl::Status {
                   records::BundleRecord record;
                   if (!record.ParseFromString(value)) return absl::OkStatus();
                   const Digest bundle = FromProto(record.bundle());
                   HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->IsStored(instance, bundle));
                   if (!stored) bundles.push_back(bundle);
                   return absl::OkStatus();
                 }));
  scheduler_->ForgetBundles(instance, bundles);
  return absl::OkStatus();
}

}  // namespace helx::server

// Garbage collection while the store serves: ends jobs that the retention policy does not keep,
// then marks what is referred to and removes the rest.
//
// Never removed are
//   - jobs that are not terminal, those that ended within unused_keep_seconds, those whose bundle
//   is
//     pinned, and the newest `keep_last` results of each name;
//   - blobs that a kept job, an action in flight, a call in flight, a health check or a pin refers
//   to,
//     directly or by a text (document, frozen request, manifest) that holds their SHA-256;
//   - blobs that were stored, or that somebody was told are there, within unused_keep_seconds:
//   whoever
//     uploads first and refers later has that much time. The removal of each is decided under the
//     mutex under which it is noted that one is used (BlobStore), so what was promised after the
//     marks were made is kept as well.
// A cached action is forgotten when its output is gone.
#ifndef HELX_SERVER_MAINTENANCE_COLLECTOR_H_
#define HELX_SERVER_MAINTENANCE_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/maintenance/inventory.h"
#include "server/maintenance/operation.h"
#include "server/maintenance/pins.h"
#include "server/scheduler/clock.h"
#include "server/scheduler/scheduler.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// 0: no such bound.
struct RetentionPolicy {
  int64_t max_age_seconds = 0;  // of jobs, since their end
  int64_t max_bytes = 0;        // of an instance's blobs
  int64_t keep_last = 1;        // results of each name that neither bound touches
};

// Used by one thread.
class Collector {
 public:
  struct Options {
    bool dry_run = false;
    bool rewrite = false;
  };
  // The pointees outlive the collector.
  Collector(const RetentionPolicy& policy, Store* store, BlobStore* blobs, Scheduler* scheduler,
            const Pins* pins, const Clock* clock, Operation* operation)
      : policy_(policy),
        store_(store),
        blobs_(blobs),
        scheduler_(scheduler),
        pins_(pins),
        clock_(clock),
        operation_(operation) {}

  absl::Status Run(const Options& options);

 private:
  // A terminal job that only the bounds of the policy decide on.
  struct Candidate {
    std::string id;
    int64_t end_us = 0;
  };

  absl::Status CollectInstance(const std::string& instance, const References& live,
                               const Options& options);
  absl::Status MarkJobs(Inventory& inventory, std::vector<Candidate>& candidates);
  absl::Status ChooseExpired(Inventory& inventory, const std::vector<Candidate>& candidates,
                             std::vector<std::string>& expired);
  absl::Status ExpireJobs(const std::string& instance, const std::vector<std::string>& expired);
  absl::Status Sweep(const Inventory& inventory, int64_t before_seconds, bool dry_run);
  absl::Status ForgetRows(const std::string& instance, int64_t before_seconds);

  const RetentionPolicy policy_;
  Store* const store_;
  BlobStore* const blobs_;
  Scheduler* const scheduler_;
  const Pins* const pins_;
  const Clock* const clock_;
  Operation* const operation_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_COLLECTOR_H_

// The durable state of one daemon: a RocksDB instance, and the one thread that commits to it.
//
// Writers hand over batches and go on; the committer writes what has gathered as one synced batch
// and then calls back. Batches are committed in the order in which they came. When a commit fails
// (disk full, I/O error) every callback in hand gets that status once, `health()` turns bad, and
// the committer keeps the batches, reopens the database and tries again until it succeeds: what the
// process holds in memory and what is on disk never part. All rows are puts or deletes of whole
// values, so repeating a batch that had reached the disk after all changes nothing.
#ifndef HELX_SERVER_STORE_STORE_H_
#define HELX_SERVER_STORE_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace rocksdb {
class Env;
}

namespace helx::server {

enum class Family {
  kDefault,
  kBlobs,
  kJobs,
  kActions,
  kLeases,
  kIdempotency,
  kIndexLive,
  kIndexNames,
  kIndexResults,
  kIndexLatest,
  kIndexBundles,
  kBlobMeta,
};
inline constexpr int kFamilyCount = 12;

// The schema of the rows (keys.h). A store of an older one is rewritten when it is opened.
inline constexpr int kSchemaVersion = 2;

// One row put (with a value) or deleted (without).
struct RowWrite {
  Family family;
  std::string key;
  std::optional<std::string> value;
};
using Writes = std::vector<RowWrite>;

// What the blobs of an instance take.
struct BlobUsage {
  int64_t blobs = 0;
  int64_t bytes = 0;

  friend bool operator==(const BlobUsage&, const BlobUsage&) = default;
};

struct StoreOptions {
  std::string path;  // an existing folder
  int64_t ballast_bytes = 64 << 20;
  int64_t block_cache_bytes = 16 << 20;
  int64_t reopen_interval_ms = 1000;  // between attempts to recover from a failed commit
  // What RocksDB has to say; level 0 debug .. 4 fatal. Called from any thread.
  std::function<void(int level, std::string_view text)> log;
  // A log that is damaged before its end is replayed up to the damage, and what comes after it is
  // lost, instead of being refused.
  bool drop_damaged_log = false;
  rocksdb::Env* env = nullptr;  // for fault injection; nullptr: the real one
};

// Thread-safe.
class Store {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // Opens or creates the store; one that an older version wrote is brought up to date first.
  // FAILED_PRECONDITION when it was written by a newer version; DATA_LOSS when it is damaged, with the
  // code "store_log_damaged" when that is its log (the record that a crash cut off at its end is no
  // damage).
  static absl::StatusOr<std::unique_ptr<Store>> Open(const StoreOptions& options);
  // Commits what is queued (if the disk allows), then closes.
  ~Store();

  // The row's value. NOT_FOUND, DATA_LOSS, or UNAVAILABLE while the database is being reopened.
  absl::StatusOr<std::string> Get(Family family, std::string_view key) const;
  // Whether the row exists, without reading a large value.
  absl::StatusOr<bool> Has(Family family, std::string_view key) const;

  struct ScanRange {
    std::string prefix = {};
    std::string start = {};  // first key to look at (ascending) or to stay below (descending);
                             // empty: from the end concerned
    bool descending = false;
  };
  // Visits rows of a prefix in order until `visit` returns false. It sees one snapshot.
  absl::Status Scan(
      Family family, const ScanRange& range,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

  // Queues a batch; `done` (may be empty) runs on the committer thread once it is synced, or with
  // the error of the first try. An empty batch is a barrier: it is answered in its turn.
  void Commit(Writes writes, Done done);
  // The same, waiting. Not for reactors.
  absl::Status CommitAndWait(Writes writes);
  // Writes at once, unsynced: for chunks that nothing refers to yet. A later commit makes them
  // durable.
  // REQUIRES: no row of kBlobMeta, since those are counted as they are committed.
  absl::Status WriteUnsynced(const Writes& writes);

  // The blobs that each instance has, exactly as of the last commit.
  std::map<std::string, BlobUsage, std::less<>> Usage() const;
  BlobUsage UsageOf(std::string_view instance) const;

  // Gives the space of deleted blobs back to the disk. Slow: `all` rewrites every blob, otherwise
  // only the oldest files. CANCELLED soon after `cancelled` is set, as is the next.
  absl::Status Reclaim(bool all, std::atomic<bool>* cancelled);

  // Writes a new generation of backups into `folder` (made if needed) and keeps the newest `keep`.
  // Answers its id. Serving goes on meanwhile. RESOURCE_EXHAUSTED when its disk is full.
  absl::StatusOr<uint32_t> Backup(const std::string& folder, int keep,
                                  std::atomic<bool>* cancelled);

  // OK while commits succeed and the ballast is held; otherwise why new work should be refused
  // (RESOURCE_EXHAUSTED when the disk is full, UNAVAILABLE otherwise).
  absl::Status health() const;

  const std::string& path() const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_STORE_H_

// Content-addressed bytes in the store: rows of 1 MiB chunks, and a meta row that is written last.
//
// What nothing refers to is removed in the end (server/maintenance/collector.h). To whoever asks
// for a blob and is told that it is there it stays for half of `unused_keep_seconds` at least: time
// to write down the reference that keeps it for good. `Has` therefore notes in the meta row that
// the blob was used, and a removal is decided, under one mutex with it, on what is noted.
#ifndef HELX_SERVER_STORE_BLOB_STORE_H_
#define HELX_SERVER_STORE_BLOB_STORE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/status.h"
#include "server/store/store.h"

namespace helx::server {

inline constexpr int64_t kBlobChunkBytes = 1 << 20;
// The largest blob. Bundles hold models (64 MiB), outputs (16 MiB) and images; nothing is larger.
inline constexpr int64_t kBlobLimitBytes = int64_t{256} << 20;

struct BlobStoreOptions {
  int64_t unused_keep_seconds = 24 * 3600;  // what nothing refers to is kept so long after its use
};

// What has happened since the start.
struct BlobCounts {
  std::atomic<int64_t> reads{0};       // chunks
  std::atomic<int64_t> writes{0};      // blobs
  std::atomic<int64_t> missing{0};     // blobs asked for that are not stored
  std::atomic<int64_t> mismatches{0};  // damaged blobs found
};

// Thread-safe.
class BlobStore {
 public:
  explicit BlobStore(Store* store, const BlobStoreOptions& options = {});
  // REQUIRES: the store has no callback of this object left.
  ~BlobStore() = default;

  // Deletes chunks of blobs that a crash kept from being stored whole. Call once, before anything
  // else.
  absl::Status Recover();

  // Whether the blob is stored; then it is used. The empty blob always is.
  absl::StatusOr<bool> Has(std::string_view instance, const Digest& digest) const;
  // The same for onlookers, whom the blob may be taken from at once.
  absl::StatusOr<bool> IsStored(std::string_view instance, const Digest& digest) const;

  // Chunk `n` of a stored blob. NOT_FOUND when the blob is not stored, DATA_LOSS when the chunk is
  // gone or has another length.
  absl::StatusOr<std::string> ReadChunk(std::string_view instance, const Digest& digest,
                                        uint32_t n) const;

  // A whole blob, its digest checked: DATA_LOSS on a mismatch. INVALID_ARGUMENT above
  // `limit_bytes`.
  absl::StatusOr<std::string> Read(std::string_view instance, const Digest& digest,
                                   int64_t limit_bytes = 64 << 20) const;

  // Reads it chunk by chunk: DATA_LOSS when it is not whole or has another digest. `piece` (may be
  // empty) gets the chunks that can be read.
  absl::Status Verify(std::string_view instance, const Digest& digest,
                      const std::function<void(std::string_view)>& piece = nullptr) const;

  // Appends the rows that store `content` to `writes`; the blob exists once they are committed
  // through the store's queue. REQUIRES: at most a few MiB.
  void AppendRows(std::string_view instance, const Digest& digest, std::string_view content,
                  Writes& writes) const;

  // Stores a file whose digest was checked: chunks at once, then the meta row through the
  // committer.
  void PutFile(std::string_view instance, const Digest& digest, int fd, Store::Done done);

  // Takes a damaged blob out of sight, so that whatever needs it is made again. Called when a read
  // found DATA_LOSS; looks again whether it is so.
  void Discard(std::string_view instance, const Digest& digest);

  // Removes a blob that nobody has used since `before_seconds` (of Now()); false when somebody has,
  // or when it is being stored or is not there. Its space is free once the store's queue is
  // committed.
  absl::StatusOr<bool> RemoveUnused(std::string_view instance, const Digest& digest,
                                    int64_t before_seconds);

  // A blob as its meta row has it.
  struct Entry {
    Digest digest;
    int64_t used_seconds = 0;
  };
  // The blobs of an instance in the order of their digests, `limit` of them from after `after`
  // (nullptr: from the first).
  absl::StatusOr<std::vector<Entry>> List(std::string_view instance, const Digest* after,
                                          size_t limit) const;

  // Seconds since the epoch as of this process's start, then by the steady clock: a step of the
  // wall clock ages nothing.
  int64_t Now() const;
  int64_t unused_keep_seconds() const { return options_.unused_keep_seconds; }

  // Changes whenever a blob ceased to exist, and every eighth of unused_keep_seconds: what was
  // found complete at the same count is still complete, and is kept.
  uint64_t generation() const;
  const BlobCounts& counts() const { return counts_; }

 private:
  using Key = std::pair<std::string, Digest>;
  absl::StatusOr<std::optional<int64_t>> UsedAt(std::string_view instance,
                                                const Digest& digest) const;
  bool IsBeingRemoved(const Key& key);
  void Remove(const Key& key, Writes writes);
  static void AppendDeletes(std::string_view instance, const Digest& digest, Writes& writes);
  std::string MetaValue() const;

  Store* const store_;
  const BlobStoreOptions options_;
  const int64_t start_wall_seconds_;
  const int64_t start_steady_seconds_;
  std::atomic<uint64_t> removals_{0};
  mutable BlobCounts counts_;

  // Guards the sets below, and that what they say and what is queued in the store agree.
  mutable std::mutex mutex_;
  std::condition_variable removed_;
  std::set<Key> removing_;                // until their deletion is committed
  std::multiset<Key> storing_;            // by PutFile
  mutable std::map<Key, int64_t> noted_;  // uses on their way to the meta row
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_BLOB_STORE_H_

// Content-addressed bytes in the store: rows of 1 MiB chunks, and a meta row that is written last.
#ifndef HELX_SERVER_STORE_BLOB_STORE_H_
#define HELX_SERVER_STORE_BLOB_STORE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/status.h"
#include "server/store/store.h"

namespace helx::server {

inline constexpr int64_t kBlobChunkBytes = 1 << 20;
// The largest blob. Bundles hold models (64 MiB), outputs (16 MiB) and images; nothing is larger.
inline constexpr int64_t kBlobLimitBytes = int64_t{256} << 20;

// Thread-safe.
class BlobStore {
 public:
  explicit BlobStore(Store* store) : store_(store) {}

  // Whether the blob is stored. The empty blob always is.
  absl::StatusOr<bool> Has(std::string_view instance, const Digest& digest) const;

  // Chunk `n` of a stored blob. NOT_FOUND when the blob is not stored, DATA_LOSS when the chunk is
  // gone or has another length.
  absl::StatusOr<std::string> ReadChunk(std::string_view instance, const Digest& digest,
                                        uint32_t n) const;

  // A whole blob, its digest checked: DATA_LOSS on a mismatch. INVALID_ARGUMENT above
  // `limit_bytes`.
  absl::StatusOr<std::string> Read(std::string_view instance, const Digest& digest,
                                   int64_t limit_bytes = 64 << 20) const;

  // Appends the rows that store `content` to `writes`; the blob exists once they are committed.
  // REQUIRES: at most a few MiB.
  static void AppendRows(std::string_view instance, const Digest& digest, std::string_view content,
                         Writes& writes);

  // Stores a file whose digest was checked: chunks at once, then the meta row through the
  // committer.
  void PutFile(std::string_view instance, const Digest& digest, int fd, Store::Done done);

  // Takes a damaged blob out of sight, so that whatever needs it is made again. Called when a read
  // found DATA_LOSS.
  void Discard(std::string_view instance, const Digest& digest);

  // Grows whenever a blob ceases to exist: what was found complete at the same count is still
  // complete.
  uint64_t removals() const { return removals_; }

 private:
  Store* const store_;
  std::atomic<uint64_t> removals_{0};
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_BLOB_STORE_H_

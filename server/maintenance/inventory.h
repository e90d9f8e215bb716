// The blobs of one instance at one time, and which of them are referred to.
#ifndef HELX_SERVER_MAINTENANCE_INVENTORY_H_
#define HELX_SERVER_MAINTENANCE_INVENTORY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "server/scheduler/references.h"
#include "server/store/blob_store.h"

namespace helx::server {

// Calls `found` with each run of exactly 64 lower-case hexadecimal characters.
void ForEachSha256(std::string_view text, const std::function<void(std::string_view)>& found);

// Not thread-safe.
class Inventory {
 public:
  struct Blob {
    std::array<uint8_t, 32> hash;
    bool marked = false;
    int64_t size_bytes = 0;
    int64_t used_seconds = 0;
    Digest digest() const;
  };

  static absl::StatusOr<Inventory> Take(const std::string& instance, const BlobStore* blobs);

  // The blobs that are reached from `references` and are not marked yet (places in blobs()). Texts
  // are read from the store; one that is damaged or gone reaches nothing.
  absl::StatusOr<std::vector<size_t>> Reached(const References& references) const;
  // Marks what was reached from `references`.
  void Mark(const References& references, const std::vector<size_t>& places);
  absl::Status MarkReached(const References& references);
  int64_t SizeOf(const std::vector<size_t>& places) const;

  const std::vector<Blob>& blobs() const { return blobs_; }
  const std::string& instance() const { return instance_; }
  int64_t bytes() const { return bytes_; }
  int64_t marked_bytes() const { return marked_bytes_; }

 private:
  Inventory(std::string instance, const BlobStore* store)
      : instance_(std::move(instance)), store_(store) {}

  std::string instance_;
  const BlobStore* store_;
  std::vector<Blob> blobs_;     // by hash
  std::set<std::string> read_;  // hashes of texts whose reach is marked
  int64_t bytes_ = 0;
  int64_t marked_bytes_ = 0;
};

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_INVENTORY_H_

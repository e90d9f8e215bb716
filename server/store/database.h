// The RocksDB database of a store: its families, and how its words become ours. Internal to
// server/store.
#ifndef HELX_SERVER_STORE_DATABASE_H_
#define HELX_SERVER_STORE_DATABASE_H_

#include <rocksdb/db.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "server/store/store.h"

namespace helx::server {

inline constexpr std::array<const char*, kFamilyCount> kFamilyNames = {
    "default",    "blobs",       "jobs",          "actions",      "leases",        "idempotency",
    "index_live", "index_names", "index_results", "index_latest", "index_bundles", "blob_meta"};
using FamilyHandles = std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount>;

inline rocksdb::Slice SliceOf(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// RESOURCE_EXHAUSTED for a full disk, DATA_LOSS for corruption, NOT_FOUND, otherwise UNAVAILABLE.
absl::Status ToStatus(const rocksdb::Status& status);

// How many blobs each instance has, kept in step with the meta rows: rows of the family `default`
// that are written in the batch that writes the meta rows. Not thread-safe.
class BlobUsageRows {
 public:
  absl::Status Load(rocksdb::DB* db, const FamilyHandles& families);
  // Appends what `batch` changes to it. `puts` are the meta rows that it puts (true) or deletes
  // (false), in order.
  absl::Status Append(rocksdb::DB* db, const FamilyHandles& families,
                      const std::vector<std::pair<std::string, bool>>& puts,
                      rocksdb::WriteBatch& batch);
  // Takes what the last Append wrote for true: the batch is on disk.
  void Committed();
  const std::map<std::string, BlobUsage, std::less<>>& usage() const { return usage_; }

 private:
  std::map<std::string, BlobUsage, std::less<>> usage_;
  std::map<std::string, BlobUsage, std::less<>> pending_;
};

// Before a database is opened for writing: FAILED_PRECONDITION when a newer helxd wrote it. Looks
// at it without changing it.
absl::Status RefuseNewerSchema(const std::string& store_path, const std::string& database_path,
                               rocksdb::Env* env);
// Brings the rows of an open database to kSchemaVersion. What a crash interrupts is taken up by the
// next opening.
absl::Status MigrateSchema(rocksdb::DB* db, const FamilyHandles& families, int64_t now_seconds);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_DATABASE_H_

// The action cache: what an action with this key left behind, as long as all of it is still there.
#ifndef HELX_SERVER_SCHEDULER_RESULT_CACHE_H_
#define HELX_SERVER_SCHEDULER_RESULT_CACHE_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/status.h"
#include "server/scheduler/records.pb.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// Not thread-safe. Remembers the records that it answered with, and that their blobs were complete,
// until a blob is removed or an eighth of the time has passed for which the store keeps what is
// used (BlobStore::generation).
class ResultCache {
 public:
  ResultCache(const Store* store, BlobStore* blobs) : store_(store), blobs_(blobs) {}

  // The record of a finished action whose blobs are all stored; nullptr otherwise (never finished,
  // or something is gone). Before a record is first answered with, and whenever one of its blobs is
  // gone, all of them are read: those that are damaged are discarded.
  std::shared_ptr<const records::ActionRecord> Find(const std::string& instance,
                                                    const std::string& key);

  // The record as stored, whatever its state; a fresh one when there is none.
  absl::StatusOr<records::ActionRecord> Load(const std::string& instance,
                                             const std::string& key) const;

  // Notes a record that is on its way to the store: it is answered with from now on. The ticket
  // goes back to `Settle` once the row is there.
  uint64_t Wrote(const std::string& instance, const records::ActionRecord& record);
  void Settle(const std::string& instance, const std::string& key, uint64_t ticket);
  // The row is being deleted.
  void Forget(const std::string& instance, const std::string& key);

 private:
  bool IsComplete(const std::string& instance, const std::string& row,
                  const records::ActionRecord& record);

  static constexpr size_t kEntries = 4096;
  static constexpr size_t kVerifiedEntries = 65536;
  const Store* const store_;
  BlobStore* const blobs_;
  uint64_t generation_ = 0;
  uint64_t tickets_ = 0;
  std::unordered_map<std::string, std::pair<uint64_t, records::ActionRecord>> unsettled_;
  std::unordered_map<std::string, std::shared_ptr<const records::ActionRecord>> complete_;
  std::unordered_set<std::string> verified_;  // rows whose blobs this process has read
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_RESULT_CACHE_H_

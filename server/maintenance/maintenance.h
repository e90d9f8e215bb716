// The operations on the store: one at a time, on a thread of its own, asked for or when due.
#ifndef HELX_SERVER_MAINTENANCE_MAINTENANCE_H_
#define HELX_SERVER_MAINTENANCE_MAINTENANCE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/status.h"
#include "helx/v1/store.pb.h"
#include "server/maintenance/collector.h"
#include "server/maintenance/operation.h"
#include "server/maintenance/pins.h"
#include "server/scheduler/scheduler.h"
#include "server/store/blob_store.h"
#include "server/store/executor.h"
#include "server/store/store.h"

namespace helx::server {

struct MaintenanceOptions {
  RetentionPolicy retention;
  int64_t collect_interval_seconds = 24 * 3600;  // 0: only when asked for
  int64_t scrub_interval_seconds = int64_t{30} * 24 * 3600;
  int64_t scrub_bytes_per_second = 32 << 20;  // of scrubs that nobody asked for
  int64_t backup_interval_seconds = 0;
  std::string backup_folder;
  int backups = 3;  // generations kept
  std::string quarantine_folder;
  // Told how each operation ended. Called on its thread.
  std::function<void(const v1::StoreOperation&, const absl::Status&)> ended;
};

// Thread-safe.
class Maintenance {
 public:
  // The pointees outlive it.
  Maintenance(const MaintenanceOptions& options, Store* store, BlobStore* blobs,
              Scheduler* scheduler, const Clock* clock);
  ~Maintenance();
  // Stops the operation under way; later ones are refused.
  void Stop();

  Pins& pins() { return pins_; }
  const RetentionPolicy& retention() const { return options_.retention; }
  int64_t unused_keep_seconds() const { return blobs_->unused_keep_seconds(); }

  // ABORTED when an operation is under way.
  absl::StatusOr<std::shared_ptr<Operation>> Check();
  absl::StatusOr<std::shared_ptr<Operation>> Scrub(int64_t bytes_per_second);
  absl::StatusOr<std::shared_ptr<Operation>> Collect(const Collector::Options& options);
  absl::StatusOr<std::shared_ptr<Operation>> Backup();

  // Ends the one under way, in the name of `user`; how far it is. NOT_FOUND when there is none.
  absl::StatusOr<v1::StoreOperation> Cancel(const std::string& user);

  // Starts what is due. To be called now and then.
  void Tick();
  bool busy() const;
  // The last operation of each kind, the one under way included.
  std::vector<v1::StoreOperation> Last() const;

 private:
  using Work = std::function<absl::Status(Operation*)>;
  absl::StatusOr<std::shared_ptr<Operation>> Start(v1::StoreOperationKind kind, Work work);
  void NoteEnd(v1::StoreOperationKind kind);

  const MaintenanceOptions options_;
  Store* const store_;
  BlobStore* const blobs_;
  Scheduler* const scheduler_;
  const Clock* const clock_;
  Pins pins_;

  mutable std::mutex mutex_;
  bool stopped_ = false;
  records::MaintenanceRecord record_;
  std::shared_ptr<Operation> current_;
  std::array<std::shared_ptr<Operation>, v1::StoreOperationKind_ARRAYSIZE> last_;
  Executor executor_{1};  // last: its thread uses everything above
};

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_MAINTENANCE_H_

#include "server/maintenance/maintenance.h"

#include <utility>
#include <vector>

#include "server/maintenance/checker.h"
#include "server/maintenance/scrubber.h"
#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

constexpr char kRecordKey[] = "maintenance";
constexpr int64_t kMicros = 1'000'000;

bool IsDue(int64_t last_us, int64_t interval_seconds, int64_t now_us) {
  return interval_seconds > 0 && now_us - last_us >= interval_seconds * kMicros;
}

}  // namespace

Maintenance::Maintenance(const MaintenanceOptions& options, Store* store, BlobStore* blobs,
                         Scheduler* scheduler, const Clock* clock)
    : options_(options),
      store_(store),
      blobs_(blobs),
      scheduler_(scheduler),
      clock_(clock),
      pins_(store, blobs, clock) {
  const auto row = store_->Get(Family::kDefault, kRecordKey);
  if (row.ok() && record_.ParseFromString(*row)) return;
  // A new store: everything is due an interval from now.
  const int64_t now = clock_->WallMicros();
  record_.set_collect_us(now);
  record_.set_scrub_us(now);
  record_.set_backup_us(now);
  store_->Commit({{Family::kDefault, kRecordKey, record_.SerializeAsString()}}, nullptr);
}

Maintenance::~Maintenance() { Stop(); }

void Maintenance::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  if (current_ != nullptr) current_->Cancel("the server is shutting down");
}

absl::StatusOr<v1::StoreOperation> Maintenance::Cancel(const std::string& user) {
  std::lock_guard lock(mutex_);
  if (current_ == nullptr) return NotFound("no operation on the store is under way");
  current_->Cancel("cancelled by " + user);
  return current_->Look().state;
}

absl::StatusOr<std::shared_ptr<Operation>> Maintenance::Start(v1::StoreOperationKind kind,
                                                              Work work) {
  v1::StoreOperation begin;
  begin.set_kind(kind);
  SetTimestamp(clock_->WallMicros(), begin.mutable_start_time());
  auto operation = std::make_shared<Operation>(begin);
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return absl::UnavailableError("the server is shutting down");
    if (current_ != nullptr) {
      return absl::AbortedError(v1::StoreOperationKind_Name(current_->Look().state.kind()) +
                                " is under way; 'store status' shows how far it is");
    }
    current_ = last_[kind] = operation;
  }
  executor_.Post([this, kind, operation, work = std::move(work)] {
    const absl::Status status = work(operation.get());
    if (status.ok()) NoteEnd(kind);
    {
      std::lock_guard lock(mutex_);
      current_ = nullptr;
    }
    operation->End(status, [this](v1::StoreOperation& state) {
      SetTimestamp(clock_->WallMicros(), state.mutable_end_time());
    });
    if (options_.ended) options_.ended(operation->Look().state, status);
  });
  return operation;
}

void Maintenance::NoteEnd(v1::StoreOperationKind kind) {
  std::lock_guard lock(mutex_);
  const int64_t now = clock_->WallMicros();
  if (kind == v1::STORE_COLLECT) record_.set_collect_us(now);
  if (kind == v1::STORE_SCRUB) record_.set_scrub_us(now);
  if (kind == v1::STORE_BACKUP) record_.set_backup_us(now);
  store_->Commit({{Family::kDefault, kRecordKey, record_.SerializeAsString()}}, nullptr);
}

absl::StatusOr<std::shared_ptr<Operation>> Maintenance::Check() {
  return Start(v1::STORE_CHECK,
               [this](Operation* operation) { return CheckStore(*store_, *blobs_, operation); });
}

absl::StatusOr<std::shared_ptr<Operation>> Maintenance::Scrub(int64_t bytes_per_second) {
  return Start(v1::STORE_SCRUB, [this, bytes_per_second](Operation* operation) {
    return server::Scrub(*store_, blobs_, options_.quarantine_folder, bytes_per_second, operation);
  });
}

absl::StatusOr<std::shared_ptr<Operation>> Maintenance::Collect(const Collector::Options& collect) {
  return Start(v1::STORE_COLLECT, [this, collect](Operation* operation) {
    return Collector(options_.retention, store_, blobs_, scheduler_, &pins_, clock_, operation)
        .Run(collect);
  });
}

absl::StatusOr<std::shared_ptr<Operation>> Maintenance::Backup() {
  return Start(v1::STORE_BACKUP, [this](Operation* operation) -> absl::Status {
    HELX_ASSIGN_OR_RETURN(
        const uint32_t id,
        store_->Backup(options_.backup_folder, options_.backups, operation->cancelled()));
    operation->Update([&](v1::StoreOperation& state) {
      state.set_backup(id);
      state.set_backup_folder(options_.backup_folder);
    });
    return absl::OkStatus();
  });
}

void Maintenance::Tick() {
  records::MaintenanceRecord record;
  {
    std::lock_guard lock(mutex_);
    if (current_ != nullptr) return;
    record = record_;
  }
  const int64_t now = clock_->WallMicros();
  // What fails is tried again after the interval, not at once.
  const auto start = [&](bool due, void (records::MaintenanceRecord::*note)(int64_t),
                         const std::function<absl::Status()>& begin) {
    if (!due || !begin().ok()) return false;
    std::lock_guard lock(mutex_);
    (record_.*note)(now);
    return true;
  };
  if (start(IsDue(record.backup_us(), options_.backup_interval_seconds, now),
            &records::MaintenanceRecord::set_backup_us, [&] { return Backup().status(); })) {
    return;
  }
  if (start(IsDue(record.collect_us(), options_.collect_interval_seconds, now),
            &records::MaintenanceRecord::set_collect_us, [&] { return Collect({}).status(); })) {
    return;
  }
  start(IsDue(record.scrub_us(), options_.scrub_interval_seconds, now),
        &records::MaintenanceRecord::set_scrub_us,
        [&] { return Scrub(options_.scrub_bytes_per_second).status(); });
}

bool Maintenance::busy() const {
  std::lock_guard lock(mutex_);
  return current_ != nullptr;
}

std::vector<v1::StoreOperation> Maintenance::Last() const {
  std::lock_guard lock(mutex_);
  std::vector<v1::StoreOperation> out;
  for (const auto& operation : last_) {
    if (operation != nullptr) out.push_back(operation->Look().state);
  }
  return out;
}

}  // namespace helx::server

#include "server/store/store.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/backup_engine.h>
#include <sys/stat.h>

#include <array>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "server/store/ballast.h"
#include "server/store/database.h"
#include "server/store/fault_point.h"
#include "server/store/log_check.h"

namespace helx::server {
namespace {

// A commit takes what has gathered, up to these bounds.
constexpr size_t kCommitBatches = 2048;
constexpr size_t kCommitBytes = 8 << 20;

// RocksDB's own file logger aborts the process when the disk is full, since its asserts are live in
// the packaged library.
class LogAdapter : public rocksdb::Logger {
 public:
  explicit LogAdapter(std::function<void(int, std::string_view)> sink)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), sink_(std::move(sink)) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
  }
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (!sink_ || level < GetInfoLogLevel()) return;
    char text[1024];
    const int n = std::vsnprintf(text, sizeof(text), format, arguments);
    if (n < 0) return;
    sink_(level, std::string_view(text, std::min<size_t>(n, sizeof(text) - 1)));
  }

 private:
  const std::function<void(int, std::string_view)> sink_;
};

rocksdb::ColumnFamilyOptions FamilyOptions(Family family,
                                           const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 8 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (family == Family::kBlobs) {
    options.write_buffer_size = 16 << 20;
    options.max_write_buffer_number = 4;
    options.enable_blob_files = true;
    options.min_blob_size = 4096;
    options.enable_blob_garbage_collection = true;
  }
  return options;
}

}  // namespace

struct Store::Impl {
  explicit Impl(const StoreOptions& store_options)
      : options(store_options),
        ballast(store_options.path + "/ballast", store_options.ballast_bytes),
        cache(rocksdb::NewLRUCache(static_cast<size_t>(store_options.block_cache_bytes))),
        logger(std::make_shared<LogAdapter>(store_options.log)) {}

  // Before `cache` and `logger` go: RocksDB uses both to its end.
  ~Impl() { CloseDatabase(); }

  struct Batch {
    Writes writes;
    Done done;
  };

  absl::Status OpenDatabase();
  void CloseDatabase();
  absl::Status Write(const std::deque<Batch>& batches, bool sync);
  void RunCommitter();
  void Recover(std::deque<Batch>& batches, absl::Status status);
  void SetHealth(absl::Status status);
  void PublishUsage();

  const StoreOptions options;
  Ballast ballast;
  const std::shared_ptr<rocksdb::Cache> cache;
  const std::shared_ptr<rocksdb::Logger> logger;

  mutable std::shared_mutex
      database_mutex;  // exclusive while the database is closed and opened again
  std::unique_ptr<rocksdb::DB> db;
  FamilyHandles families{};
  // Used by whoever writes synced, which is one thread at a time; `usage` is for the others.
  BlobUsageRows usage_rows;
  mutable std::mutex usage_mutex;
  std::map<std::string, BlobUsage, std::less<>> usage;

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<Batch> queue;
  bool stopping = false;
  absl::Status health_status;
  std::thread committer;

  rocksdb::ColumnFamilyHandle* Handle(Family family) const {
    return families[static_cast<int>(family)];
  }
};

absl::Status Store::Impl::OpenDatabase() {
  rocksdb::DBOptions db_options;
  db_options.create_if_missing = true;
  db_options.create_missing_column_families = true;
  db_options.info_log = logger;
  db_options.max_background_jobs = 2;
  db_options.max_open_files = 256;
  // The log is what has to be replayed when a full disk makes a reopening necessary; the ballast
  // must exceed it.
  db_options.db_write_buffer_size = 32 << 20;
  db_options.max_total_wal_size = 32 << 20;
  db_options.avoid_flush_during_recovery = true;
  db_options.recycle_log_file_num = 0;
  // Up to the record that a crash cut off; CheckLogs has seen that it is the last.
  db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  if (options.env != nullptr) db_options.env = options.env;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (int i = 0; i < kFamilyCount; ++i) {
    descriptors.emplace_back(kFamilyNames[i], FamilyOptions(static_cast<Family>(i), cache));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const std::string path = options.path + "/db";
  HELX_RETURN_IF_ERROR(RefuseNewerSchema(options.path, path, options.env));
  // RocksDB complains of a folder that is not there before it makes one.
  mkdir(path.c_str(), 0700);
  if (!options.drop_damaged_log) HELX_RETURN_IF_ERROR(CheckLogs(path));
  const rocksdb::Status status =
      rocksdb::DB::Open(db_options, path, descriptors, &handles, &opened);
  if (!status.ok()) return ToStatus(status);
  db.reset(opened);
  std::copy(handles.begin(), handles.end(), families.begin());
  HELX_RETURN_IF_ERROR(MigrateSchema(db.get(), families, time(nullptr)));
  FaultPoint("store.opened");
  HELX_RETURN_IF_ERROR(usage_rows.Load(db.get(), families));
  PublishUsage();
  return absl::OkStatus();
}

void Store::Impl::PublishUsage() {
  std::lock_guard lock(usage_mutex);
  usage = usage_rows.usage();
}

void Store::Impl::CloseDatabase() {
  if (db == nullptr) return;
  for (auto*& handle : families) {
    db->DestroyColumnFamilyHandle(handle);
    handle = nullptr;
  }
  db->Close();
  db.reset();
}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const StoreOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  // Reopening a full disk needs the space that the ballast holds.
  absl::Status opened = impl->OpenDatabase();
  if (absl::IsResourceExhausted(opened)) {
    impl->ballast.Release();
    impl->CloseDatabase();
    opened = impl->OpenDatabase();
  }
  HELX_RETURN_IF_ERROR(opened);
  impl->health_status = impl->ballast.Take();
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->committer = std::thread([this] { impl_->RunCommitter(); });
}

Store::~Store() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->committer.join();
}

absl::StatusOr<std::string> Store::Get(Family family, std::string_view key) const {
  std::shared_lock lock(impl_->database_mutex);
  if (impl_->db == nullptr) return absl::UnavailableError("the store is being reopened");
  std::string value;
  const rocksdb::Status status = impl_->db->Get({}, impl_->Handle(family), SliceOf(key), &value);
  if (!status.ok()) return ToStatus(status);
  return value;
}

absl::StatusOr<bool> Store::Has(Family family, std::string_view key) const {
  std::shared_lock lock(impl_->database_mutex);
  if (impl_->db == nullptr) return absl::UnavailableError("the store is being reopened");
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = impl_->db->Get({}, impl_->Handle(family), SliceOf(key), &value);
  if (status.IsNotFound()) return false;
  if (!status.ok()) return ToStatus(status);
  return true;
}

absl::Status Store::Scan(
    Family family, const ScanRange& range,
    const std::function<bool(std::string_view, std::string_view)>& visit) const {
  std::shared_lock lock(impl_->database_mutex);
  if (impl_->db == nullptr) return absl::UnavailableError("the store is being reopened");
  std::unique_ptr<rocksdb::Iterator> it(impl_->db->NewIterator({}, impl_->Handle(family)));
  if (!range.descending) {
    it->Seek(SliceOf(range.start.empty() ? range.prefix : range.start));
  } else if (!range.start.empty()) {
    it->SeekForPrev(range.start);
    if (it->Valid() && it->key() == range.start) it->Prev();
  } else {
    // No key of a prefix passes prefix + ff...: instance names and ids are ASCII.
    it->SeekForPrev(range.prefix + std::string(40, '\xff'));
  }
  for (; it->Valid() && it->key().starts_with(range.prefix);
       range.descending ? it->Prev() : it->Next()) {
    if (!visit(ViewOf(it->key()), ViewOf(it->value()))) break;
  }
  return ToStatus(it->status());
}

void Store::Commit(Writes writes, Done done) {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->queue.push_back({std::move(writes), std::move(done)});
  }
  impl_->wake.notify_one();
}

absl::Status Store::CommitAndWait(Writes writes) {
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<absl::Status> result;
  Commit(std::move(writes), [&](const absl::Status& status) {
    std::lock_guard lock(mutex);
    result = status;
    wake.notify_one();
  });
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return result.has_value(); });
  return *result;
}

absl::Status Store::WriteUnsynced(const Writes& writes) {
  std::deque<Impl::Batch> batches;
  batches.push_back({writes, nullptr});
  std::shared_lock lock(impl_->database_mutex);
  return impl_->Write(batches, false);
}

std::map<std::string, BlobUsage, std::less<>> Store::Usage() const {
  std::lock_guard lock(impl_->usage_mutex);
  return impl_->usage;
}

BlobUsage Store::UsageOf(std::string_view instance) const {
  std::lock_guard lock(impl_->usage_mutex);
  const auto found = impl_->usage.find(instance);
  return found == impl_->usage.end() ? BlobUsage() : found->second;
}

absl::Status Store::Reclaim(bool all, std::atomic<bool>* cancelled) {
  std::shared_lock lock(impl_->database_mutex);
  if (impl_->db == nullptr) return absl::UnavailableError("the store is being reopened");
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.canceled = cancelled;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  if (all) {
    options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
    options.blob_garbage_collection_age_cutoff = 1.0;
  }
  const rocksdb::Status status =
      impl_->db->CompactRange(options, impl_->Handle(Family::kBlobs), nullptr, nullptr);
  return *cancelled ? absl::CancelledError("the server is shutting down") : ToStatus(status);
}

absl::StatusOr<uint32_t> Store::Backup(const std::string& folder, int keep,
                                       std::atomic<bool>* cancelled) {
  std::shared_lock lock(impl_->database_mutex);
  if (impl_->db == nullptr) return absl::UnavailableError("the store is being reopened");
  rocksdb::BackupEngineOptions options(folder);
  options.info_log = impl_->logger.get();
  rocksdb::BackupEngine* opened = nullptr;
  HELX_RETURN_IF_ERROR(
      ToStatus(rocksdb::BackupEngine::Open(rocksdb::Env::Default(), options, &opened)));
  const std::unique_ptr<rocksdb::BackupEngine> engine(opened);
  rocksdb::CreateBackupOptions create;
  create.flush_before_backup = true;
  create.progress_callback = [&] {
    if (*cancelled) engine->StopBackup();
  };
  rocksdb::BackupID id = 0;
  const rocksdb::Status made = engine->CreateNewBackup(create, impl_->db.get(), &id);
  if (*cancelled) return absl::CancelledError("the server is shutting down");
  HELX_RETURN_IF_ERROR(ToStatus(made));
  FaultPoint("backup.written");
  HELX_RETURN_IF_ERROR(ToStatus(engine->PurgeOldBackups(static_cast<uint32_t>(keep))));
  return id;
}

absl::Status Store::health() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->health_status;
}

const std::string& Store::path() const { return impl_->options.path; }

// REQUIRES: database_mutex is held, shared or not.
absl::Status Store::Impl::Write(const std::deque<Batch>& batches, bool sync) {
  if (db == nullptr) return absl::UnavailableError("the store is being reopened");
  rocksdb::WriteBatch merged;
  std::vector<std::pair<std::string, bool>> metas;
  for (const Batch& batch : batches) {
    for (const RowWrite& row : batch.writes) {
      if (row.family == Family::kBlobMeta) metas.emplace_back(row.key, row.value.has_value());
      const rocksdb::Status status = row.value.has_value()
                                         ? merged.Put(Handle(row.family), row.key, *row.value)
                                         : merged.Delete(Handle(row.family), row.key);
      if (!status.ok()) return ToStatus(status);
    }
  }
  if (merged.Count() == 0) return absl::OkStatus();
  if (!metas.empty()) HELX_RETURN_IF_ERROR(usage_rows.Append(db.get(), families, metas, merged));
  rocksdb::WriteOptions write_options;
  write_options.sync = sync;
  HELX_RETURN_IF_ERROR(ToStatus(db->Write(write_options, &merged)));
  if (!metas.empty()) {
    usage_rows.Committed();
    PublishUsage();
  }
  return absl::OkStatus();
}

void Store::Impl::SetHealth(absl::Status status) {
  std::lock_guard lock(mutex);
  health_status = std::move(status);
}

void Store::Impl::RunCommitter() {
  while (true) {
    std::deque<Batch> batches;
    {
      std::unique_lock lock(mutex);
      const bool woken =
          wake.wait_for(lock, std::chrono::seconds(5), [&] { return stopping || !queue.empty(); });
      if (stopping && queue.empty()) return;
      size_t bytes = 0;
      while (!queue.empty() && batches.size() < kCommitBatches && bytes < kCommitBytes) {
        for (const RowWrite& row : queue.front().writes) {
          bytes += row.key.size() + (row.value ? row.value->size() : 0);
        }
        batches.push_back(std::move(queue.front()));
        queue.pop_front();
      }
      if (!woken && health_status.ok()) continue;
    }
    if (batches.empty()) {
      // Idle and unhealthy: see whether space has come back.
      SetHealth(ballast.Take());
      continue;
    }
    absl::Status status;
    FaultPoint("store.before_commit");
    {
      std::shared_lock lock(database_mutex);
      status = Write(batches, true);
    }
    if (!status.ok()) Recover(batches, status);
    FaultPoint("store.committed");
    for (const Batch& batch : batches) {
      if (batch.done) batch.done(absl::OkStatus());
    }
    FaultPoint("store.answered");
  }
}

// Reopens and repeats until the batches are on disk, or the store is being closed.
void Store::Impl::Recover(std::deque<Batch>& batches, absl::Status status) {
  if (logger && options.log) options.log(3, "commit failed: " + MessageOf(status));
  while (true) {
    SetHealth(status);
    for (Batch& batch : batches) {
      if (batch.done) batch.done(status);
      batch.done = nullptr;
    }
    if (absl::IsResourceExhausted(status)) ballast.Release();
    {
      // After a failed sync of its log RocksDB refuses every later write until it is opened again.
      std::unique_lock lock(database_mutex);
      CloseDatabase();
      status = OpenDatabase();
      if (status.ok()) status = Write(batches, true);
    }
    if (status.ok()) break;
    std::unique_lock lock(mutex);
    // Whoever queues meanwhile learns the state at once and joins the batches that are kept.
    for (Batch& batch : queue) batches.push_back(std::move(batch));
    queue.clear();
    wake.wait_for(lock, std::chrono::milliseconds(options.reopen_interval_ms),
                  [&] { return stopping; });
    if (stopping) return;
  }
  SetHealth(ballast.Take());
  if (options.log) options.log(2, "the store is writable again");
}

}  // namespace helx::server

#include "server/store/backup.h"

#include <rocksdb/utilities/backup_engine.h>
#include <sys/stat.h>

#include <memory>

#include "server/store/database.h"

namespace helx::server {
namespace {

absl::StatusOr<std::unique_ptr<rocksdb::BackupEngineReadOnly>> OpenBackups(
    const std::string& folder) {
  struct stat info {};
  if (stat((folder + "/meta").c_str(), &info) != 0) {
    return NotFound("there is no backup in " + folder);
  }
  rocksdb::BackupEngineReadOnly* engine = nullptr;
  const rocksdb::Status status = rocksdb::BackupEngineReadOnly::Open(
      rocksdb::Env::Default(), rocksdb::BackupEngineOptions(folder), &engine);
  if (!status.ok()) return ToStatus(status);
  return std::unique_ptr<rocksdb::BackupEngineReadOnly>(engine);
}

BackupInfo InfoOf(const rocksdb::BackupInfo& info) {
  return {info.backup_id, info.timestamp, static_cast<int64_t>(info.size)};
}

}  // namespace

absl::StatusOr<std::vector<BackupInfo>> ListBackups(const std::string& folder) {
  HELX_ASSIGN_OR_RETURN(const auto engine, OpenBackups(folder));
  std::vector<rocksdb::BackupInfo> found;
  engine->GetBackupInfo(&found);
  std::vector<BackupInfo> out;
  for (const rocksdb::BackupInfo& info : found) out.push_back(InfoOf(info));
  return out;
}

absl::StatusOr<BackupInfo> RestoreBackup(const std::string& folder, uint32_t id,
                                         const std::string& store_path) {
  HELX_ASSIGN_OR_RETURN(const std::vector<BackupInfo> backups, ListBackups(folder));
  if (backups.empty()) return NotFound("there is no whole backup in " + folder);
  BackupInfo chosen = backups.back();
  if (id != 0) {
    std::string known;
    bool found = false;
    for (const BackupInfo& backup : backups) {
      known += (known.empty() ? "" : ", ") + std::to_string(backup.id);
      if (backup.id != id) continue;
      chosen = backup;
      found = true;
    }
    if (!found) {
      return NotFound("there is no backup " + std::to_string(id) + " in " + folder +
                      "; there are " + known);
    }
  }
  const std::string database = store_path + "/db";
  struct stat info {};
  if (stat(database.c_str(), &info) == 0) {
    return FailedPrecondition("there is a store in " + store_path +
                              " already; restore into another --data-dir, or move it away");
  }
  HELX_ASSIGN_OR_RETURN(const auto engine, OpenBackups(folder));
  HELX_RETURN_IF_ERROR(ToStatus(engine->VerifyBackup(chosen.id, true)));
  HELX_RETURN_IF_ERROR(ToStatus(engine->RestoreDBFromBackup(chosen.id, database, database)));
  return chosen;
}

}  // namespace helx::server

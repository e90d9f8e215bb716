// Backups of a store in a folder: several generations that share what they have in common.
#ifndef HELX_SERVER_STORE_BACKUP_H_
#define HELX_SERVER_STORE_BACKUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace helx::server {

struct BackupInfo {
  uint32_t id = 0;
  int64_t time_seconds = 0;  // since the epoch
  int64_t bytes = 0;         // of the generation, shared files included
};

// The backups in `folder`, oldest first. NOT_FOUND when it holds none.
absl::StatusOr<std::vector<BackupInfo>> ListBackups(const std::string& folder);

// Writes backup `id` (0: the latest) of `folder` into the store folder `store_path`, whose files
// are checked against the checksums that the backup recorded. FAILED_PRECONDITION when a store is
// there already, NOT_FOUND without such a backup, DATA_LOSS when it is damaged.
absl::StatusOr<BackupInfo> RestoreBackup(const std::string& folder, uint32_t id,
                                         const std::string& store_path);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_BACKUP_H_

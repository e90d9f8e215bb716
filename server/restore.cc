#include "server/restore.h"

#include "server/maintenance/checker.h"
#include "server/maintenance/scrubber.h"
#include "server/store/backup.h"
#include "server/store/blob_store.h"
#include "server/store/data_folder.h"
#include "server/store/store.h"

namespace helx::server {

absl::StatusOr<std::string> RestoreAndVerify(const std::string& backup_folder, uint32_t id,
                                             const std::string& data_folder) {
  HELX_ASSIGN_OR_RETURN(const auto folder, DataFolder::Open(data_folder));
  HELX_ASSIGN_OR_RETURN(const BackupInfo backup, RestoreBackup(backup_folder, id, folder->path()));
  StoreOptions options;
  options.path = folder->path();
  HELX_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(options));
  BlobStore blobs(store.get());
  HELX_RETURN_IF_ERROR(blobs.Recover());
  Operation operation{v1::StoreOperation()};
  HELX_RETURN_IF_ERROR(CheckStore(*store, blobs, &operation));
  const v1::StoreOperation checked = operation.Look().state;
  HELX_RETURN_IF_ERROR(Scrub(*store, &blobs, folder->path() + "/quarantine", 0, &operation));
  const v1::StoreOperation scrubbed = operation.Look().state;
  if (scrubbed.problem_count() > 0) {
    return DataLoss("backup " + std::to_string(backup.id) + " was restored, but " +
                    std::to_string(scrubbed.problem_count()) +
                    " problems were found, the first: " + scrubbed.problems(0));
  }
  return "restored backup " + std::to_string(backup.id) + " into " + folder->path() + ": " +
         std::to_string(checked.jobs()) + " jobs, " + std::to_string(checked.blobs()) +
         " blobs of " + std::to_string(checked.bytes()) + " bytes, all verified";
}

}  // namespace helx::server

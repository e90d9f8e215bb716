// A store from a backup.
#ifndef HELX_SERVER_RESTORE_H_
#define HELX_SERVER_RESTORE_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace helx::server {

// Writes backup `id` (0: the latest) of `backup_folder` into `data_folder`, which must hold no
// store, then reads all of it: rows, references, every blob's digest. Answers one line on what was
// restored; DATA_LOSS naming the first problem when the store is not whole (it stays there, for
// whoever wants what is left).
absl::StatusOr<std::string> RestoreAndVerify(const std::string& backup_folder, uint32_t id,
                                             const std::string& data_folder);

}  // namespace helx::server

#endif  // HELX_SERVER_RESTORE_H_

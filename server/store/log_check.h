// What RocksDB's replay of a log would pass over in silence. Internal to server/store.
#ifndef HELX_SERVER_STORE_LOG_CHECK_H_
#define HELX_SERVER_STORE_LOG_CHECK_H_

#include <string>

#include "core/base/status.h"

namespace helx::server {

// Reads the logs of a closed database. RocksDB's replay ends at the first record that is not whole,
// as if a crash had cut the log off there. That is right when nothing but the rest of an unfinished
// write follows (half a record, noise, zeros); records that follow were acknowledged. DATA_LOSS
// "store_log_damaged" names the file, the place and what to do. A damaged last record cannot be
// told from an unfinished one.
absl::Status CheckLogs(const std::string& database_path);

// The same of one log's content; `name` is for the message.
absl::Status CheckLog(const std::string& name, const std::string& content);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_LOG_CHECK_H_

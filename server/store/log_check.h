// What RocksDB's replay of a log would pass over in silence. Internal to server/store.
#ifndef HELX_SERVER_STORE_LOG_CHECK_H_
#define HELX_SERVER_STORE_LOG_CHECK_H_

#include <string>

#include "core/base/status.h"

namespace helx::server {

// Reads the logs of a closed database. RocksDB's replay refuses a record whose checksum is wrong,
// and takes two kinds of damage for the place where a crash cut the log off, though records follow:
//   a header of zeros, as in space that was preallocated, with something after it;
//   a length that reaches beyond the end of the file, where the checksum fits fewer bytes.
// DATA_LOSS names the file and the position of such a place.
absl::Status CheckLogs(const std::string& database_path);

// The same of one log's content; `name` is for the message.
absl::Status CheckLog(const std::string& name, const std::string& content);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_LOG_CHECK_H_

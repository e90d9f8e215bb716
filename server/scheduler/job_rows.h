// The rows of jobs in the store, for everybody who reads them.
#ifndef HELX_SERVER_SCHEDULER_JOB_ROWS_H_
#define HELX_SERVER_SCHEDULER_JOB_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "server/scheduler/records.pb.h"
#include "server/store/store.h"

namespace helx::server {

// The longest manifest of a bundle.
inline constexpr int64_t kManifestBytes = 3 << 20;

// DATA_LOSS for a row that is none.
absl::StatusOr<records::JobRecord> ParseJob(const std::string& id, std::string_view row);

// NOT_FOUND when there is no such job; DATA_LOSS when its row is damaged.
absl::StatusOr<records::JobRecord> LoadJob(const Store& store, std::string_view instance,
                                           const std::string& id);

// What the newest result is looked up by: "{experiment}", or "{experiment}/{run}".
std::string ResultName(const v1::Job& job);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_JOB_ROWS_H_

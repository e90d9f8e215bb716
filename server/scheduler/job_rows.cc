#include "server/scheduler/job_rows.h"

#include "server/store/keys.h"

namespace helx::server {

absl::StatusOr<records::JobRecord> ParseJob(const std::string& id, std::string_view row) {
  records::JobRecord record;
  if (!record.ParseFromArray(row.data(), static_cast<int>(row.size()))) {
    return DataLoss("the row of job " + id + " is damaged");
  }
  return record;
}

absl::StatusOr<records::JobRecord> LoadJob(const Store& store, std::string_view instance,
                                           const std::string& id) {
  const auto row = store.Get(Family::kJobs, JobKey(instance, id));
  if (absl::IsNotFound(row.status())) return NotFound("there is no jobs/" + id);
  HELX_RETURN_IF_ERROR(row.status());
  return ParseJob(id, *row);
}

std::string ResultName(const v1::Job& job) {
  return job.run().empty() ? job.experiment() : job.experiment() + "/" + job.run();
}

}  // namespace helx::server

// What a job's attempts print, piece by piece: from memory while they run, from the store after.
#ifndef HELX_SERVER_SCHEDULER_LOG_READER_H_
#define HELX_SERVER_SCHEDULER_LOG_READER_H_

#include <optional>
#include <string>

#include "core/base/status.h"
#include "helx/v1/jobs.pb.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// One reader's view; keeps the log of the ended attempt in hand. Not thread-safe.
class LogReader {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;

  LogReader(Scheduler* scheduler, const JobReader* reader, BlobStore* blobs)
      : scheduler_(scheduler), reader_(reader), blobs_(blobs) {}

  // The first piece at or after `at`; nullopt when there is none now, and then `*ended` tells whether
  // there never will be. NOT_FOUND without such a job, OUT_OF_RANGE for a place that it cannot have,
  // DATA_LOSS when a log is gone.
  absl::StatusOr<std::optional<v1::LogPiece>> Next(const Caller& caller, const std::string& id,
                                                   v1::LogPosition at, bool* ended);

 private:
  // Of an attempt that ended; nullopt at its end.
  absl::StatusOr<std::optional<v1::LogPiece>> FromStore(const std::string& instance,
                                                        const v1::AttemptLog& log, int64_t offset);

  Scheduler* const scheduler_;
  const JobReader* const reader_;
  BlobStore* const blobs_;
  std::string text_digest_;  // of text_
  std::string text_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_LOG_READER_H_

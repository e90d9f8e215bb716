#include "server/scheduler/log_reader.h"

#include <algorithm>
#include <utility>

#include "server/scheduler/log_buffer.h"
#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

v1::LogPiece PieceOf(std::string data, int64_t asked, int64_t start) {
  v1::LogPiece piece;
  piece.mutable_at()->set_offset(start);
  piece.mutable_next()->set_offset(start + static_cast<int64_t>(data.size()));
  piece.set_dropped(start - asked);
  piece.set_data(std::move(data));
  return piece;
}

}  // namespace

absl::StatusOr<std::optional<v1::LogPiece>> LogReader::Next(const Caller& caller,
                                                            const std::string& id,
                                                            v1::LogPosition at, bool* ended) {
  *ended = false;
  if (at.attempt() < 0 || at.offset() < 0) {
    return absl::OutOfRangeError("a place in a log is not negative");
  }
  HELX_ASSIGN_OR_RETURN(const v1::Job job, reader_->Get(caller, id));
  while (at.attempt() < job.attempts_size()) {
    const v1::Attempt& attempt = job.attempts(at.attempt());
    std::optional<v1::LogPiece> piece;
    if (attempt.has_end_time()) {
      HELX_ASSIGN_OR_RETURN(piece, FromStore(caller.instance, attempt.log(), at.offset()));
    } else {
      int64_t start = 0;
      std::string data = scheduler_->ReadLiveLog(caller, id, attempt.kind(), attempt.number(),
                                                 at.offset(), kPieceBytes, &start);
      // Nothing yet, or its end is on its way to the store.
      if (data.empty()) return std::optional<v1::LogPiece>();
      piece = PieceOf(std::move(data), at.offset(), start);
    }
    if (piece.has_value()) {
      piece->mutable_at()->set_attempt(at.attempt());
      piece->mutable_next()->set_attempt(at.attempt());
      piece->set_kind(attempt.kind());
      piece->set_number(attempt.number());
      return piece;
    }
    at.set_attempt(at.attempt() + 1);
    at.set_offset(0);
  }
  *ended = job.finished();
  return std::optional<v1::LogPiece>();
}

absl::StatusOr<std::optional<v1::LogPiece>> LogReader::FromStore(const std::string& instance,
                                                                 const v1::AttemptLog& log,
                                                                 int64_t offset) {
  if (offset >= log.bytes()) return std::optional<v1::LogPiece>();
  if (text_digest_ != log.text().hash()) {
    auto text = blobs_->Read(instance, FromProto(log.text()));
    if (absl::IsNotFound(text.status())) {
      return DataLoss("the log of an attempt is gone from the store");
    }
    HELX_ASSIGN_OR_RETURN(text_, std::move(text));
    text_digest_ = log.text().hash();
  }
  const int64_t resumes_at = log.dropped_at() + log.dropped();
  if (log.dropped() == 0 || offset < log.dropped_at()) {
    const int64_t end = log.dropped() == 0 ? log.bytes() : log.dropped_at();
    const auto size = std::min(static_cast<size_t>(end - offset), kPieceBytes);
    return PieceOf(text_.substr(std::min(static_cast<size_t>(offset), text_.size()), size), offset,
                   offset);
  }
  const int64_t start = std::max(offset, resumes_at);
  const auto place = static_cast<size_t>(log.dropped_at() + start - resumes_at) +
                     LogBuffer::Marker(log.dropped()).size();
  return PieceOf(text_.substr(std::min(place, text_.size()), kPieceBytes), offset, start);
}

}  // namespace helx::server

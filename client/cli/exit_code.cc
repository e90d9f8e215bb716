#include "client/cli/exit_code.h"

#include <algorithm>
#include <array>

#include "client/cpp/errors.h"

namespace helx::cli {

ExitCode ExitCodeOf(const helx::v1::Job& job) {
  switch (job.phase()) {
    case helx::v1::SUCCEEDED:
      return job.assessment() == helx::v1::MISMATCH ? kMismatch : kOk;
    case helx::v1::FAILED:
      if (job.failure().fault() != helx::v1::USER) return kFailed;
      return job.has_frozen_request() ? kMismatch : kUsage;
    case helx::v1::CANCELLED:
      return kCancelled;
    case helx::v1::TIMED_OUT:
    case helx::v1::ABANDONED:
      return kTimedOut;
    default:
      return kOk;
  }
}

ExitCode ExitCodeOf(const std::vector<helx::v1::Job>& jobs) {
  constexpr std::array kByGravity = {kOk,       kMismatch,    kUsage, kCancelled,
                                     kTimedOut, kMissingData, kFailed};
  const auto gravity = [&](ExitCode code) {
    return std::find(kByGravity.begin(), kByGravity.end(), code) - kByGravity.begin();
  };
  ExitCode worst = kOk;
  for (const auto& job : jobs) {
    const ExitCode code = ExitCodeOf(job);
    if (gravity(code) > gravity(worst)) worst = code;
  }
  return worst;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (client::IsUnreachable(status)) return kUnreachable;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return kUsage;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return kMissingData;
    case absl::StatusCode::kCancelled:
      return client::IsFromServer(status) ? kFailed : kInterrupted;
    default:
      return kFailed;
  }
}

}  // namespace helx::cli

// Jobs as helxctl prints them: docs/cli.md lists the JSON fields.
#ifndef HELX_CLIENT_CLI_JOB_VIEW_H_
#define HELX_CLIENT_CLI_JOB_VIEW_H_

#include <ostream>
#include <string>

#include "core/base/json.h"
#include "helx/v1/capabilities.pb.h"
#include "helx/v1/jobs.pb.h"

namespace helx::cli {

// "QUEUED", ..., "RUNNING", ..., "ABANDONED".
std::string PhaseName(helx::v1::JobPhase phase);
// "match", "mismatch", "not_compared"; empty when unknown.
std::string AssessmentName(helx::v1::Assessment assessment);
// "USER", "INFRA", "DEVICE", "BUG"; empty when unspecified.
std::string FaultName(helx::v1::Fault fault);
// "{hash}/{size}"; empty when unset.
std::string DigestText(const helx::v1::Digest& digest);
// RFC 3339 in UTC, to the millisecond; empty when unset.
std::string TimeText(const google::protobuf::Timestamp& time);

// "kws-m55" or "kws-m55/m4": the experiment with its run.
std::string ExperimentName(const helx::v1::Job& job);
// The same with the model's stem, for progress lines.
std::string JobLabel(const helx::v1::Job& job);

// "QUEUED (workers_busy, position 3)".
std::string PhaseText(const helx::v1::Job& job);

// "freeze", "build", "run".
std::string ActionName(helx::v1::ActionKind kind);

Json JobToJson(const helx::v1::Job& job);
Json FailureToJson(const helx::v1::Failure& failure);

// Several lines: the failure's message, then each violation on its own line with its subject.
std::string FailureText(const helx::v1::Failure& failure);
// "job jobs/x (kws) was refused: ..."; REQUIRES: the job ended in something else than SUCCEEDED.
std::string EndingText(const helx::v1::Job& job);

void PrintJob(const helx::v1::Job& job, std::ostream& out);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_JOB_VIEW_H_

#include "client/cli/job_view.h"

#include <ctime>

#include "client/cli/exit_code.h"
#include "client/cli/text.h"

namespace helx::cli {
namespace {

using helx::v1::Attempt;
using helx::v1::Failure;
using helx::v1::Job;

// A string for JSON, null when empty.
Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(Utf8(text)); }

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// "run_build" from "JOB_KIND_RUN_BUILD".
std::string KindName(helx::v1::JobKind kind) {
  if (kind == helx::v1::JOB_KIND_UNSPECIFIED) return "run";
  return LowerCase(helx::v1::JobKind_Name(kind).substr(sizeof("JOB_KIND_") - 1));
}

Json AttemptLogToJson(const helx::v1::AttemptLog& log) {
  return {{"text", TextOrNull(DigestText(log.text()))},
          {"bytes", log.bytes()},
          {"dropped", log.dropped()}};
}

Json AttemptToJson(const Attempt& attempt) {
  return {{"kind", ActionName(attempt.kind())},
          {"number", attempt.number()},
          {"worker", Utf8(attempt.worker())},
          {"start_time", TextOrNull(TimeText(attempt.start_time()))},
          {"end_time", TextOrNull(TimeText(attempt.end_time()))},
          {"failure", attempt.has_failure() ? FailureToJson(attempt.failure()) : Json()},
          {"log", attempt.has_log() ? AttemptLogToJson(attempt.log()) : Json()},
          {"lost", attempt.lost()}};
}

// `text` with " [code]", unless it names the code already.
std::string WithCode(const std::string& text, const std::string& code) {
  if (code.empty() || text.find(code) != std::string::npos) return text;
  return text + " [" + Printable(code) + "]";
}

std::string AttemptOutcome(const Attempt& attempt) {
  if (attempt.lost()) return "lost with its worker";
  if (attempt.has_failure()) {
    return "failed: " + FaultName(attempt.failure().fault()) + " " +
           Printable(attempt.failure().code());
  }
  return attempt.has_end_time() ? "done" : "running";
}

}  // namespace

std::string ActionName(helx::v1::ActionKind kind) {
  return LowerCase(helx::v1::ActionKind_Name(kind).substr(sizeof("ACTION_KIND_") - 1));
}

std::string PhaseName(helx::v1::JobPhase phase) { return helx::v1::JobPhase_Name(phase); }

std::string AssessmentName(helx::v1::Assessment assessment) {
  switch (assessment) {
    case helx::v1::MATCH:
      return "match";
    case helx::v1::MISMATCH:
      return "mismatch";
    case helx::v1::NOT_COMPARED:
      return "not_compared";
    default:
      return "";
  }
}

std::string FaultName(helx::v1::Fault fault) {
  return fault == helx::v1::FAULT_UNSPECIFIED ? "" : helx::v1::Fault_Name(fault);
}

std::string DigestText(const helx::v1::Digest& digest) {
  return digest.hash().empty() ? "" : digest.hash() + "/" + std::to_string(digest.size_bytes());
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  const std::time_t seconds = static_cast<std::time_t>(time.seconds());
  std::tm utc{};
  char date[32];
  char text[48];
  if (gmtime_r(&seconds, &utc) == nullptr) return "";
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%03dZ", date, time.nanos() / 1'000'000);
  return text;
}

std::string ExperimentName(const Job& job) {
  return Printable(job.run().empty() ? job.experiment() : job.experiment() + "/" + job.run());
}

std::string JobLabel(const Job& job) {
  return ExperimentName(job) +
         (job.model_stem().empty() ? "" : " (" + Printable(job.model_stem()) + ")");
}

std::string PhaseText(const Job& job) {
  std::string text = PhaseName(job.phase());
  if (job.phase() != helx::v1::QUEUED) return text;
  std::string detail = Printable(job.queue_reason());
  if (job.queue_position() > 0) {
    detail += (detail.empty() ? "position " : ", position ") + std::to_string(job.queue_position());
  }
  return detail.empty() ? text : text + " (" + detail + ")";
}

Json FailureToJson(const Failure& failure) {
  Json violations = Json::array();
  for (const auto& violation : failure.violations()) {
    violations.push_back({{"code", Utf8(violation.code())},
                          {"subject", Utf8(violation.subject())},
                          {"message", Utf8(violation.message())}});
  }
  return {{"fault", TextOrNull(FaultName(failure.fault()))},
          {"code", Utf8(failure.code())},
          {"message", Utf8(failure.message())},
          {"details", TextOrNull(DigestText(failure.details()))},
          {"violations", std::move(violations)}};
}

Json JobToJson(const Job& job) {
  Json attempts = Json::array();
  for (const auto& attempt : job.attempts()) attempts.push_back(AttemptToJson(attempt));
  Json issues = Json::array();
  for (const auto& issue : job.issues()) issues.push_back(Utf8(issue));
  const bool queued = job.phase() == helx::v1::QUEUED;
  return {{"job", job.name()},
          {"experiment", Utf8(job.experiment())},
          {"run", TextOrNull(job.run())},
          {"model", TextOrNull(job.model_stem())},
          {"kind", KindName(job.kind())},
          {"phase", PhaseName(job.phase())},
          {"queue", queued ? Json{{"reason", TextOrNull(job.queue_reason())},
                                  {"position", job.queue_position()}}
                           : Json()},
          {"pending", job.pending()},
          {"running", job.running()},
          {"finished", job.finished()},
          {"success", job.success()},
          {"cancel_requested", job.cancel_requested()},
          {"user", TextOrNull(job.user())},
          {"selector", TextOrNull(job.selector())},
          {"assessment", TextOrNull(AssessmentName(job.assessment()))},
          {"failure", job.has_failure() ? FailureToJson(job.failure()) : Json()},
          {"cached", job.cached()},
          {"create_time", TextOrNull(TimeText(job.create_time()))},
          {"update_time", TextOrNull(TimeText(job.update_time()))},
          {"end_time", TextOrNull(TimeText(job.end_time()))},
          {"frozen_request", TextOrNull(DigestText(job.frozen_request()))},
          {"bundle", TextOrNull(DigestText(job.bundle()))},
          {"content_digest", TextOrNull(job.content_digest())},
          {"issues", std::move(issues)},
          {"attempts", std::move(attempts)},
          {"last_event", job.last_event()},
          {"exit_code", static_cast<int>(ExitCodeOf(job))}};
}

std::string FailureText(const Failure& failure) {
  const std::string message = Printable(failure.message());
  std::string text = WithCode(message.empty() ? "no reason was given" : message, failure.code());
  for (const auto& violation : failure.violations()) {
    const std::string what = Printable(violation.message());
    // A failure of one violation may already say it all.
    if (failure.violations_size() == 1 && message.find(what) != std::string::npos) continue;
    text += "\n  - ";
    if (!violation.subject().empty()) text += Printable(violation.subject()) + ": ";
    text += WithCode(Indented(what, "    "), violation.code());
  }
  if (failure.has_details()) text += "\n  log: " + DigestText(failure.details());
  return text;
}

std::string EndingText(const Job& job) {
  const std::string who = "job " + job.name() + " (" + JobLabel(job) + ") ";
  switch (job.phase()) {
    case helx::v1::CANCELLED:
      return who + "was cancelled";
    case helx::v1::TIMED_OUT:
      return who + "passed its run limit: " + FailureText(job.failure());
    case helx::v1::ABANDONED:
      return who + "was given up before it ran: " + FailureText(job.failure());
    case helx::v1::FAILED:
      break;
    default:
      return who + "is " + PhaseText(job);
  }
  if (ExitCodeOf(job) == kUsage) return who + "was refused: " + FailureText(job.failure());
  const std::string fault = FaultName(job.failure().fault());
  return who + "failed (" + (fault.empty() ? "fault unknown" : fault) +
         "): " + FailureText(job.failure());
}

void PrintJob(const Job& job, std::ostream& out) {
  Fields fields;
  fields.Add("Job", job.name());
  fields.Add("Experiment", ExperimentName(job));
  if (!job.model_stem().empty()) fields.Add("Model", Printable(job.model_stem()));
  fields.Add("Kind", KindName(job.kind()));
  fields.Add("Phase", PhaseText(job) + (job.cached() ? ", from the store" : "") +
                          (job.cancel_requested() && !job.finished() ? ", cancel asked" : ""));
  if (const std::string text = AssessmentName(job.assessment()); !text.empty()) {
    fields.Add("Assessment", text);
  }
  if (!job.user().empty()) fields.Add("User", Printable(job.user()));
  if (!job.selector().empty()) fields.Add("Selector", Printable(job.selector()));
  fields.Add("Created", TimeText(job.create_time()));
  if (job.has_end_time()) fields.Add("Ended", TimeText(job.end_time()));
  if (job.has_frozen_request()) fields.Add("Request", DigestText(job.frozen_request()));
  if (job.has_bundle()) fields.Add("Bundle", DigestText(job.bundle()));
  if (!job.content_digest().empty()) fields.Add("Content", job.content_digest());
  for (const auto& issue : job.issues()) fields.Add("Issue", Printable(issue));
  if (job.has_failure()) {
    fields.Add("Fault", FaultName(job.failure().fault()));
    fields.Add("Failure", FailureText(job.failure()));
  }
  fields.Print(out);
  if (job.attempts().empty()) return;
  Table table({"Action", "Attempt", "Worker", "Started", "Ended", "Outcome"}, {false, true});
  for (const auto& attempt : job.attempts()) {
    table.Add({ActionName(attempt.kind()), std::to_string(attempt.number()),
               Printable(attempt.worker()), TimeText(attempt.start_time()),
               TimeText(attempt.end_time()), AttemptOutcome(attempt)});
  }
  out << '\n';
  table.Print(out);
}

}  // namespace helx::cli

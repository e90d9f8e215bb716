#include "client/cli/junit.h"

#include <cstdio>
#include <map>

#include "client/cli/exit_code.h"
#include "client/cli/job_view.h"
#include "client/cli/text.h"

namespace helx::cli {
namespace {

using helx::v1::Job;

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Attribute(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + Escaped(value) + "\"";
}

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

double SecondsOf(const Job& job) {
  return job.has_end_time() ? Seconds(job.end_time()) - Seconds(job.create_time()) : 0;
}

std::string Fixed(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  std::string Attributes() const {
    return Attribute("tests", std::to_string(tests)) +
           Attribute("failures", std::to_string(failures)) +
           Attribute("errors", std::to_string(errors)) +
           Attribute("skipped", std::to_string(skipped)) + Attribute("time", Fixed(seconds));
  }
  void Add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
    seconds += other.seconds;
  }
};

// What is inside of a job's case; counts it.
std::string Verdict(const Job& job, Counts* counts) {
  if (!job.finished() || job.phase() == helx::v1::CANCELLED) {
    ++counts->skipped;
    return "      <skipped" + Attribute("message", EndingText(job)) + "/>\n";
  }
  const ExitCode code = ExitCodeOf(job);
  if (code == kOk) return "";
  const bool mismatch = job.phase() == helx::v1::SUCCEEDED;
  const bool failure = code == kMismatch || code == kUsage;
  ++(failure ? counts->failures : counts->errors);
  const std::string element = failure ? "failure" : "error";
  const std::string type = mismatch                       ? "mismatch"
                           : job.failure().code().empty() ? PhaseName(job.phase())
                                                          : job.failure().code();
  const std::string text =
      mismatch ? "the outputs differ from their reference by more than the tolerance"
               : EndingText(job);
  return "      <" + element + Attribute("type", type) +
         Attribute("message", text.substr(0, text.find('\n'))) + ">" + Escaped(text) + "</" +
         element + ">\n";
}

std::string Case(const Job& job, Counts* counts) {
  ++counts->tests;
  counts->seconds += SecondsOf(job);
  std::string about = "job " + job.name() + ", model " + job.model_stem();
  if (!AssessmentName(job.assessment()).empty()) about += ", " + AssessmentName(job.assessment());
  if (job.has_bundle()) about += ", bundle " + DigestText(job.bundle());
  if (!job.content_digest().empty()) about += ", content sha256:" + job.content_digest();
  if (job.cached()) about += ", from the store";
  return "    <testcase" + Attribute("classname", "helx." + job.experiment()) +
         Attribute("name", job.run().empty() ? job.experiment() : job.run()) +
         Attribute("time", Fixed(SecondsOf(job))) + ">\n" + Verdict(job, counts) +
         "      <system-out>" + Escaped(about) + "</system-out>\n    </testcase>\n";
}

}  // namespace

std::string JUnitReport(const std::vector<Job>& jobs) {
  std::vector<std::string> names;
  std::map<std::string, std::pair<Counts, std::string>> suites;
  for (const Job& job : jobs) {
    if (!suites.contains(job.experiment())) names.push_back(job.experiment());
    auto& [counts, cases] = suites[job.experiment()];
    cases += Case(job, &counts);
  }
  Counts total;
  std::string body;
  for (const std::string& name : names) {
    const auto& [counts, cases] = suites[name];
    total.Add(counts);
    body += "  <testsuite" + Attribute("name", name) + counts.Attributes() + ">\n" + cases +
            "  </testsuite>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + Attribute("name", "helx") +
         total.Attributes() + ">\n" + body + "</testsuites>\n";
}

}  // namespace helx::cli

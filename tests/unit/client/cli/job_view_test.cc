#include "client/cli/job_view.h"

#include <gtest/gtest.h>

namespace helx::cli {
namespace {

helx::v1::Job Refused() {
  helx::v1::Job job;
  job.set_name("jobs/7");
  job.set_experiment("kws");
  job.set_run("m4");
  job.set_model_stem("ds_cnn");
  job.set_phase(helx::v1::FAILED);
  job.set_finished(true);
  job.mutable_create_time()->set_seconds(86400);
  job.mutable_create_time()->set_nanos(7'000'000);
  auto* failure = job.mutable_failure();
  failure->set_fault(helx::v1::USER);
  failure->set_code("unsupported_model");
  failure->set_message("the model cannot be built");
  for (const char* subject : {"operator 3 (CUSTOM)", "operator 9 (\x1b[31mLSTM)"}) {
    auto* violation = failure->add_violations();
    violation->set_code("unsupported_operator");
    violation->set_subject(subject);
    violation->set_message("is not supported\nuse another");
  }
  return job;
}

TEST(JobView, EachViolationOnItsOwnLine) {
  EXPECT_EQ(EndingText(Refused()),
            "job jobs/7 (kws/m4 (ds_cnn)) was refused: the model cannot be built "
            "[unsupported_model]\n"
            "  - operator 3 (CUSTOM): is not supported\n    use another [unsupported_operator]\n"
            "  - operator 9 (\\x1b[31mLSTM): is not supported\n    use another "
            "[unsupported_operator]");
}

TEST(JobView, OneViolationThatTheMessageQuotesIsNotRepeated) {
  helx::v1::Failure failure;
  failure.set_code("malformed_model");
  failure.set_message("malformed_model: file: is cut short");
  auto* violation = failure.add_violations();
  violation->set_subject("file");
  violation->set_message("is cut short");
  EXPECT_EQ(FailureText(failure), "malformed_model: file: is cut short");
}

TEST(JobView, JsonFieldsAreStable) {
  const Json json = JobToJson(Refused());
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "assessment",     "attempts",    "bundle",         "cached",    "cancel_requested",
                "content_digest", "create_time", "end_time",       "exit_code", "experiment",
                "failure",        "finished",    "frozen_request", "issues",    "job",
                "kind",           "last_event",  "model",          "pending",   "phase",
                "queue",          "run",         "running",        "selector",  "success",
                "update_time",    "user"}));
  EXPECT_EQ(json["phase"], "FAILED");
  EXPECT_EQ(json["exit_code"], 2);
  EXPECT_EQ(json["kind"], "run");
  EXPECT_EQ(json["create_time"], "1970-01-02T00:00:00.007Z");
  EXPECT_TRUE(json["bundle"].is_null());
  EXPECT_EQ(json["failure"]["violations"].size(), 2u);
  EXPECT_EQ(json["failure"]["violations"][0]["subject"], "operator 3 (CUSTOM)");
}

TEST(JobView, BytesThatAreNotUtf8StayPrintable) {
  helx::v1::Job job = Refused();
  job.mutable_failure()->set_message("gcc said \xff\xfe");
  EXPECT_EQ(JobToJson(job)["failure"]["message"], "gcc said \\xff\\xfe");
  EXPECT_NE(EndingText(job).find("gcc said \\xff\\xfe"), std::string::npos);
}

TEST(JobView, QueueReasonAndPosition) {
  helx::v1::Job job;
  job.set_phase(helx::v1::QUEUED);
  EXPECT_EQ(PhaseText(job), "QUEUED");
  job.set_queue_reason("workers_busy");
  job.set_queue_position(3);
  EXPECT_EQ(PhaseText(job), "QUEUED (workers_busy, position 3)");
  job.set_phase(helx::v1::RUNNING);
  EXPECT_EQ(PhaseText(job), "RUNNING");
}

}  // namespace
}  // namespace helx::cli

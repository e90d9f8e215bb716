#include "client/cli/junit.h"

#include <gtest/gtest.h>

namespace helx::cli {
namespace {

helx::v1::Job MakeJob(const std::string& experiment, const std::string& run,
                      helx::v1::JobPhase phase) {
  helx::v1::Job job;
  job.set_name("jobs/" + run);
  job.set_experiment(experiment);
  job.set_run(run);
  job.set_model_stem("kws");
  job.set_phase(phase);
  job.set_finished(phase != helx::v1::RUNNING);
  job.mutable_create_time()->set_seconds(100);
  if (job.finished()) {
    job.mutable_end_time()->set_seconds(101);
    job.mutable_end_time()->set_nanos(250'000'000);
  }
  return job;
}

helx::v1::Job Failed(const std::string& run, helx::v1::Fault fault, const std::string& code,
                     const std::string& message) {
  helx::v1::Job job = MakeJob("vision", run, helx::v1::FAILED);
  job.mutable_failure()->set_fault(fault);
  job.mutable_failure()->set_code(code);
  job.mutable_failure()->set_message(message);
  return job;
}

// By the schema that CI systems share (testsuites / testsuite / testcase with failure, error or
// skipped): 6 cases, of which one failed (a mismatch), one errs, one is skipped.
TEST(JUnit, EachEndingHasItsElement) {
  helx::v1::Job good = MakeJob("kws", "m55", helx::v1::SUCCEEDED);
  good.set_assessment(helx::v1::MATCH);
  good.mutable_bundle()->set_hash("ab");
  good.mutable_bundle()->set_size_bytes(7);
  good.set_content_digest("cd");
  helx::v1::Job mismatch = MakeJob("kws", "m4", helx::v1::SUCCEEDED);
  mismatch.set_assessment(helx::v1::MISMATCH);
  EXPECT_EQ(
      JUnitReport({good, mismatch, Failed("m7", helx::v1::INFRA, "compiler_killed", "no <memory>"),
                   MakeJob("vision", "m3", helx::v1::CANCELLED)}),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"helx\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" "
      "time=\"5.000\">\n"
      "  <testsuite name=\"kws\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" "
      "time=\"2.500\">\n"
      "    <testcase classname=\"helx.kws\" name=\"m55\" time=\"1.250\">\n"
      "      <system-out>job jobs/m55, model kws, match, bundle ab/7, content "
      "sha256:cd</system-out>\n"
      "    </testcase>\n"
      "    <testcase classname=\"helx.kws\" name=\"m4\" time=\"1.250\">\n"
      "      <failure type=\"mismatch\" message=\"the outputs differ from their reference by more "
      "than the tolerance\">the outputs differ from their reference by more than the "
      "tolerance</failure>\n"
      "      <system-out>job jobs/m4, model kws, mismatch</system-out>\n"
      "    </testcase>\n"
      "  </testsuite>\n"
      "  <testsuite name=\"vision\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\" "
      "time=\"2.500\">\n"
      "    <testcase classname=\"helx.vision\" name=\"m7\" time=\"1.250\">\n"
      "      <error type=\"compiler_killed\" message=\"job jobs/m7 (vision/m7 (kws)) failed (INFRA): "
      "no &lt;memory&gt; [compiler_killed]\">job jobs/m7 (vision/m7 (kws)) failed (INFRA): no "
      "&lt;memory&gt; [compiler_killed]</error>\n"
      "      <system-out>job jobs/m7, model kws</system-out>\n"
      "    </testcase>\n"
      "    <testcase classname=\"helx.vision\" name=\"m3\" time=\"1.250\">\n"
      "      <skipped message=\"job jobs/m3 (vision/m3 (kws)) was cancelled\"/>\n"
      "      <system-out>job jobs/m3, model kws</system-out>\n"
      "    </testcase>\n"
      "  </testsuite>\n"
      "</testsuites>\n");
}

TEST(JUnit, HoldsNothingThatXmlDoesNotAllow) {
  const std::string report = JUnitReport(
      {Failed("a", helx::v1::USER, "", std::string("\x1b[31m\0\xff]]>&\"'", 13) + "\nnext")});
  for (const char c : report) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int{c};
  EXPECT_NE(report.find("\\x1b[31m\\x00\\xff]]&gt;&amp;&quot;'"), std::string::npos) << report;
  EXPECT_NE(report.find("<failure type=\"FAILED\""), std::string::npos) << report;
}

TEST(JUnit, NoJobsIsAnEmptyReport) {
  EXPECT_EQ(JUnitReport({}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"helx\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\" "
            "time=\"0.000\">\n</testsuites>\n");
}

}  // namespace
}  // namespace helx::cli

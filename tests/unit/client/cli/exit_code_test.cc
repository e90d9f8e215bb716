#include "client/cli/exit_code.h"

#include <gtest/gtest.h>

#include "client/cpp/errors.h"

namespace helx::cli {
namespace {

using helx::v1::Job;

Job Ended(helx::v1::JobPhase phase) {
  Job job;
  job.set_phase(phase);
  return job;
}

Job FailedWith(helx::v1::Fault fault, bool frozen) {
  Job job = Ended(helx::v1::FAILED);
  job.mutable_failure()->set_fault(fault);
  if (frozen) job.mutable_frozen_request()->set_hash("x");
  return job;
}

Job Assessed(helx::v1::Assessment assessment) {
  Job job = Ended(helx::v1::SUCCEEDED);
  job.set_assessment(assessment);
  return job;
}

// The table of the contract.
TEST(ExitCode, OfJobs) {
  EXPECT_EQ(ExitCodeOf(Assessed(helx::v1::NOT_COMPARED)), 0);
  EXPECT_EQ(ExitCodeOf(Assessed(helx::v1::MATCH)), 0);
  EXPECT_EQ(ExitCodeOf(Assessed(helx::v1::MISMATCH)), 1);
  EXPECT_EQ(ExitCodeOf(FailedWith(helx::v1::USER, true)), 1);
  EXPECT_EQ(ExitCodeOf(FailedWith(helx::v1::USER, false)), 2);
  EXPECT_EQ(ExitCodeOf(Ended(helx::v1::TIMED_OUT)), 4);
  EXPECT_EQ(ExitCodeOf(Ended(helx::v1::ABANDONED)), 4);
  EXPECT_EQ(ExitCodeOf(Ended(helx::v1::CANCELLED)), 5);
  for (const auto fault : {helx::v1::INFRA, helx::v1::DEVICE, helx::v1::BUG}) {
    EXPECT_EQ(ExitCodeOf(FailedWith(fault, false)), 7);
    EXPECT_EQ(ExitCodeOf(FailedWith(fault, true)), 7);
  }
  EXPECT_EQ(ExitCodeOf(Ended(helx::v1::RUNNING)), 0);
}

TEST(ExitCode, GravestOfSeveralJobs) {
  EXPECT_EQ(ExitCodeOf(std::vector<Job>{}), 0);
  EXPECT_EQ(ExitCodeOf({Assessed(helx::v1::MATCH), Assessed(helx::v1::MISMATCH)}), 1);
  EXPECT_EQ(ExitCodeOf({FailedWith(helx::v1::BUG, true), Ended(helx::v1::CANCELLED)}), 7);
  EXPECT_EQ(ExitCodeOf({Ended(helx::v1::CANCELLED), Ended(helx::v1::TIMED_OUT)}), 4);
}

TEST(ExitCode, OfFailures) {
  EXPECT_EQ(ExitCodeOf(InvalidArgument("x")), 2);
  EXPECT_EQ(ExitCodeOf(client::Unreachable("x")), 3);
  EXPECT_EQ(ExitCodeOf(client::WithContext(client::Unreachable("x"), "more")), 3);
  EXPECT_EQ(ExitCodeOf(NotFound("x")), 6);
  EXPECT_EQ(ExitCodeOf(DataLoss("x")), 6);
  EXPECT_EQ(ExitCodeOf(Internal("x")), 7);
  EXPECT_EQ(ExitCodeOf(client::Interrupted()), 130);
  EXPECT_EQ(ExitCodeOf(client::FromServer(absl::StatusCode::kCancelled, "x")), 7);
  // A local file that cannot be opened is UNAVAILABLE too, and says nothing of the server.
  EXPECT_EQ(ExitCodeOf(absl::Status(absl::StatusCode::kUnavailable, "cannot open")), 7);
}

}  // namespace
}  // namespace helx::cli

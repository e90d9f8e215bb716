// Ended jobs as a JUnit report, the XML that CI systems show as tests.
#ifndef HELX_CLIENT_CLI_JUNIT_H_
#define HELX_CLIENT_CLI_JUNIT_H_

#include <string>
#include <vector>

#include "helx/v1/jobs.pb.h"

namespace helx::cli {

// One suite per experiment, one case per job, in the given order. A mismatch, and whatever is the
// user's fault, is a <failure>; other failures, TIMED_OUT and ABANDONED are an <error>; CANCELLED
// and what has not ended is <skipped>. Times are seconds from the submission to the end. Bytes that
// XML cannot hold are written as \xNN.
std::string JUnitReport(const std::vector<helx::v1::Job>& jobs);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_JUNIT_H_

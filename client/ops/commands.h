// The commands of wai-verify and the exit statuses they share with the independent checker
// (docs/integer-operators.md, section 14.6).
#ifndef HELX_CLIENT_OPS_COMMANDS_H_
#define HELX_CLIENT_OPS_COMMANDS_H_

#include <string>
#include <vector>

namespace helx::ops {

// When several apply the order is kUsage, kLoweringRefuses, kMalformed, kDiffers, kNotMet.
enum ExitStatus : int {
  kMet = 0,
  kNotMet = 1,
  kMalformed = 2,
  kDiffers = 3,
  kLoweringRefuses = 4,
  kUsage = 5,
};

using Words = std::vector<std::string>;

// Each takes the words after its name, writes results to standard output and one line per fault to
// standard error, and gives the exit status.
int GenerateVectors(const Words& words);
int VerifyVectors(const Words& words);
int BoundsCommand(const Words& words);
int CertifyCommand(const Words& words);
int LowerCommand(const Words& words);
int RunCommand(const Words& words);
int DescribeCommand(const Words& words);

// One fault on standard error; gives `status`.
int Complain(const std::string& what, int status);

}  // namespace helx::ops

#endif  // HELX_CLIENT_OPS_COMMANDS_H_

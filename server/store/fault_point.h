// Named places at which a test makes the process end without a word, as a crash would.
#ifndef HELX_SERVER_STORE_FAULT_POINT_H_
#define HELX_SERVER_STORE_FAULT_POINT_H_

#include <string_view>

namespace helx::server {

inline constexpr int kFaultExitCode = 85;

// Ends the process with kFaultExitCode when the environment said so at its start:
// HELX_FAULT_POINT=name, or name:n for the n-th time that it is passed. Otherwise looks at a flag.
// The names are those of tests/crash/fault_points.h.
void FaultPoint(std::string_view name);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_FAULT_POINT_H_

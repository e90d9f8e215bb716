// Why an execution produced no result, and who is at fault.
#ifndef HELX_WORKER_COLLECT_FAILURE_H_
#define HELX_WORKER_COLLECT_FAILURE_H_

#include <string>
#include <string_view>

namespace helx {

enum class Fault {
  kUser,    // the document, the model or the inputs
  kInfra,   // this host, a missing or broken tool
  kDevice,  // the emulator or board misbehaved; another attempt may succeed
  kBug,     // HELX itself
};

// "USER", "INFRA", "DEVICE", "BUG".
std::string_view FaultName(Fault fault);

struct Failure {
  Fault fault = Fault::kBug;
  std::string code;        // stable: see docs/formats.md
  std::string message;     // what happened, for people; at most 1,024 bytes
  bool timed_out = false;  // a limit on the run passed: TIMED_OUT, not FAILED
};

// `message` is cut to 1,024 bytes at a character's boundary.
Failure MakeFailure(Fault fault, std::string_view code, std::string_view message);

}  // namespace helx

#endif  // HELX_WORKER_COLLECT_FAILURE_H_

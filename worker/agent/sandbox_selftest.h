// Whether the sandbox of this host holds: tries to get out of it.
#ifndef HELX_WORKER_AGENT_SANDBOX_SELFTEST_H_
#define HELX_WORKER_AGENT_SANDBOX_SELFTEST_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "worker/sandbox/sandbox.h"

namespace helx::agent {

struct EscapeAttempt {
  std::string name;       // "shadow", "socket", "forks", "disk", "outlive", "signal", "namespace"
  std::string what;       // what was tried, for people
  bool contained = false;
  std::string detail;     // what the attempt said
};

struct SandboxSelfTest {
  sandbox::SandboxReport report;
  std::vector<EscapeAttempt> attempts;

  // Whether this host isolates and nothing got out.
  bool ok() const;
  // {"ok", "capabilities": [{"name", "available", "detail"}], "attempts": [{"name", "what", "contained", "detail"}]}
  std::string ToJson() const;
};

// Runs `escape_program` (helx-escape) under the policy of actions, once per attempt; a few seconds.
SandboxSelfTest RunSandboxSelfTest(const std::string& escape_program);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_SANDBOX_SELFTEST_H_

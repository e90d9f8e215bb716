// Runs a small program and keeps what it says.
#ifndef HELX_CLIENT_CLI_PROBE_H_
#define HELX_CLIENT_CLI_PROBE_H_

#include <chrono>
#include <string>
#include <vector>

namespace helx::cli {

struct ProbeResult {
  int exit_code = -1;      // -1: not started, killed by a signal, or too slow
  bool timed_out = false;  // too slow
  std::string output;   // stdout and stderr together, at most 64 KiB
};

// Runs argv[0] (an absolute path) without standard input and kills it after `limit`.
ProbeResult Probe(const std::vector<std::string>& argv, std::chrono::milliseconds limit);

// The first line of a text.
std::string FirstLine(const std::string& text);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_PROBE_H_

// wai-verify: the tool of the integer operator set (docs/integer-operators.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "client/ops/commands.h"
#ifndef __wasi__
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#endif
#ifdef HELX_OPS_IMPORT
#include "client/ops/import_tflite.h"
#endif

namespace {

constexpr const char* kUsageText =
    "usage: wai-verify <command>\n"
    "  vectors gen DIR            write DIR/ops-conformance, but for what section 14.6 excepts\n"
    "  vectors verify DIR         recompute and compare DIR/ops-conformance; 0 equal, 3 not\n"
    "  bounds SET... --capability NAME [--lowering ID] [--field NAME=INTEGER]...\n"
    "         [--profile acc32|acc64] [--check CERT] [--out CERT]\n"
    "                             SET is a folder of members, or .whg1 files (role: the stem)\n"
    "  certify --capability NAME --lowering ID (--member NAME=PATH | --whg1 ROLE=PATH)...\n"
    "         [--field NAME=INTEGER]... [--profile acc32|acc64] [--check CERT] [--out CERT]\n"
    "  lower SET --capability NAME [--field NAME=INTEGER]... --out DIR\n"
    "                             write DIR/<role>.whg1\n"
    "  run GRAPH.whg1 DECODES.jsonl\n"
    "                             each line a list of {\"data\",\"shape\"}; prints each outcome\n"
    "  describe GRAPH.whg1        inputs, nodes, shapes, bounds and verdicts\n"
#ifdef HELX_OPS_IMPORT
    "  import MODEL.tflite --rounding double|single [--input TENSOR] [--output TENSOR] --out FILE\n"
    "                             write the model.tfq of tflite_int8/1\n"
#endif
    "bounds and certify: 0 the verdict meets the profile (acc64 unless given); 1 it does not;\n"
    "2 a graph is malformed or refused at load by steps 1-7; 3 --check finds a difference;\n"
    "4 the lowering refuses the set; 5 usage\n";

int Usage(const std::string& what) {
  if (!what.empty()) std::fprintf(stderr, "wai-verify: %s\n", what.c_str());
  std::fputs(kUsageText, stderr);
  return helx::ops::kUsage;
}

int RunWords(const std::vector<std::string>& words) {
  if (words.empty()) return Usage("");
  const std::string& command = words[0];
  const auto asks_help = [](const std::string& word) { return word == "-h" || word == "--help"; };
  if (command == "help" || std::any_of(words.begin(), words.end(), asks_help)) {
    std::fputs(kUsageText, stdout);
    return 0;
  }
  const helx::ops::Words rest(words.begin() + 1, words.end());
  if (command == "bounds") return helx::ops::BoundsCommand(rest);
  if (command == "certify") return helx::ops::CertifyCommand(rest);
  if (command == "lower") return helx::ops::LowerCommand(rest);
  if (command == "run") return helx::ops::RunCommand(rest);
  if (command == "describe") return helx::ops::DescribeCommand(rest);
#ifdef HELX_OPS_IMPORT
  if (command == "import") return helx::ops::ImportCommand(rest);
#endif
  if (command == "vectors" && !rest.empty()) {
    const helx::ops::Words after(rest.begin() + 1, rest.end());
    if (rest[0] == "gen") return helx::ops::GenerateVectors(after);
    if (rest[0] == "verify") return helx::ops::VerifyVectors(after);
    return Usage("vectors takes gen or verify, not \"" + rest[0] + "\"");
  }
  return Usage("there is no command \"" + command + "\"");
}

// A few bytes may ask for any memory: a set's state, say, of 2^29 elements.
[[noreturn]] void EndForWantOfMemory() {
  std::fputs("wai-verify: an input needs more memory than this machine gives\n", stderr);
  std::_Exit(helx::ops::kUsage);
}

// A closed standard stream, or one whose reader is gone, is an error to report, not an end; nor may
// a file that is opened later take the closed stream's place.
void HoldStandardStreams() {
#ifndef __wasi__
  std::signal(SIGPIPE, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Gets the lowest free number, and nothing can be written to it.
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", O_RDONLY);
  }
#endif
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  std::set_new_handler(EndForWantOfMemory);
  const int status = RunWords({argv + 1, argv + argc});
  // What was printed is part of what was asked for.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return helx::ops::Complain("standard output: cannot be written", helx::ops::kUsage);
  }
  return status;
}

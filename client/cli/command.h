// A verb of helxctl: its options, and what it does with them.
#ifndef HELX_CLIENT_CLI_COMMAND_H_
#define HELX_CLIENT_CLI_COMMAND_H_

#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/exit_code.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "client/cpp/connection.h"
#include "client/cpp/environment.h"
#include "core/base/json.h"
#include "core/base/status.h"

namespace helx::cli {

// One call of the program.
struct Invocation {
  client::Environment environment;
  std::ostream& out;    // the answer
  std::ostream& err;    // progress and failures
  Progress& progress;   // on err
  std::stop_token stop;  // triggered by Ctrl-C
  std::string program = "helxctl";
  std::string server;   // --server
  rpc::TlsFiles tls;    // --tls-ca, --tls-cert, --tls-key
  bool json = false;    // --json

  // The server that --server, HELX_SERVER, client.yaml or, failing these, the embedded one decides.
  absl::StatusOr<std::shared_ptr<client::Connection>> Connect() const;

  // Prints an answer in JSON.
  void PrintJson(const Json& value) const { out << PrettyJson(value); }

  // A command line that the user can copy to reach the same server: "helxctl wait jobs/x".
  std::string CommandLine(std::string_view verb_and_arguments) const;
};

class Command {
 public:
  virtual ~Command() = default;
  // "list", or "results list" for a verb in a group.
  virtual std::string_view Name() const = 0;
  virtual std::string_view Summary() const = 0;
  // Adds the options; they are bound to members.
  virtual void Configure(Options& options) = 0;
  // The exit code, or the failure that is reported (and mapped by ExitCodeOf).
  virtual absl::StatusOr<ExitCode> Run(Invocation& invocation) = 0;
};

// Every verb, in the order of the help text.
std::vector<std::unique_ptr<Command>> AllCommands();

// The whole program without its process: parses `arguments` (without the program's name), runs the verb, reports
// failures, and returns the exit code. Nothing is thrown.
int RunCli(const std::string& program, const std::vector<std::string>& arguments,
           const client::Environment& environment, std::ostream& out, std::ostream& err,
           bool err_is_terminal, std::stop_token stop);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_COMMAND_H_

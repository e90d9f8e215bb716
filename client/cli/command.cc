#include "client/cli/command.h"

#include <algorithm>
#include <map>

#include "client/cli/options.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "core/commandline/describe.h"
#include "core/commandline/strict.h"

namespace helx::cli {
namespace {

constexpr char kFooter[] =
    "Exit codes: 0 ok, 1 numerical mismatch or a job that failed through its inputs, 2 usage or "
    "document refused,\n3 no server, 4 timed out, 5 cancelled, 6 missing or corrupt data, 7 "
    "failed, "
    "130 interrupted.\n";

// The application for "results list" below the group "results", which is made when first needed.
CLI::App* AddVerb(CLI::App& root, std::map<std::string, CLI::App*>& groups, Command& command) {
  const std::string name(command.Name());
  const size_t space = name.find(' ');
  if (space == std::string::npos) {
    return root.add_subcommand(name, std::string(command.Summary()));
  }
  CLI::App*& group = groups[name.substr(0, space)];
  if (group == nullptr) {
    const std::string group_name = name.substr(0, space);
    const char* summary = group_name == "results"  ? "Results: list, fetch, export, verify, bisect"
                          : group_name == "device" ? "One device of the pool: health, drain, check"
                          : group_name == "store"
                              ? "The server's store: status, check, scrub, collect, back up, pin"
                              : "Reserve devices for yourself";
    group = root.add_subcommand(group_name, summary);
    group->require_subcommand(1);
    group->fallthrough();
  }
  return group->add_subcommand(name.substr(space + 1), std::string(command.Summary()));
}

void PrintError(const Invocation& invocation, const absl::Status& status) {
  const ExitCode code = ExitCodeOf(status);
  const std::string message = MessageOf(status);
  std::string code_text = ErrorCodeOf(status);
  if (code_text.empty()) code_text = absl::StatusCodeToString(status.code());
  invocation.PrintJson(
      {{"error",
        {{"code", code_text}, {"exit_code", static_cast<int>(code)}, {"message", Utf8(message)}}}});
}

void ReportFailure(Invocation& invocation, std::string_view verb, const absl::Status& status) {
  invocation.progress.Clear();
  invocation.err << invocation.program << " " << verb << ": " << Printable(MessageOf(status))
                 << std::endl;
  if (invocation.json) PrintError(invocation, status);
}

// The exit code of --help (0) or of a usage error.
int ReportParsing(Invocation& invocation, const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments) {
  if (app.exit(error, invocation.out, invocation.err) == 0) return kOk;
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) {
    PrintError(invocation, InvalidArgument(error.what()));
  }
  return kUsage;
}

int ParseAndRun(Invocation& invocation, const std::vector<std::string>& arguments) {
  CLI::App app("HELX: what a model costs and answers on an embedded target", invocation.program);
  app.footer(kFooter);
  app.require_subcommand(1);
  bool quiet = false;
  Options options(app);
  options.Text("--server", invocation.server,
               "Server: unix:/path or host:port (else HELX_SERVER, client.yaml, embedded)");
  options.Path("--tls-ca", invocation.tls.ca,
               "Authority (PEM) that names the server (else HELX_TLS_CA, client.yaml)");
  options.Path("--tls-cert", invocation.tls.certificate,
               "Your certificate (PEM) (else HELX_TLS_CERT, client.yaml)");
  options.Path("--tls-key", invocation.tls.key,
               "Its private key (PEM) (else HELX_TLS_KEY, client.yaml)");
  app.add_flag("--json", invocation.json, "Answer in JSON");
  app.add_flag("-q,--quiet", quiet, "No progress on stderr");
  std::map<std::string, CLI::App*> groups;
  const std::vector<std::unique_ptr<Command>> commands = AllCommands();
  std::vector<CLI::App*> verbs;
  for (const auto& command : commands) {
    CLI::App* verb = AddVerb(app, groups, *command);
    verb->fallthrough();  // --server and --json are understood after the verb too
    Options options(*verb);
    command->Configure(options);
    verbs.push_back(verb);
  }
  commandline::BeStrict(app);
  if (arguments.size() == 1 && arguments[0] == commandline::kDescribe) {
    invocation.out << commandline::Describe(app).dump() << std::endl;
    return kOk;
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return ReportParsing(invocation, app, error, arguments);
  }
  invocation.progress.SetQuiet(quiet);
  for (size_t i = 0; i < commands.size(); ++i) {
    if (!verbs[i]->parsed()) continue;
    const absl::StatusOr<ExitCode> code = commands[i]->Run(invocation);
    invocation.progress.Clear();
    invocation.out.flush();
    if (code.ok()) return *code;
    ReportFailure(invocation, commands[i]->Name(), code.status());
    return ExitCodeOf(code.status());
  }
  return kUsage;
}

}  // namespace

absl::StatusOr<std::shared_ptr<client::Connection>> Invocation::Connect() const {
  return client::Connection::Open(server, environment, stop, tls);
}

std::string Invocation::CommandLine(std::string_view verb_and_arguments) const {
  return program + (server.empty() ? "" : " --server " + server) + " " +
         std::string(verb_and_arguments);
}

std::vector<std::unique_ptr<Command>> AllCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (auto* make : {MakeRun,           MakeSubmit,        MakeFreeze,
                     MakeBuild,         MakeRunBuild,      MakeReplay,
                     MakeWait,          MakeWatch,         MakeStatus,
                     MakeList,          MakeShow,          MakeLogs,
                     MakeCancel,        MakeResubmit,      MakeResultsList,
                     MakeResultsFetch,  MakeResultsExport, MakeResultsVerify,
                     MakeResultsBisect, MakeCompare,       MakeEngines,
                     MakeTargets,       MakeDevices,       MakeDeviceReset,
                     MakeDeviceGood,    MakeDeviceLoop,    MakeDeviceMaintenance,
                     MakeDeviceRetire,  MakeDeviceDrain,   MakeDeviceCheck,
                     MakeLeaseAcquire,  MakeLeaseExtend,   MakeLeaseRelease,
                     MakeLeaseList,     MakeStoreStatus,   MakeStoreCheck,
                     MakeStoreScrub,    MakeStoreGc,       MakeStoreBackup,
                     MakeStoreCancel,   MakeStorePin,      MakeStoreUnpin,
                     MakeStorePins,     MakeDoctor,        MakeVersion}) {
    commands.push_back(make());
  }
  return commands;
}

int RunCli(const std::string& program, const std::vector<std::string>& arguments,
           const client::Environment& environment, std::ostream& out, std::ostream& err,
           bool err_is_terminal, std::stop_token stop) {
  Progress progress(err, err_is_terminal);
  Invocation invocation{environment, out, err, progress, std::move(stop), program, "", {}, false};
  try {
    return ParseAndRun(invocation, arguments);
  } catch (const std::exception& error) {
    err << program << ": this is a fault of HELX: " << error.what() << std::endl;
    return kFailed;
  }
}

}  // namespace helx::cli

#include <filesystem>

#include "client/cli/probe.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/embedded_server.h"
#include "client/cpp/private_folder.h"

namespace helx::cli {
namespace {

constexpr std::chrono::seconds kProbeLimit{30};
constexpr std::chrono::seconds kSandboxLimit{180};
constexpr int64_t kFreeBytes = int64_t{1} << 30;

struct Check {
  std::string name;
  bool ok = false;
  std::string found;
  std::string fix;  // what to do when it is not ok
};

Check HelxProgram(const client::Environment& environment, const std::string& name) {
  const auto path = client::FindProgramOfHelx(environment, name);
  if (path.ok()) return {name, true, *path, ""};
  return {name, false, "neither beside this program nor in PATH",
          "install " + name + " of the same version beside helxctl"};
}

std::string TooSlow(const std::string& program, std::chrono::seconds limit = kProbeLimit) {
  return program + " did not answer within " + std::to_string(limit.count()) + " s";
}

constexpr char kTryLater[] = "try again when the machine is less busy";

Check Tool(const client::Environment& environment, const std::string& name,
           const std::string& package) {
  const std::string path = client::FindInPath(environment, name);
  const std::string fix = "apt-get install " + package;
  if (path.empty()) return {name, false, "not in PATH", fix};
  const ProbeResult version = Probe({path, "--version"}, kProbeLimit);
  if (version.timed_out) return {name, false, TooSlow(path + " --version"), kTryLater};
  if (version.exit_code != 0) {
    return {name, false, path + " --version failed: " + FirstLine(version.output), fix};
  }
  return {name, true, FirstLine(version.output), ""};
}

Check Machine(const client::Environment& environment) {
  const std::string name = "QEMU machine mps3-an547";
  const std::string path = client::FindInPath(environment, "qemu-system-arm");
  const std::string fix = "apt-get install qemu-system-arm (7.2 or newer)";
  if (path.empty()) return {name, false, "no qemu-system-arm", fix};
  const ProbeResult machines = Probe({path, "-machine", "help"}, kProbeLimit);
  if (machines.timed_out) return {name, false, TooSlow(path + " -machine help"), kTryLater};
  const bool found = machines.exit_code == 0 &&
                     machines.output.find("mps3-an547") != std::string::npos;
  return {name, found, found ? "known" : "unknown to this QEMU", found ? "" : fix};
}

Check CLibrary(const client::Environment& environment) {
  const std::string name = "newlib for Cortex-M55";
  const std::string path = client::FindInPath(environment, "arm-none-eabi-gcc");
  const std::string fix = "apt-get install libnewlib-arm-none-eabi";
  if (path.empty()) return {name, false, "no arm-none-eabi-gcc", fix};
  const ProbeResult library = Probe({path, "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard",
                                     "-print-file-name=libc.a"},
                                    kProbeLimit);
  if (library.timed_out) return {name, false, TooSlow(path), kTryLater};
  const std::string file = FirstLine(library.output);
  const bool found = library.exit_code == 0 && file.find('/') != std::string::npos;
  return {name, found, found ? file : "libc.a is not there", found ? "" : fix};
}

Check Namespaces(const client::Environment& environment) {
  const std::string name = "user namespaces";
  const std::string path = client::FindInPath(environment, "bwrap");
  if (path.empty()) return {name, false, "no bwrap to try them with", "apt-get install bubblewrap"};
  const ProbeResult sandbox =
      Probe({path, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "/bin/true"},
            kProbeLimit);
  if (sandbox.timed_out) return {name, false, TooSlow(path), kTryLater};
  if (sandbox.exit_code == 0) return {name, true, "a sandbox can be made", ""};
  return {name, false, FirstLine(sandbox.output),
          "allow them: sysctl kernel.unprivileged_userns_clone=1 and "
          "user.max_user_namespaces > 0, and in a container run it with its seccomp profile off"};
}

Check Disk(const client::Environment& environment) {
  const std::string name = "free space for the store";
  const auto folder = environment.DataFolder();
  if (!folder.ok()) return {name, false, MessageOf(folder.status()), "set HOME"};
  std::error_code error;
  std::filesystem::path existing = *folder;
  while (!std::filesystem::exists(existing, error) && existing != existing.root_path()) {
    existing = existing.parent_path();
  }
  const auto space = std::filesystem::space(existing, error);
  if (error) return {name, false, existing.string() + ": " + error.message(), "make it readable"};
  const auto free = static_cast<int64_t>(space.available);
  return {name, free >= kFreeBytes, Bytes(free) + " at " + *folder,
          free >= kFreeBytes ? "" : "free " + Bytes(kFreeBytes) + " there, or set XDG_DATA_HOME"};
}

Check SocketFolder(const client::Environment& environment) {
  const std::string folder = environment.RuntimeFolder();
  const absl::Status status = client::EnsurePrivateFolder(folder);
  if (!status.ok()) return {"socket folder", false, MessageOf(status), "see the message"};
  const absl::Status address = client::CheckAddress("unix:" + folder + "/helxd.sock", "embedded");
  if (!address.ok()) {
    return {"socket folder", false, MessageOf(address), "set XDG_RUNTIME_DIR to a shorter path"};
  }
  return {"socket folder", true, folder, ""};
}

// A configured server must answer; the embedded one is not started for this.
Check Server(const Invocation& invocation) {
  const auto endpoint = client::ResolveEndpoint(invocation.server, invocation.environment,
                                                invocation.tls);
  if (!endpoint.ok()) return {"server", false, MessageOf(endpoint.status()), "correct it"};
  const std::string text = endpoint->address + " (" + endpoint->source + ")";
  if (endpoint->embedded) {
    const bool runs = client::SocketAnswers(endpoint->address.substr(sizeof("unix:") - 1));
    return {"server", true, text + (runs ? ", running" : ", started when needed"), ""};
  }
  const auto connection = invocation.Connect();
  if (!connection.ok()) {
    return {"server", false, MessageOf(connection.status()), "start it, or correct the address"};
  }
  const auto capabilities = (*connection)->Capabilities(invocation.stop);
  if (!capabilities.ok()) {
    return {"server", false, MessageOf(capabilities.status()), "see the server's log"};
  }
  return {"server", true, text + ", version " + Printable(capabilities->version()) + ", " +
                              Counted(capabilities->live_workers(), "worker"), ""};
}

// What helx-worker's self-test found.
absl::StatusOr<std::vector<Check>> SandboxChecks(const client::Environment& environment) {
  HELX_ASSIGN_OR_RETURN(const std::string worker,
                        client::FindProgramOfHelx(environment, "helx-worker"));
  const ProbeResult result = Probe({worker, "--sandbox-selftest"}, kSandboxLimit);
  if (result.timed_out) return Internal(TooSlow(worker + " --sandbox-selftest", kSandboxLimit));
  const auto report = ParseJson(FirstLine(result.output));
  if (!report.ok() || !report->is_object() || !report->contains("attempts") ||
      !report->contains("capabilities")) {
    return Internal(worker + " --sandbox-selftest failed: " + FirstLine(result.output));
  }
  std::vector<Check> checks;
  for (const Json& capability : (*report)["capabilities"]) {
    checks.push_back({capability.value("name", ""), capability.value("available", false),
                      capability.value("detail", ""), "see docs/operators-guide.md, Sandbox"});
  }
  for (const Json& attempt : (*report)["attempts"]) {
    const bool contained = attempt.value("contained", false);
    checks.push_back({attempt.value("what", ""), contained,
                      (contained ? "contained: " : "GOT OUT: ") + attempt.value("detail", ""),
                      "run no jobs of strangers on this host"});
  }
  return checks;
}

class Doctor : public Command {
 public:
  std::string_view Name() const override { return "doctor"; }
  std::string_view Summary() const override {
    return "Check what this machine needs to build and run, and say what to install";
  }
  void Configure(Options& options) override {
    options.Flag("--sandbox", sandbox_,
                 "Instead: try to get out of this host's sandbox, as a hostile job would");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    const client::Environment& environment = invocation.environment;
    if (sandbox_) {
      HELX_ASSIGN_OR_RETURN(const std::vector<Check> checks, SandboxChecks(environment));
      return Report(invocation, checks);
    }
    return Report(invocation, {
        HelxProgram(environment, "helxd"),
        HelxProgram(environment, "helx-worker"),
        Tool(environment, "arm-none-eabi-gcc", "gcc-arm-none-eabi"),
        CLibrary(environment),
        Tool(environment, "qemu-system-arm", "qemu-system-arm"),
        Machine(environment),
        Tool(environment, "bwrap", "bubblewrap"),
        Namespaces(environment),
        Disk(environment),
        SocketFolder(environment),
        Server(invocation)});
  }

 private:
  static absl::StatusOr<ExitCode> Report(Invocation& invocation,
                                         const std::vector<Check>& checks) {
    int64_t failed = 0;
    for (const Check& check : checks) failed += check.ok ? 0 : 1;
    invocation.json ? PrintAsJson(invocation, checks) : PrintAsText(invocation, checks);
    if (failed == 0) return kOk;
    invocation.err << invocation.program << " doctor: " << Counted(failed, "check")
                   << " failed; what to do stands beside each" << std::endl;
    return kFailed;
  }

  static void PrintAsText(Invocation& invocation, const std::vector<Check>& checks) {
    Table table({"", "Check", "Found"});
    for (const Check& check : checks) {
      table.Add({check.ok ? "ok" : "FAIL", check.name,
                 Printable(check.found) + (check.ok ? "" : "; to do: " + check.fix)});
    }
    table.Print(invocation.out);
  }

  static void PrintAsJson(Invocation& invocation, const std::vector<Check>& checks) {
    Json list = Json::array();
    bool all = true;
    for (const Check& check : checks) {
      all = all && check.ok;
      list.push_back({{"name", check.name},
                      {"ok", check.ok},
                      {"found", Utf8(check.found)},
                      {"fix", check.fix.empty() ? Json() : Json(check.fix)}});
    }
    invocation.PrintJson({{"ok", all}, {"checks", std::move(list)}});
  }

  bool sandbox_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace helx::cli

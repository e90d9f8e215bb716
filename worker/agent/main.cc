// helx-worker: joins a helxd, leases actions, runs each in a sandboxed child.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "core/base/hex.h"
#include "core/commandline/describe.h"
#include "core/commandline/strict.h"
#include "proto/channel_credentials.h"
#include "worker/agent/catalogue.h"
#include "worker/agent/executor.h"
#include "worker/agent/kernels.h"
#include "worker/agent/lane.h"
#include "worker/agent/sandbox_selftest.h"
#include "worker/engine/toolchain.h"
#include "worker/target/qemu.h"

namespace helx::agent {
namespace {

struct Options {
  std::string server;
  std::string name;
  std::string state_dir;
  std::string cache_dir;
  rpc::TlsFiles tls;
  std::vector<std::string> labels;  // KEY=VALUE
  bool allow_unsandboxed = false;
  bool print_catalogue = false;
  bool sandbox_selftest = false;
};

std::string RandomHex() {
  std::random_device device;
  uint8_t bytes[8];
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(device());
  return HexEncode(bytes);
}

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// Where compiled kernels are kept between runs; they are named by what they were made from.
std::string DefaultCacheDir(const Options& options) {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') {
    return std::string(xdg) + "/helx";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/helx";
  }
  return options.state_dir + "/cache";
}

v1::WorkerCatalogue ToProto(const Catalogue& catalogue) {
  v1::WorkerCatalogue out;
  out.set_worker_version(catalogue.worker_version);
  for (const EngineEntry& engine : catalogue.engines) {
    v1::EngineInfo* info = out.add_engines();
    info->set_name(engine.identity.name);
    info->set_version(engine.identity.version);
    info->set_licence(engine.licence);
    info->set_qualification(engine.qualification);
    info->set_reason(engine.reason);
    for (const std::string& platform : engine.platforms) info->add_platforms(platform);
  }
  for (const TargetEntry& target : catalogue.targets) {
    v1::TargetInfo* info = out.add_targets();
    info->set_platform(target.platform);
    info->set_core(target.core);
    info->set_executor(target.executor.name);
    info->set_version(target.executor.version + " (" + target.executor.detail + ")");
    info->set_toolchain(target.toolchain.name + " " + target.toolchain.version + " (" +
                        target.toolchain.detail + ")");
    info->set_basis(target.basis);
    info->set_reason(target.reason);
  }
  return out;
}

// The labels given, and those every device has: its name and its host's.
std::vector<v1::Label> LabelsOf(const Options& options) {
  std::map<std::string, std::string> labels = {{"name", options.name}};
  char host[65] = {};
  if (gethostname(host, sizeof host - 1) == 0) labels["host"] = host;
  for (const std::string& text : options.labels) {
    const size_t equals = text.find('=');
    labels[text.substr(0, equals)] =
        equals == std::string::npos ? std::string() : text.substr(equals + 1);
  }
  std::vector<v1::Label> out;
  for (const auto& [key, value] : labels) {
    v1::Label& label = out.emplace_back();
    label.set_key(key);
    label.set_value(value);
  }
  return out;
}

// Blocks the ending signals in every thread; one thread waits for them.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

int Serve(const Options& options) {
  const sigset_t signals = BlockSignals();
  Catalogue catalogue = ReadCatalogue();
  const auto kernels = KernelArchives::Open(
      (options.cache_dir.empty() ? DefaultCacheDir(options) : options.cache_dir) + "/kernels",
      &catalogue);
  if (!kernels.ok()) {
    spdlog::error("{}", MessageOf(kernels.status()));
    return 1;
  }
  HostPaths paths;
  paths.action_program = ProgramFolder() + "/helx-action";
  paths.tools = sandbox::FindProgramPlaces({engine::kCompilerProgram, engine::kArchiverProgram, target::kQemuProgram});
  paths.allow_unsandboxed = options.allow_unsandboxed;

  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  const auto channel =
      grpc::CreateCustomChannel(options.server, rpc::ChannelCredentials(options.tls), arguments);

  Executor executor(channel, paths, options.state_dir, catalogue, &*kernels);
  WorkerIdentity identity{options.name, RandomHex(), ToProto(catalogue)};
  for (const v1::Label& label : LabelsOf(options)) *identity.catalogue.add_labels() = label;
  LaneSession freeze(channel, identity, v1::LANE_FREEZE, &executor);
  LaneSession device(channel, identity, v1::LANE_DEVICE, &executor);
  std::atomic<int> superseded{0};
  std::thread freeze_thread([&] {
    superseded += !freeze.Run();
    kill(getpid(), SIGTERM);
  });
  std::thread device_thread([&] {
    superseded += !device.Run();
    kill(getpid(), SIGTERM);
  });
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  freeze.Stop();
  device.Stop();
  freeze_thread.join();
  device_thread.join();
  return superseded > 0 ? 3 : 0;
}

int Main(int argc, char** argv) {
  CLI::App app("HELX worker: runs actions of a helxd in sandboxed children", "helx-worker");
  Options options;
  app.add_option("--server", options.server,
                 "helxd's address: host:port or unix:PATH (needed to serve)");
  app.add_option("--name", options.name,
                 "stable name of this worker, [A-Za-z0-9._-]{1,64} (needed to serve)");
  app.add_option("--state-dir", options.state_dir,
                 "folder for caches and temporary files (needed to serve)")
      ->transform(commandline::AbsolutePath());
  app.add_option("--cache-dir", options.cache_dir, "folder for compiled kernels")
      ->transform(commandline::AbsolutePath());
  app.add_option("--label", options.labels,
                 "KEY=VALUE by which jobs choose this device; any number of times");
  app.add_option("--tls-ca", options.tls.ca, "certificate (PEM) of the authority that names helxd")
      ->envname("HELX_TLS_CA")
      ->transform(commandline::AbsolutePath());
  app.add_option("--tls-cert", options.tls.certificate,
                 "certificate (PEM) of this worker, spiffe://helx/any/worker/NAME")
      ->envname("HELX_TLS_CERT")
      ->transform(commandline::AbsolutePath());
  app.add_option("--tls-key", options.tls.key, "its private key (PEM)")
      ->envname("HELX_TLS_KEY")
      ->transform(commandline::AbsolutePath());
  app.add_flag("--allow-unsandboxed", options.allow_unsandboxed,
               "run actions even where this host offers no sandbox");
  app.add_flag("--catalogue", options.print_catalogue, "print what this host can do, and exit");
  app.add_flag("--sandbox-selftest", options.sandbox_selftest,
               "try to get out of the sandbox, print in JSON what happened, and exit");
  commandline::BeStrict(app);
  if (argc == 2 && argv[1] == commandline::kDescribe) {
    std::printf("%s\n", commandline::Describe(app).dump().c_str());
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("helx-worker"));
  spdlog::set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":"%v"})",
                      spdlog::pattern_time_type::utc);
  if (options.print_catalogue) {
    std::printf("%s\n", CatalogueToJson(ReadCatalogue()).c_str());
    return 0;
  }
  if (options.sandbox_selftest) {
    const SandboxSelfTest test = RunSandboxSelfTest(ProgramFolder() + "/helx-escape");
    std::printf("%s\n", test.ToJson().c_str());
    return test.ok() ? 0 : 1;
  }
  if (options.server.empty() || options.name.empty() || options.state_dir.empty()) {
    std::fprintf(stderr, "helx-worker: --server, --name and --state-dir are needed\n");
    return 2;
  }
  if (options.server.starts_with("unix:"))
    options.tls = {};  // the socket's folder is the credential
  if (!options.tls.empty()) {
    if (const absl::Status bad = rpc::CheckTlsFiles(options.tls); !bad.ok()) {
      std::fprintf(stderr, "helx-worker: %s\n", MessageOf(bad).c_str());
      return 2;
    }
  } else if (!options.server.starts_with("unix:") && !rpc::IsLoopbackAddress(options.server)) {
    std::fprintf(stderr,
                 "helx-worker: %s is on another host, where helxd speaks TLS only; give --tls-ca, "
                 "--tls-cert and --tls-key\n",
                 options.server.c_str());
    return 2;
  }
  return Serve(options);
}

}  // namespace
}  // namespace helx::agent

int main(int argc, char** argv) { return helx::agent::Main(argc, argv); }

// helxd: accepts jobs, keeps their results, hands the work to helx-worker processes.
#include <grpc/support/log.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/commandline/describe.h"
#include "core/commandline/strict.h"
#include "server/restore.h"
#include "server/scheduler/names.h"
#include "server/server.h"
#include "server/telemetry/log.h"
#include "server/version.h"

namespace {

std::string OwnFolder() {
  char path[PATH_MAX] = {};
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  const std::string text(path, n > 0 ? static_cast<size_t>(n) : 0);
  return text.substr(0, text.rfind('/'));
}

std::string DefaultDataFolder() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return std::string(data) + "/helx";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr ? std::string(home) + "/.local/share/helx" : "helx-data";
}

// --restore
struct Restore {
  std::string folder;
  uint32_t id = 0;
};

// gRPC stops listening for good once it could not accept a connection, for want of a descriptor.
std::atomic<bool> deaf{false};

// As many descriptors as the host allows, so that it does not come to that.
void RaiseDescriptorLimit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "helxd: %s\n", message.c_str());
  return 2;
}

void AddStoreOptions(CLI::App& app, helx::server::ServerOptions& options,
                     std::vector<std::string>& quotas, Restore& restore) {
  auto& care = options.maintenance;
  const auto seconds = [&](const char* name, int64_t& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::NonNegativeNumber)->capture_default_str();
  };
  seconds("--ballast-bytes", options.ballast_bytes,
          "disk space held back for recording how work ends on a full disk");
  app.add_option("--quota", quotas,
                 "BYTES that each instance's blobs may take, or INSTANCE=BYTES; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  seconds("--retain-seconds", care.retention.max_age_seconds,
          "jobs that ended longer ago are forgotten; 0: none");
  seconds("--retain-bytes", care.retention.max_bytes,
          "the oldest jobs of an instance whose blobs take more are forgotten; 0: none");
  seconds("--retain-last", care.retention.keep_last,
          "results of each name that --retain-seconds and --retain-bytes do not touch");
  app.add_option("--unused-seconds", options.unused_keep_seconds,
                 "blobs that nothing refers to are removed so long after their last use")
      ->check(CLI::Range(int64_t{1}, int64_t{10} * 365 * 24 * 3600))
      ->capture_default_str();
  seconds("--gc-seconds", care.collect_interval_seconds,
          "how often garbage is collected; 0: when asked for");
  seconds("--scrub-seconds", care.scrub_interval_seconds,
          "how often every blob is read and its digest compared; 0: when asked for");
  seconds("--scrub-bytes-per-second", care.scrub_bytes_per_second,
          "how fast, unless asked for; 0: as fast as it goes");
  app.add_option("--backup-dir", care.backup_folder, "default: backups in the data folder")
      ->transform(helx::commandline::AbsolutePath());
  seconds("--backup-seconds", care.backup_interval_seconds,
          "how often a backup is written; 0: when asked for");
  app.add_option("--backups", care.backups, "backups that are kept")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--restore", restore.folder,
                 "write a backup of this folder into --data-dir, verify it, and exit")
      ->transform(helx::commandline::AbsolutePath());
  app.add_flag(
      "--drop-damaged-log", options.drop_damaged_log,
      "start with a damaged log of the store too; what it recorded after the damage is lost");
  app.add_option("--restore-id", restore.id, "which backup; default: the latest");
}

// What is wrong with them; empty when all were taken.
std::string TakeQuotas(const std::vector<std::string>& quotas,
                       helx::server::ServerOptions& options) {
  for (const std::string& quota : quotas) {
    const size_t equals = quota.find('=');
    const std::string instance = equals == std::string::npos ? "" : quota.substr(0, equals);
    const std::string text = equals == std::string::npos ? quota : quota.substr(equals + 1);
    int64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error != std::errc() || end != text.data() + text.size() || bytes < 0 ||
        (equals != std::string::npos && !helx::server::CheckName("instance", instance).ok())) {
      return "--quota is \"" + quota + "\"; allowed are BYTES and INSTANCE=BYTES, 0 for no limit";
    }
    if (equals == std::string::npos) {
      options.scheduler.quota_bytes = bytes;
    } else {
      options.scheduler.quotas_bytes[instance] = bytes;
    }
  }
  return "";
}

int RestoreStore(const Restore& restore, const std::string& data_folder) {
  const auto report = helx::server::RestoreAndVerify(restore.folder, restore.id, data_folder);
  if (!report.ok()) return Fail(helx::MessageOf(report.status()));
  std::printf("%s\n", report->c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  helx::server::ServerOptions options;
  options.data_folder = DefaultDataFolder();
  options.local_workers = static_cast<int>(std::thread::hardware_concurrency());
  bool verbose = false;
  std::vector<std::string> quotas;
  Restore restore;
  CLI::App app("HELX daemon: jobs, results and workers of one host or lab", "helxd");
  // A wrapper may set defaults that its user overrides.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("helxd ") + helx::server::kVersion + " (" +
                                        helx::server::Commit() + ")");
  app.add_option("--listen", options.listen, "unix:PATH, or HOST:PORT; port 0 chooses one");
  app.add_option("--data-dir", options.data_folder, "the store, uploads and worker state")
      ->transform(helx::commandline::AbsolutePath())
      ->capture_default_str();
  app.add_option("--workers", options.local_workers, "local helx-worker processes")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--worker-binary", options.worker_binary, "helx-worker; default: beside helxd")
      ->transform(helx::commandline::AbsolutePath());
  app.add_flag("--insecure", options.insecure, "allow a loopback TCP address without TLS");
  app.add_option("--tls-cert", options.tls.certificate,
                 "certificate (PEM) of this server; with the next two: mutual TLS on HOST:PORT")
      ->transform(helx::commandline::AbsolutePath());
  app.add_option("--tls-key", options.tls.key, "its private key (PEM)")
      ->transform(helx::commandline::AbsolutePath());
  app.add_option("--tls-client-ca", options.tls.ca,
                 "certificates (PEM) of the authorities whose clients and workers are let in")
      ->transform(helx::commandline::AbsolutePath());
  app.add_option("--tls-refresh-seconds", options.tls_refresh_seconds,
                 "how often the three files are looked at for renewed ones")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--metrics-listen", options.metrics_listen, "HOST:PORT that serves /metrics");
  app.add_option("--user-jobs", options.scheduler.user_jobs,
                 "unfinished jobs that one user may have; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--user-devices", options.scheduler.user_devices,
                 "devices that may run one user's jobs at once; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--idle-exit-seconds", options.idle_exit_seconds,
                 "exit when there was no client call and no job for so long; 0: never")
      ->check(CLI::NonNegativeNumber);
  AddStoreOptions(app, options, quotas, restore);
  app.add_flag("--verbose", verbose, "log debug messages");
  helx::commandline::BeStrict(app);
  if (argc == 2 && argv[1] == helx::commandline::kDescribe) {
    std::printf("%s\n", helx::commandline::Describe(app).dump().c_str());
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (verbose) helx::server::SetLogLevel(helx::server::LogLevel::kDebug);
  if (const std::string wrong = TakeQuotas(quotas, options); !wrong.empty()) return Fail(wrong);
  if (!restore.folder.empty()) return RestoreStore(restore, options.data_folder);
  if (options.listen.empty()) return Fail("give --listen unix:PATH or HOST:PORT");
  if (options.worker_binary.empty()) options.worker_binary = OwnFolder() + "/helx-worker";
  if (options.local_workers > 0 && !helx::IsProgram(options.worker_binary)) {
    return Fail("there is no helx-worker at " + options.worker_binary +
                "; give --worker-binary, or --workers 0 when workers join from elsewhere");
  }

  // Signals are taken by this thread alone; threads started below inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();

  // Until the service stands, its own error says what is wrong; gRPC's lines are for who debugs.
  gpr_set_log_function([](gpr_log_func_args* line) {
    helx::server::Log(helx::server::LogLevel::kDebug, line->message);
  });
  auto server = helx::server::Server::Start(options);
  if (!server.ok()) return Fail(helx::MessageOf(server.status()));
  gpr_set_log_function([](gpr_log_func_args* line) {
    const bool error = line->severity == GPR_LOG_SEVERITY_ERROR;
    if (error && std::strstr(line->message, "Failed accept") != nullptr) deaf = true;
    helx::server::Log(error ? helx::server::LogLevel::kWarning : helx::server::LogLevel::kDebug,
                      line->message);
  });
  std::printf("listening %s\n", (*server)->address().c_str());
  std::fflush(stdout);
  helx::Json fields = {{"address", (*server)->address()}, {"data_dir", options.data_folder}};
  if (!(*server)->local_address().empty()) fields["local_address"] = (*server)->local_address();
  if (!(*server)->metrics_address().empty()) fields["metrics"] = (*server)->metrics_address();
  helx::server::Log(helx::server::LogLevel::kInfo, "listening", fields);

  const timespec second = {1, 0};
  std::string why = "idle";
  while (!(*server)->IdleForTooLong()) {
    const int signal_number = sigtimedwait(&signals, nullptr, &second);
    if (signal_number > 0) {
      why = strsignal(signal_number);
      break;
    }
    if (deaf) {
      why = "no further connection can be accepted (out of file descriptors?); start helxd again";
      break;
    }
  }
  helx::server::Log(helx::server::LogLevel::kInfo, "stopping", {{"reason", why}});
  (*server)->Stop();
  helx::server::Log(helx::server::LogLevel::kInfo, "stopped");
  return deaf ? 1 : 0;
}

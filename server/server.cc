#include "server/server.h"

#include <dirent.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "server/api/authenticator.h"
#include "server/api/blobs_service.h"
#include "server/api/capabilities_service.h"
#include "server/api/experiments_service.h"
#include "server/api/jobs_service.h"
#include "server/api/pool_service.h"
#include "server/api/results_service.h"
#include "server/api/store_service.h"
#include "server/api/worker_service.h"
#include "server/local_workers.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/names.h"
#include "server/store/blob_store.h"
#include "server/store/data_folder.h"
#include "server/store/executor.h"
#include "server/store/store.h"
#include "server/store/uploads.h"
#include "server/telemetry/grpc_metrics.h"
#include "server/telemetry/log.h"
#include "server/telemetry/metrics.h"
#include "server/version.h"

namespace helx::server {
namespace {

constexpr auto kTickInterval = std::chrono::milliseconds(100);
constexpr int kTicksPerSample = 10;
constexpr auto kDrain = std::chrono::seconds(3);
constexpr auto kLastWords = std::chrono::milliseconds(100);  // for answers on their way out
constexpr auto kPatience = std::chrono::milliseconds(900);   // then connections are cut
constexpr int64_t kUploadAgeSeconds = 24 * 3600;
constexpr int kExecutorThreads = 2;
constexpr int kConnectionAgeMs = 3600 * 1000;
constexpr int kConnectionGraceMs = 600 * 1000;
constexpr char kUnix[] = "unix:";

// Services that only need the store, and those that only make sense with a worker.
constexpr const char* kStoreServices[] = {"helx.v1.Blobs",        "helx.v1.Results",
                                          "helx.v1.Capabilities", "helx.v1.Pool",
                                          "helx.v1.Store",        "helx.v1.Worker"};
constexpr const char* kWorkServices[] = {"", "helx.v1.Jobs", "helx.v1.Experiments"};

bool IsUnix(const std::string& listen) { return listen.rfind(kUnix, 0) == 0; }

// HOST:PORT of the option `name`. What resolves a host is for the system to say.
absl::Status CheckAddress(const std::string& name, const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon == std::string::npos ? 0 : colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos &&
                      (port == "0" || port[0] != '0');
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (digits && std::stoi(port) <= 65535 && !host.empty() &&
      (bracketed || host.find(':') == std::string::npos)) {
    return absl::OkStatus();
  }
  return InvalidArgument(name + " is " + Quoted(address) + "; allowed are " +
                         std::string(name == "--listen" ? "unix:PATH and " : "") +
                         "HOST:PORT, with a port from 0 (any free one) to 65535 and an "
                         "IPv6 address in brackets");
}

absl::Status CheckListen(const ServerOptions& options) {
  if (IsUnix(options.listen)) {
    if (options.tls.empty()) return absl::OkStatus();
    return InvalidArgument(
        "--listen " + options.listen +
        " is a UNIX socket, whose folder is its credential; TLS is for HOST:PORT");
  }
  HELX_RETURN_IF_ERROR(CheckAddress("--listen", options.listen));
  if (!options.tls.empty()) {
    if (options.insecure)
      return InvalidArgument("--insecure contradicts --tls-cert; give one of them");
    return Annotate(rpc::CheckTlsFiles(options.tls), "--tls-cert, --tls-key, --tls-client-ca");
  }
  if (!rpc::IsLoopbackAddress(options.listen)) {
    return InvalidArgument("--listen " + options.listen +
                           " is not a loopback address; without TLS helxd listens on unix:PATH, or "
                           "on 127.0.0.1 with --insecure; with --tls-cert, --tls-key and "
                           "--tls-client-ca (deploy/certificates makes them) on any address");
  }
  if (!options.insecure) {
    return InvalidArgument("--listen " + options.listen +
                           " is open to every user of this host; say --insecure to allow that, or "
                           "listen on unix:PATH");
  }
  return absl::OkStatus();
}

// A socket's credential is its folder: 0700 and ours. A socket that nobody answers is left from a
// process that was killed.
absl::StatusOr<std::string> PrepareSocket(std::string path) {
  if (path.empty()) return InvalidArgument("--listen unix: needs a path");
  if (path[0] != '/') {
    char folder[4096];
    if (getcwd(folder, sizeof(folder)) == nullptr) return Internal("the current folder is gone");
    path = std::string(folder) + "/" + path;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument("socket path " + path + " has " + std::to_string(path.size()) +
                           " bytes; at most 107 are possible");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailedPrecondition("cannot create folder " + folder + ": " + std::strerror(errno));
  }
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || info.st_uid != geteuid() || (info.st_mode & 0077) != 0) {
    return FailedPrecondition("folder " + folder +
                              " of the socket must belong to this user and have mode 0700: whoever "
                              "can enter it can use the server");
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answered =
      fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (fd >= 0) close(fd);
  if (answered) return FailedPrecondition("another server listens on " + path);
  unlink(path.c_str());
  return path;
}

// Ends every connection of this process. gRPC does not close one whose peer has stopped reading in
// the middle of a write, whatever deadline its shutdown was given.
void CutConnections() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    int listening = 0;
    socklen_t size = sizeof(listening);
    const bool is_socket = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0;
    if (fd > STDERR_FILENO && is_socket && listening == 0) shutdown(fd, SHUT_RDWR);
  }
  closedir(folder);
}

void LogOperation(const v1::StoreOperation& operation, const absl::Status& status) {
  Json fields = {{"operation", v1::StoreOperationKind_Name(operation.kind())},
                 {"jobs", operation.jobs()},
                 {"blobs", operation.blobs()},
                 {"bytes", operation.bytes()},
                 {"removed_jobs", operation.removed_jobs()},
                 {"removed_blobs", operation.removed_blobs()},
                 {"removed_bytes", operation.removed_bytes()},
                 {"problems", operation.problem_count()}};
  if (!status.ok()) fields["error"] = MessageOf(status);
  const bool fine = status.ok() && operation.problem_count() == 0;
  Log(fine ? LogLevel::kInfo : LogLevel::kError, "store operation ended", fields);
  for (const std::string& problem : operation.problems()) {
    Log(LogLevel::kError, "store problem", {{"text", problem}});
  }
}

}  // namespace

struct Server::Impl {
  explicit Impl(const ServerOptions& server_options)
      : options(server_options), metrics(kVersion, Commit()) {}
  ~Impl() { StopAll(); }

  absl::Status OpenStore();
  absl::Status Listen();
  void RunTicker();
  MetricsSample TakeSample() const;
  void SetHealth();
  void StopAll();

  const ServerOptions options;
  SystemClock clock;
  Metrics metrics;
  CallActivity activity;
  std::string address;
  std::string local_address;  // the socket beside a TLS address
  std::string metrics_address;
  std::string socket_path;
  std::unique_ptr<DataFolder> folder;
  std::unique_ptr<Store> store;
  std::unique_ptr<BlobStore> blobs;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Executor> verifier;  // apart, so that a large bundle never delays uploads
  std::unique_ptr<Uploads> uploads;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<JobReader> reader;
  std::unique_ptr<Maintenance> maintenance;
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<LocalWorkers> workers;
  std::thread ticker;
  std::mutex stop_mutex;
  std::condition_variable stop_wake;
  bool stopping = false;
  std::atomic<int64_t> last_job_ms{0};
};

absl::Status Server::Impl::OpenStore() {
  HELX_ASSIGN_OR_RETURN(folder, DataFolder::Open(options.data_folder));
  HELX_ASSIGN_OR_RETURN(const std::string staged, folder->Subfolder("uploads"));
  StoreOptions store_options;
  store_options.path = folder->path();
  store_options.ballast_bytes = options.ballast_bytes;
  store_options.drop_damaged_log = options.drop_damaged_log;
  store_options.log = [](int level, std::string_view text) {
    Log(level >= 3 ? LogLevel::kError : LogLevel::kWarning, "store", {{"text", text}});
  };
  HELX_ASSIGN_OR_RETURN(store, Store::Open(store_options));
  blobs = std::make_unique<BlobStore>(store.get(), BlobStoreOptions{options.unused_keep_seconds});
  HELX_RETURN_IF_ERROR(blobs->Recover());
  executor = std::make_unique<Executor>(kExecutorThreads);
  verifier = std::make_unique<Executor>(1);
  uploads = std::make_unique<Uploads>(staged, store.get(), blobs.get(), executor.get());
  uploads->Purge(kUploadAgeSeconds);
  scheduler =
      std::make_unique<Scheduler>(options.scheduler, store.get(), blobs.get(), &clock, &metrics);
  reader = std::make_unique<JobReader>(store.get(), blobs.get());
  HELX_RETURN_IF_ERROR(scheduler->Recover());
  MaintenanceOptions care = options.maintenance;
  if (care.backup_folder.empty()) care.backup_folder = folder->path() + "/backups";
  if (care.quarantine_folder.empty()) care.quarantine_folder = folder->path() + "/quarantine";
  care.ended = [this](const v1::StoreOperation& operation, const absl::Status& status) {
    LogOperation(operation, status);
    metrics.StoreOperationEnded(operation, status.ok());
  };
  maintenance =
      std::make_unique<Maintenance>(care, store.get(), blobs.get(), scheduler.get(), &clock);
  return absl::OkStatus();
}

absl::Status Server::Impl::Listen() {
  services.push_back(std::make_unique<BlobsService>(scheduler.get(), store.get(), blobs.get(),
                                                    uploads.get(), executor.get()));
  services.push_back(
      std::make_unique<CapabilitiesService>(scheduler.get(), options.scheduler.run_limit_ms));
  services.push_back(std::make_unique<ExperimentsService>(scheduler.get()));
  services.push_back(std::make_unique<JobsService>(scheduler.get(), reader.get(), blobs.get()));
  services.push_back(std::make_unique<ResultsService>(
      reader.get(), blobs.get(), verifier.get(),
      [this](std::string_view result) { metrics.Verified(result); }));
  services.push_back(std::make_unique<PoolService>(scheduler.get()));
  services.push_back(std::make_unique<StoreService>(maintenance.get(), scheduler.get(), store.get(),
                                                    verifier.get()));
  services.push_back(std::make_unique<WorkerService>(scheduler.get()));

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  const bool tls = !options.tls.empty();
  if (tls) {
    builder.AddListeningPort(
        options.listen,
        TlsCredentials(options.tls, static_cast<unsigned>(options.tls_refresh_seconds)), &port);
    // A connection outlives its certificate by this much at most.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionAgeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kConnectionGraceMs);
  } else if (socket_path.empty()) {
    builder.AddListeningPort(options.listen, grpc::InsecureServerCredentials(), &port);
  }
  if (!socket_path.empty()) {
    builder.AddListeningPort(kUnix + socket_path, grpc::InsecureServerCredentials());
  }
  // Otherwise a second server would share the port without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.SetMaxReceiveMessageSize(kMessageLimitBytes);
  builder.SetMaxSendMessageSize(kMessageLimitBytes);
  for (const auto& service : services) builder.RegisterService(service.get());
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<GrpcMetrics>(&metrics, &activity));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  // The socket is born with the right mode; the process is still single-minded here.
  const mode_t mask = umask(0177);
  server = builder.BuildAndStart();
  umask(mask);
  const bool on_socket = IsUnix(options.listen);
  if (server == nullptr || (!on_socket && port == 0)) {
    return FailedPrecondition("cannot listen on " + options.listen +
                              ": the address is in use or not this host's");
  }
  address = on_socket
                ? kUnix + socket_path
                : options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(port);
  if (tls) local_address = kUnix + socket_path;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  HELX_RETURN_IF_ERROR(CheckListen(options));
  if (!options.metrics_listen.empty()) {
    HELX_RETURN_IF_ERROR(CheckAddress("--metrics-listen", options.metrics_listen));
  }
  auto impl = std::make_unique<Impl>(options);
  // The data folder first: its lock keeps a second daemon from taking the socket of the first.
  HELX_RETURN_IF_ERROR(impl->OpenStore());
  if (IsUnix(options.listen)) {
    HELX_ASSIGN_OR_RETURN(impl->socket_path,
                          PrepareSocket(options.listen.substr(sizeof(kUnix) - 1)));
  } else if (!options.tls.empty()) {
    // Local workers, and whoever may read the data folder, need no certificate.
    HELX_ASSIGN_OR_RETURN(const std::string run, impl->folder->Subfolder("run"));
    HELX_ASSIGN_OR_RETURN(impl->socket_path, PrepareSocket(run + "/helxd.sock"));
  }
  HELX_RETURN_IF_ERROR(impl->Listen());
  if (!options.metrics_listen.empty()) {
    HELX_ASSIGN_OR_RETURN(impl->metrics_address, impl->metrics.Expose(options.metrics_listen));
  }
  if (options.local_workers > 0) {
    LocalWorkersOptions workers;
    workers.binary = options.worker_binary;
    workers.server = impl->local_address.empty() ? impl->address : impl->local_address;
    HELX_ASSIGN_OR_RETURN(workers.state_folder, impl->folder->Subfolder("workers"));
    workers.count = options.local_workers;
    impl->workers = std::make_unique<LocalWorkers>(workers);
  }
  impl->activity.client_last_ms = impl->clock.SteadyMillis();
  impl->SetHealth();
  impl->folder->Announce(impl->address);
  impl->ticker = std::thread([raw = impl.get()] { raw->RunTicker(); });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::Impl::RunTicker() {
  int ticks = 0;
  std::unique_lock lock(stop_mutex);
  while (!stop_wake.wait_for(lock, kTickInterval, [this] { return stopping; })) {
    lock.unlock();
    scheduler->Tick();
    if (scheduler->live_jobs() > 0) last_job_ms = clock.SteadyMillis();
    if (++ticks % kTicksPerSample == 0) {
      SetHealth();
      maintenance->Tick();
      if (maintenance->busy()) last_job_ms = clock.SteadyMillis();
      metrics.Sample(TakeSample());
    }
    if (ticks % (kTicksPerSample * 3600) == 0) uploads->Purge(kUploadAgeSeconds);
    lock.lock();
  }
}

MetricsSample Server::Impl::TakeSample() const {
  MetricsSample sample;
  sample.live_workers = scheduler->live_workers();
  sample.oldest_queued_seconds = scheduler->OldestQueuedSeconds();
  sample.store_writable = store->health().ok();
  sample.devices = scheduler->CountDevices();
  for (const auto& [instance, usage] : store->Usage()) {
    sample.stored[instance] = {usage.blobs, usage.bytes};
  }
  const BlobCounts& counts = blobs->counts();
  sample.store_reads = counts.reads;
  sample.store_writes = counts.writes;
  sample.store_missing = counts.missing;
  sample.store_mismatches = counts.mismatches;
  sample.worker_last_seen_seconds = scheduler->WorkersLastSeen();
  return sample;
}

void Server::Impl::SetHealth() {
  auto* health = server->GetHealthCheckService();
  const bool writable = store->health().ok();
  const bool works = writable && scheduler->live_workers() > 0;
  for (const char* service : kStoreServices) health->SetServingStatus(service, writable);
  for (const char* service : kWorkServices) health->SetServingStatus(service, works);
}

void Server::Impl::StopAll() {
  {
    std::lock_guard lock(stop_mutex);
    if (stopping) return;
    stopping = true;
  }
  stop_wake.notify_all();
  if (folder != nullptr) folder->Announce("");
  if (ticker.joinable()) ticker.join();
  // Workers first: what they still complete is recorded; what they hold is taken up again at the
  // next start.
  workers.reset();
  if (scheduler != nullptr) scheduler->Stop();
  if (maintenance != nullptr) maintenance->Stop();
  if (server != nullptr) {
    // gRPC itself would also wait for clients that are connected and silent.
    const auto deadline = std::chrono::steady_clock::now() + kDrain;
    while (activity.open > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::promise<void> ended;
    std::thread cutter([end = ended.get_future()] {
      if (end.wait_for(kLastWords + kPatience) == std::future_status::timeout) {
        Log(LogLevel::kWarning, "cutting connections whose peers do not read");
        CutConnections();
      }
    });
    server->Shutdown(std::chrono::system_clock::now() + kLastWords);
    server->Wait();
    ended.set_value();
    cutter.join();
    server.reset();
  }
  services.clear();
  // Whatever still runs calls back into the scheduler: executor, then the committer, end before it.
  maintenance.reset();
  executor.reset();
  verifier.reset();
  store.reset();
  scheduler.reset();
  if (!socket_path.empty()) unlink(socket_path.c_str());
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

const std::string& Server::address() const { return impl_->address; }
const std::string& Server::metrics_address() const { return impl_->metrics_address; }
const std::string& Server::local_address() const { return impl_->local_address; }
void Server::Stop() { impl_->StopAll(); }

bool Server::IdleForTooLong() const {
  if (impl_->options.idle_exit_seconds <= 0 || impl_->activity.client_open > 0) return false;
  const int64_t last = std::max<int64_t>(impl_->activity.client_last_ms, impl_->last_job_ms);
  return impl_->clock.SteadyMillis() - last >= impl_->options.idle_exit_seconds * 1000;
}

}  // namespace helx::server

// The daemon: credentials, services, store, scheduler and what runs beside them.
#ifndef HELX_SERVER_SERVER_H_
#define HELX_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "proto/tls_files.h"
#include "server/maintenance/maintenance.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

struct ServerOptions {
  std::string listen;  // "unix:PATH" or "HOST:PORT"; port 0 chooses one
  std::string data_folder;
  bool insecure = false;             // allows HOST to be a loopback address without TLS
  rpc::TlsFiles tls;                 // for HOST:PORT: mutual TLS; `ca` is the clients' authority
  int64_t tls_refresh_seconds = 10;  // how often the files are looked at
  std::string metrics_listen;        // "HOST:PORT"; empty: no metrics endpoint
  int local_workers = 0;
  std::string worker_binary;
  int64_t idle_exit_seconds = 0;  // 0: never
  int64_t ballast_bytes = 64 << 20;
  bool drop_damaged_log = false;            // StoreOptions
  int64_t unused_keep_seconds = 24 * 3600;  // of blobs that nothing refers to
  MaintenanceOptions maintenance;           // folders that are empty: in the data folder
  SchedulerOptions scheduler;
};

// Life: Start, then IdleForTooLong is asked now and then, then Stop.
class Server {
 public:
  // FAILED_PRECONDITION or INVALID_ARGUMENT with the reason when the address or the data folder
  // cannot be had.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options);
  ~Server();

  // What clients connect to: "unix:/absolute/path" or "HOST:PORT" with the bound port.
  const std::string& address() const;
  // With TLS: the UNIX socket in the data folder, for this host's own user and local workers. Empty
  // otherwise.
  const std::string& local_address() const;
  // The address of the metrics endpoint; empty without one.
  const std::string& metrics_address() const;
  // Whether no client call was open and no job alive for idle_exit_seconds.
  bool IdleForTooLong() const;
  // Answers what is held open, lets calls end for up to 3 s, ends local workers. Less than 10 s.
  // Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SERVER_H_

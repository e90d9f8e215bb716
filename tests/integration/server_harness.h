// A real helxd process, a client of it, and workers that are a script.
#ifndef HELX_TESTS_INTEGRATION_SERVER_HARNESS_H_
#define HELX_TESTS_INTEGRATION_SERVER_HARNESS_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/digest.h"
#include "helx/v1/blobs.grpc.pb.h"
#include "helx/v1/capabilities.grpc.pb.h"
#include "helx/v1/experiments.grpc.pb.h"
#include "helx/v1/jobs.grpc.pb.h"
#include "helx/v1/results.grpc.pb.h"
#include "helx/v1/store.grpc.pb.h"
#include "helx/v1/worker.grpc.pb.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {

// The programs under test.
inline constexpr char kHelxd[] = HELX_BUILD_DIR "/bin/helxd";
inline constexpr char kHelxctl[] = HELX_BUILD_DIR "/bin/helxctl";
inline constexpr char kHelxWorker[] = HELX_BUILD_DIR "/bin/helx-worker";

// helxd with --workers 0 in its own data folder.
class Daemon {
 public:
  // Listens on a UNIX socket, or on a TCP port of loopback. The port of a killed daemon may go to
  // somebody else.
  // With kTls the certificates come in `extra`.
  enum class Transport { kUnix, kTcp, kTls };
  // `program`: another helxd than the one built here.
  explicit Daemon(std::vector<std::string> extra = {}, Transport transport = Transport::kUnix,
                  std::string program = "");
  ~Daemon();

  // Starts the process and waits for its address; false when it ended instead. The address stays
  // the same over restarts.
  bool Start();
  void Kill() { End(9); }
  // Exit code, or -signal.
  int End(int signal);
  // Waits for the process to end by itself; its exit code (or -signal), or nothing when it goes on.
  std::optional<int> WaitForExit(std::chrono::milliseconds limit);
  pid_t pid() const { return pid_; }
  const std::string& address() const { return address_; }
  const std::string& data_folder() const { return data_; }
  // What the process wrote to stderr so far.
  std::string Errors() const;

 private:
  TempFolder folder_;
  std::string data_;
  std::vector<std::string> extra_;
  std::string program_;
  std::string address_;
  pid_t pid_ = -1;
};

// Runs a program to its end; its exit code and what it printed (stdout and stderr).
int RunProgram(const std::vector<std::string>& words, std::string* output);

struct Client {
  // Without credentials: plain text.
  explicit Client(const std::string& address, int receive_limit_bytes = 4 << 20,
                  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr);

  // Uploads in pieces of 1 MiB; the digest. "-" is the caller's own instance.
  Digest Put(const std::string& content, const std::string& instance = "-");
  grpc::Status Write(const std::string& resource_name, const std::string& content,
                     int64_t offset = 0, bool finish = true, int64_t* committed = nullptr);
  grpc::Status Read(const Digest& digest, std::string* content, int64_t offset = 0,
                    int64_t limit = 0);
  static std::string UploadName(const Digest& digest, const std::string& uuid = "u1",
                                const std::string& instance = "default");

  // A document over a model of these bytes, which are uploaded.
  std::string Document(const std::string& model);
  grpc::Status Submit(const v1::SubmitJobRequest& request, v1::Job* job);
  v1::SubmitJobRequest Request(const std::string& model);
  v1::Job Get(const std::string& name);
  // Watches until the terminal event (or the stream's end); the events.
  std::vector<v1::JobEvent> Watch(const std::string& name, int64_t from = 0,
                                  grpc::Status* status = nullptr);
  v1::Job Wait(const std::string& name);

  bool of_worker = false;  // uploads what actions left
  std::chrono::seconds call_limit{60};
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Blobs::Stub> blobs;
  std::unique_ptr<v1::Capabilities::Stub> capabilities;
  std::unique_ptr<v1::Experiments::Stub> experiments;
  std::unique_ptr<v1::Jobs::Stub> jobs;
  std::unique_ptr<v1::Results::Stub> results;
  std::unique_ptr<v1::Store::Stub> store;
  std::unique_ptr<v1::Worker::Stub> worker;
};

// A worker with both lanes. What it does with an action is up to `script`; the default freezes,
// builds and runs at once.
class ScriptedWorker {
 public:
  // Fills the outcome; may block (stop() tells when to give up). Returning false: the worker dies
  // without a word.
  using Script =
      std::function<bool(ScriptedWorker&, const v1::ExecuteAction&, v1::CompleteRequest*)>;

  ScriptedWorker(const std::string& address, std::string name, Script script = nullptr,
                 std::string session = "s1",
                 std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr);
  ~ScriptedWorker();
  void Stop();

  // Whether the server told this lane to stop what it does (only while executing).
  bool cancelled(v1::Lane lane) const { return cancel_[lane]; }
  bool stopping() const { return stopping_; }
  int executed() const { return executed_; }
  Client& client() { return client_; }
  v1::ActionOutput GoodOutput(const v1::ExecuteAction& action, const std::string& salt = "");
  // The same with a bundle that is one: a manifest, and one artifact of these bytes.
  v1::ActionOutput BundleOutput(const v1::ExecuteAction& action, const std::string& artifact);

 private:
  void RunLane(v1::Lane lane);
  grpc::Status Synchronize(v1::Lane lane, const v1::Lease* executing,
                           v1::SynchronizeResponse* response);
  bool Execute(v1::Lane lane, const v1::ExecuteAction& action);

  const std::string name_;
  const std::string session_;
  const Script script_;
  Client client_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancel_[3] = {};
  std::atomic<int> executed_{0};
  std::mutex mutex_;
  std::vector<grpc::ClientContext*> calls_;
  std::vector<std::thread> lanes_;
};

}  // namespace helx::server

#endif  // HELX_TESTS_INTEGRATION_SERVER_HARNESS_H_

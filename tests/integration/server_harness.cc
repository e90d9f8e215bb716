#include "tests/integration/server_harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "core/base/sha256.h"
#include "core/bundle/manifest.h"
#include "proto/worker_metadata.h"
#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

constexpr size_t kPiece = 1 << 20;

std::vector<char*> Arguments(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// A line from `fd`, waiting at most 30 s.
std::string ReadLine(int fd) {
  std::string line;
  pollfd poller{fd, POLLIN, 0};
  char c;
  while (poll(&poller, 1, 30'000) > 0 && read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

}  // namespace

Daemon::Daemon(std::vector<std::string> extra, Transport transport, std::string program)
    : data_(folder_.path() + "/data"),
      extra_(std::move(extra)),
      program_(program.empty() ? kHelxd : std::move(program)),
      address_(transport == Transport::kUnix ? "unix:" + folder_.path() + "/run/helxd.sock"
                                             : "127.0.0.1:0") {
  if (transport == Transport::kTcp) extra_.push_back("--insecure");
}

Daemon::~Daemon() {
  if (pid_ > 0) Kill();
}

bool Daemon::Start() {
  std::vector<std::string> words = {program_,    "--listen", address_,          "--data-dir", data_,
                                    "--workers", "0",        "--ballast-bytes", "1048576"};
  words.insert(words.end(), extra_.begin(), extra_.end());
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return false;
  const std::string errors = folder_.path() + "/stderr";
  pid_ = fork();
  if (pid_ == 0) {
    dup2(out[1], STDOUT_FILENO);
    const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDERR_FILENO);
    execv(program_.c_str(), Arguments(words).data());
    _exit(127);
  }
  close(out[1]);
  const std::string line = ReadLine(out[0]);
  close(out[0]);
  const std::string prefix = "listening ";
  if (line.rfind(prefix, 0) != 0) return false;
  address_ = line.substr(prefix.size());
  return true;
}

std::optional<int> Daemon::WaitForExit(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int Daemon::End(int signal) {
  kill(pid_, signal);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Daemon::Errors() const { return FileText(folder_.path() + "/stderr"); }

int RunProgram(const std::vector<std::string>& words, std::string* output) {
  std::vector<std::string> copy = words;
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    execv(copy[0].c_str(), Arguments(copy).data());
    _exit(127);
  }
  close(out[1]);
  char buffer[4096];
  for (ssize_t n; (n = read(out[0], buffer, sizeof(buffer))) > 0;) {
    output->append(buffer, static_cast<size_t>(n));
  }
  close(out[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Client::Client(const std::string& address, int receive_limit_bytes,
               std::shared_ptr<grpc::ChannelCredentials> credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(receive_limit_bytes);
  // Restarted servers are found again at once; the second is how long one attempt to connect may
  // take.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (credentials == nullptr) credentials = grpc::InsecureChannelCredentials();
  channel = grpc::CreateCustomChannel(address, credentials, arguments);
  blobs = v1::Blobs::NewStub(channel);
  capabilities = v1::Capabilities::NewStub(channel);
  experiments = v1::Experiments::NewStub(channel);
  jobs = v1::Jobs::NewStub(channel);
  results = v1::Results::NewStub(channel);
  store = v1::Store::NewStub(channel);
  worker = v1::Worker::NewStub(channel);
}

std::string Client::UploadName(const Digest& digest, const std::string& uuid,
                               const std::string& instance) {
  return instance + "/uploads/" + uuid + "/blobs/" + digest.ToString();
}

grpc::Status Client::Write(const std::string& resource_name, const std::string& content,
                           int64_t offset, bool finish, int64_t* committed) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + call_limit);
  if (of_worker) context.AddMetadata(rpc::kWorkerMetadata, "1");
  v1::WriteResponse response;
  auto writer = blobs->Write(&context, &response);
  size_t at = 0;
  do {
    v1::WriteRequest request;
    if (at == 0) request.set_resource_name(resource_name);
    request.set_write_offset(offset + static_cast<int64_t>(at));
    request.set_data(content.substr(at, kPiece));
    at += request.data().size();
    request.set_finish_write(finish && at == content.size());
    if (!writer->Write(request)) break;
  } while (at < content.size());
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (committed != nullptr) *committed = response.committed_size();
  return status;
}

Digest Client::Put(const std::string& content, const std::string& instance) {
  const Digest digest = DigestOf(std::string_view(content));
  static std::atomic<int> uploads = 0;
  const std::string name = UploadName(digest, "put" + std::to_string(++uploads), instance);
  // A worker outlives its server.
  for (int i = 0; i < 50; ++i) {
    const grpc::Status status = Write(name, content);
    if (!of_worker || status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return digest;
}

grpc::Status Client::Read(const Digest& digest, std::string* content, int64_t offset,
                          int64_t limit) {
  grpc::ClientContext context;
  v1::ReadRequest request;
  request.set_resource_name("-/blobs/" + digest.ToString());
  request.set_read_offset(offset);
  request.set_read_limit(limit);
  auto reader = blobs->Read(&context, request);
  v1::ReadResponse response;
  while (reader->Read(&response)) content->append(response.data());
  return reader->Finish();
}

std::string Client::Document(const std::string& model) {
  const Digest digest = Put(model);
  return R"({"engine":"builtin","model":{"sha256":")" + digest.hash + R"(","size":)" +
         std::to_string(digest.size_bytes) +
         R"(},"platform":"board","schema":"helx.document/v1","tensor_io":null})";
}

v1::SubmitJobRequest Client::Request(const std::string& model) {
  v1::SubmitJobRequest request;
  request.set_name("kws");
  request.set_document(Document(model));
  return request;
}

grpc::Status Client::Submit(const v1::SubmitJobRequest& request, v1::Job* job) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + call_limit);
  return jobs->Submit(&context, request, job);
}

v1::Job Client::Get(const std::string& name) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + call_limit);
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  jobs->Get(&context, request, &job);
  return job;
}

std::vector<v1::JobEvent> Client::Watch(const std::string& name, int64_t from,
                                        grpc::Status* status) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::WatchJobRequest request;
  request.set_name(name);
  request.set_from_event(from);
  auto reader = jobs->Watch(&context, request);
  std::vector<v1::JobEvent> events;
  v1::JobEvent event;
  while (reader->Read(&event)) events.push_back(event);
  const grpc::Status end = reader->Finish();
  if (status != nullptr) *status = end;
  return events;
}

v1::Job Client::Wait(const std::string& name) {
  const auto events = Watch(name);
  return events.empty() ? v1::Job() : events.back().job();
}

ScriptedWorker::ScriptedWorker(const std::string& address, std::string name, Script script,
                               std::string session,
                               std::shared_ptr<grpc::ChannelCredentials> credentials)
    : name_(std::move(name)),
      session_(std::move(session)),
      script_(std::move(script)),
      client_(address, 4 << 20, std::move(credentials)) {
  client_.of_worker = true;
  for (const v1::Lane lane : {v1::LANE_FREEZE, v1::LANE_DEVICE}) {
    lanes_.emplace_back([this, lane] { RunLane(lane); });
  }
}

ScriptedWorker::~ScriptedWorker() { Stop(); }

void ScriptedWorker::Stop() {
  stopping_ = true;
  {
    std::lock_guard lock(mutex_);
    for (grpc::ClientContext* call : calls_) call->TryCancel();
  }
  for (std::thread& lane : lanes_) {
    if (lane.joinable()) lane.join();
  }
}

grpc::Status ScriptedWorker::Synchronize(v1::Lane lane, const v1::Lease* executing,
                                         v1::SynchronizeResponse* response) {
  v1::SynchronizeRequest request;
  request.set_worker(name_);
  request.set_session(session_);
  request.set_lane(lane);
  auto* catalogue = request.mutable_catalogue();
  catalogue->set_worker_version("0.1.0");
  auto* engine = catalogue->add_engines();
  engine->set_name("builtin");
  engine->set_version("1");
  engine->set_qualification("qualified");
  auto* target = catalogue->add_targets();
  target->set_platform("board");
  target->set_executor("qemu-system-arm");
  target->set_version("7.2");
  target->set_toolchain("arm-none-eabi-gcc 12.2.1");
  if (executing != nullptr) *request.mutable_executing() = *executing;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return grpc::Status::CANCELLED;
    calls_.push_back(&context);
  }
  const grpc::Status status = client_.worker->Synchronize(&context, request, response);
  std::lock_guard lock(mutex_);
  calls_.erase(std::find(calls_.begin(), calls_.end(), &context));
  return status;
}

void ScriptedWorker::RunLane(v1::Lane lane) {
  while (!stopping_) {
    v1::SynchronizeResponse response;
    const grpc::Status status = Synchronize(lane, nullptr, &response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) return;
    if (!status.ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    if (response.has_execute() && !Execute(lane, response.execute())) return;
  }
}

bool ScriptedWorker::Execute(v1::Lane lane, const v1::ExecuteAction& action) {
  ++executed_;
  cancel_[lane] = false;
  std::atomic<bool> done = false;
  // Hears of cancellation while the script works.
  std::thread listener([&] {
    while (!done && !stopping_) {
      v1::SynchronizeResponse response;
      const grpc::Status status = Synchronize(lane, &action.lease(), &response);
      if (status.ok() && response.cancel()) {
        cancel_[lane] = true;
        return;
      }
      if (!status.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  v1::CompleteRequest request;
  request.set_worker(name_);
  request.set_session(session_);
  *request.mutable_lease() = action.lease();
  bool lives = true;
  if (script_ != nullptr) {
    lives = script_(*this, action, &request);
  } else {
    *request.mutable_output() = GoodOutput(action);
  }
  grpc::Status status;
  do {
    if (!lives || stopping_) break;
    grpc::ClientContext context;
    v1::CompleteResponse response;
    status = client_.worker->Complete(&context, request, &response);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  } while (status.error_code() == grpc::StatusCode::UNAVAILABLE);
  done = true;
  if (!lives) stopping_ = true;
  if (!lives || !status.ok()) {
    // The server holds the listener's call while the lease goes on.
    std::lock_guard lock(mutex_);
    for (grpc::ClientContext* call : calls_) call->TryCancel();
  }
  listener.join();
  return lives;
}

v1::ActionOutput ScriptedWorker::GoodOutput(const v1::ExecuteAction& action,
                                            const std::string& salt) {
  v1::ActionOutput output;
  if (action.kind() == v1::ACTION_KIND_FREEZE) {
    const std::string frozen = "frozen " + Sha256Hex(std::string_view(action.document()));
    *output.mutable_frozen_request() = ToProto(client_.Put(frozen, action.instance()));
    output.set_build_key(Sha256Hex(std::string_view("build" + frozen)));
    output.set_run_key(Sha256Hex(std::string_view("run" + frozen)));
    output.set_platform("board");
    output.set_engine("builtin");
    return output;
  }
  const Digest manifest =
      client_.Put("manifest " + action.lease().action() + salt, action.instance());
  *output.mutable_bundle() = ToProto(manifest);
  *output.add_blobs() = ToProto(manifest);
  output.set_content_digest(Sha256Hex("content " + action.lease().action() + salt));
  if (action.kind() == v1::ACTION_KIND_RUN) output.set_assessment(v1::MATCH);
  return output;
}

v1::ActionOutput ScriptedWorker::BundleOutput(const v1::ExecuteAction& action,
                                              const std::string& artifact) {
  if (action.kind() == v1::ACTION_KIND_FREEZE) return GoodOutput(action);
  Manifest manifest;
  manifest.artifacts.push_back({"tensors/0.bin", "application/octet-stream",
                                client_.Put(artifact, action.instance()), ArtifactRole::kCore});
  v1::ActionOutput output;
  *output.mutable_bundle() = ToProto(client_.Put(*manifest.Canonical(), action.instance()));
  *output.add_blobs() = output.bundle();
  *output.add_blobs() = ToProto(manifest.artifacts[0].digest);
  output.set_content_digest(*manifest.ContentDigest());
  if (action.kind() == v1::ACTION_KIND_RUN) output.set_assessment(v1::MATCH);
  return output;
}

}  // namespace helx::server

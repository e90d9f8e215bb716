// The traps of this stack (ports, message sizes, UTF-8, status texts, slow readers, shutdown), and
// the process around it all.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// A unary call with raw bytes.
grpc::Status Raw(Client& client, const std::string& method, const std::string& bytes,
                 std::string* answer) {
  grpc::GenericStub stub(client.channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  grpc::CompletionQueue queue;
  grpc::Slice slice(bytes);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (status.ok() && response.Dump(&slices).ok()) {
    for (const grpc::Slice& s : slices) {
      answer->append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
  }
  return status;
}

// A string field of a message, as protobuf writes it.
std::string Field(int number, const std::string& value) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = value.size();
  for (; size >= 0x80; size >>= 7) out.push_back(static_cast<char>((size & 0x7f) | 0x80));
  out.push_back(static_cast<char>(size));
  return out + value;
}

int64_t ResidentKiB(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  }
  return -1;
}

std::string HttpGet(const std::string& address, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (write(fd, request.data(), request.size()) > 0) {
      char buffer[4096];
      for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
        out.append(buffer, static_cast<size_t>(n));
      }
    }
  }
  close(fd);
  return out;
}

TEST(ServerTrapsTest, SecondDaemonOnAPortOrAFolderExitsWithTheReason) {
  Daemon daemon({}, Daemon::Transport::kTcp);
  ASSERT_TRUE(daemon.Start());
  TempFolder other;
  std::string output;
  EXPECT_NE(RunProgram({kHelxd, "--listen", daemon.address(), "--insecure", "--workers", "0",
                        "--data-dir", other.path()},
                       &output),
            0);
  EXPECT_THAT(output, HasSubstr("cannot listen on " + daemon.address()));
  output.clear();
  EXPECT_NE(RunProgram({kHelxd, "--listen", "127.0.0.1:0", "--insecure", "--workers", "0",
                        "--data-dir", daemon.data_folder()},
                       &output),
            0);
  EXPECT_THAT(output, HasSubstr("in use by another helxd (process " + std::to_string(daemon.pid()) +
                                ", serving on " + daemon.address() + ")"));
}

// What the number library would read otherwise, or another program not at all.
TEST(ServerTrapsTest, OptionsAreReadStrictly) {
  TempFolder folder;
  for (const auto& [words, reason] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--workers", "010"}, "without leading zeros"},
           {{"--workers", "0x1"}, "without leading zeros"},
           {{"--quota", "\xff"}, "not UTF-8"},
           {{"--worker-binary", ""}, "leave the option out"},
           {{"--metrics-listen", "127.0.0.1:70000"}, "to 65535"},
           {{"--metrics-listen", "7412"}, "HOST:PORT"}}) {
    std::vector<std::string> command = {kHelxd,       "--listen",   "127.0.0.1:0",
                                        "--insecure", "--data-dir", folder.path() + "/data"};
    command.insert(command.end(), words.begin(), words.end());
    std::string output;
    EXPECT_EQ(RunProgram(command, &output), 2) << output;
    EXPECT_THAT(output, HasSubstr(reason));
  }
  std::string output;
  EXPECT_EQ(RunProgram({kHelxWorker, "--server", "127.0.0.1:1", "--name", "\xff", "--state-dir",
                        folder.path()},
                       &output),
            2);
  EXPECT_THAT(output, HasSubstr("not UTF-8"));
}

TEST(ServerTrapsTest, FailsClosedWithoutTls) {
  TempFolder folder;
  for (const auto& [listen, reason] :
       std::vector<std::pair<std::string, std::string>>{{"0.0.0.0:0", "not a loopback address"},
                                                        {"127.0.0.1:0", "say --insecure"},
                                                        {"nonsense", "unix:PATH and HOST:PORT"},
                                                        {"127.0.0.1:65536", "to 65535"},
                                                        {"127.0.0.1:99999999999", "to 65535"},
                                                        {"127.0.0.1:", "to 65535"},
                                                        {"127.0.0.1:010", "to 65535"},
                                                        {"127.0.0.1:0x10", "to 65535"},
                                                        {"127.0.0.1:-1", "to 65535"},
                                                        {":7411", "HOST:PORT"},
                                                        {"::1:7411", "in brackets"}}) {
    std::string output;
    EXPECT_EQ(RunProgram({kHelxd, "--listen", listen, "--workers", "0", "--data-dir",
                          folder.path() + "/data"},
                         &output),
              2);
    EXPECT_THAT(output, HasSubstr(reason));
  }
  for (const std::string& no_program : {folder.path() + "/none", folder.path()}) {
    std::string output;
    EXPECT_EQ(RunProgram({kHelxd, "--listen", "127.0.0.1:0", "--insecure", "--workers", "1",
                          "--worker-binary", no_program, "--data-dir", folder.path()},
                         &output),
              2);
    EXPECT_THAT(output, HasSubstr("--workers 0"));
  }
}

TEST(ServerTrapsTest, UnixSocketIsForItsOwnerAlone) {
  TempFolder folder;
  const std::string path = folder.path() + "/run/helxd.sock";
  const pid_t pid = fork();
  if (pid == 0) {
    execl(kHelxd, kHelxd, "--listen", ("unix:" + path).c_str(), "--workers", "0", "--data-dir",
          (folder.path() + "/data").c_str(), "--ballast-bytes", "0", nullptr);
    _exit(127);
  }
  Client client("unix:" + path);
  ASSERT_TRUE(client.channel->WaitForConnected(std::chrono::system_clock::now() + 30s));
  grpc::ClientContext context;
  v1::ServerCapabilities capabilities;
  EXPECT_TRUE(client.capabilities->Get(&context, {}, &capabilities).ok());
  EXPECT_EQ(capabilities.limits().model_bytes(), 64 << 20);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((folder.path() + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  kill(pid, SIGTERM);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NE(stat(path.c_str(), &info), 0);

  // A folder that others can enter is no credential.
  chmod((folder.path() + "/run").c_str(), 0755);
  std::string output;
  EXPECT_EQ(RunProgram({kHelxd, "--listen", "unix:" + path, "--workers", "0", "--data-dir",
                        folder.path() + "/data"},
                       &output),
            2);
  EXPECT_THAT(output, HasSubstr("mode 0700"));
}

TEST(ServerTrapsTest, MessagesAboveFourMebibytesAreRefusedAndTheServerGoesOn) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  // FreezeRequest.document (field 2): the whole message is field header (5 bytes) + content.
  for (const auto& [size, code] : std::vector<std::pair<size_t, grpc::StatusCode>>{
           {(4 << 20) - 5, grpc::StatusCode::INVALID_ARGUMENT},  // arrives: too large a document
           {(4 << 20) - 4, grpc::StatusCode::RESOURCE_EXHAUSTED},
           {16 << 20, grpc::StatusCode::RESOURCE_EXHAUSTED},
           {0, grpc::StatusCode::INVALID_ARGUMENT}}) {
    grpc::ClientContext context;
    v1::FreezeRequest request;
    request.set_document(std::string(size, 'x'));
    v1::FreezeResponse response;
    EXPECT_EQ(client.experiments->Freeze(&context, request, &response).error_code(), code) << size;
  }
}

TEST(ServerTrapsTest, TextThatIsNotUtf8IsRefusedAndTheServerGoesOn) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  std::string answer;
  // GetJobRequest.name = "jobs/\xff\xfe": protobuf itself refuses a string that is not UTF-8.
  const grpc::Status refused = Raw(client, "/helx.v1.Jobs/Get", Field(1, "jobs/\xff\xfe"), &answer);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("not UTF-8"));
  EXPECT_EQ(Raw(client, "/helx.v1.Jobs/NoSuch", "", &answer).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  // Digest.hash likewise, deep inside.
  EXPECT_FALSE(
      Raw(client, "/helx.v1.Blobs/FindMissing", Field(2, Field(1, "\xc3\x28")), &answer).ok());
  // Bytes that are no message at all.
  EXPECT_FALSE(Raw(client, "/helx.v1.Jobs/Submit", "\xff\xff\xff\xff", &answer).ok());
  // The same call with text is answered.
  const grpc::Status status = Raw(client, "/helx.v1.Jobs/Get", Field(1, "jobs/abc"), &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "there is no jobs/abc");
}

TEST(ServerTrapsTest, StatusTextIsCappedAndTheCodeArrives) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name("jobs/" + std::string(100'000, 'a'));
  v1::Job job;
  const grpc::Status status = client.jobs->Get(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LE(status.error_message().size(), 1024u);
  // A thousand missing blobs: 32 are named, the count is told.
  std::ostringstream inputs;
  for (int i = 0; i < 1000; ++i) {
    const Digest digest = DigestOf("input " + std::to_string(i));
    inputs << (i ? "," : "") << R"({"sha256":")" << digest.hash << R"(","size":)"
           << digest.size_bytes << "}";
  }
  const Digest model = client.Put("model");
  v1::SubmitJobRequest submit;
  submit.set_name("kws");
  submit.set_document(R"({"engine":"builtin","model":{"sha256":")" + model.hash +
                      R"(","size":5},"platform":"board","schema":"helx.document/v1",)" +
                      R"("tensor_io":{"inputs":[)" + inputs.str() + "]}}");
  const grpc::Status missing = client.Submit(submit, &job);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(missing.error_message(), HasSubstr("1000 blobs are missing"));
}

TEST(ServerTrapsTest, FiftySlowReadersDoNotDelayShutdownNorFillMemory) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  const std::string content(64 << 20, 'z');
  const Digest digest = client.Put(content);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::ReadResponse>>> readers;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<Client>(daemon.address()));
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    v1::ReadRequest request;
    request.set_resource_name("default/blobs/" + digest.ToString());
    readers.push_back(clients.back()->blobs->Read(contexts.back().get(), request));
    v1::ReadResponse first;
    ASSERT_TRUE(readers.back()->Read(&first));  // and never again
  }
  v1::Job job;
  ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());  // others are served meanwhile
  EXPECT_LT(ResidentKiB(daemon.pid()), 400 << 10);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.End(SIGTERM), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  for (auto& context : contexts) context->TryCancel();
}

TEST(ServerTrapsTest, IdleDaemonIsSmallAndSaysHowItIs) {
  Daemon daemon({"--metrics-listen", "127.0.0.1:0"});
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  const auto health = [&](const std::string& service) {
    std::string answer;
    const grpc::Status status =
        Raw(client, "/grpc.health.v1.Health/Check", Field(1, service), &answer);
    return status.ok() ? static_cast<int>(answer[1]) : -static_cast<int>(status.error_code());
  };
  EXPECT_EQ(health("helx.v1.Blobs"), 1);  // SERVING
  EXPECT_EQ(health("helx.v1.Jobs"), 2);   // NOT_SERVING: no worker
  EXPECT_EQ(health("nosuch"), -5);        // NOT_FOUND
  EXPECT_LT(ResidentKiB(daemon.pid()), 80 << 10);
  RecordProperty("idle_rss_kib", static_cast<int>(ResidentKiB(daemon.pid())));
  {
    ScriptedWorker worker(daemon.address(), "w");
    v1::Job job;
    ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());
    EXPECT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);
    for (int i = 0; i < 100 && health("helx.v1.Jobs") != 1; ++i) std::this_thread::sleep_for(50ms);
    EXPECT_EQ(health("helx.v1.Jobs"), 1);
    EXPECT_EQ(health(""), 1);
  }
  const std::string errors = daemon.Errors();
  const std::string key = "\"metrics\":\"";
  const size_t at = errors.find(key) + key.size();
  ASSERT_NE(at, std::string::npos + key.size()) << errors;
  const std::string text = HttpGet(errors.substr(at, errors.find('"', at) - at), "/metrics");
  EXPECT_THAT(text, HasSubstr("helx_build_info{commit="));
  EXPECT_THAT(text, HasSubstr("helx_jobs{phase=\"queued\"} 0"));
  EXPECT_THAT(text, HasSubstr("helx_jobs_finished_total{fault=\"none\",kind=\"run\",outcome="
                              "\"succeeded\"} 1"));
  EXPECT_THAT(text, HasSubstr("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Submit\","
                              "grpc_service=\"helx.v1.Jobs\",grpc_type=\"unary\"} 1"));
  EXPECT_THAT(text, HasSubstr("helx_job_queue_seconds_count"));
  EXPECT_THAT(text, Not(HasSubstr("jobs/")));
}

// A disk of 192 MiB that this test can fill.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=192m") == 0;
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    if (mounted_) setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  ~SmallDisk() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
    if (mounted_) umount(folder_.path().c_str());
  }
  bool mounted() const { return mounted_; }
  void Fill() {
    std::ofstream file(folder_.path() + "/filler", std::ios::app);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) {
    }
  }
  void Free() { unlink((folder_.path() + "/filler").c_str()); }

 private:
  TempFolder folder_;
  bool mounted_ = false;
  std::string before_;
};

TEST(ServerTrapsTest, FullDiskRefusesNewWorkEndsTheOldAndHeals) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  Daemon daemon({"--ballast-bytes", "50331648"});
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  Client client(daemon.address());
  std::atomic<bool> go = false;
  ScriptedWorker worker(daemon.address(), "w",
                        [&](ScriptedWorker&, const v1::ExecuteAction&, v1::CompleteRequest* done) {
                          while (!go) std::this_thread::sleep_for(5ms);
                          done->mutable_failure()->set_fault(v1::USER);
                          done->mutable_failure()->set_code("unsupported_operator");
                          return true;
                        });
  v1::Job running;
  ASSERT_TRUE(client.Submit(client.Request("model"), &running).ok());
  disk.Fill();
  // Small rows go into the log's last pages for a while; then the disk is felt.
  grpc::Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) {
    const std::string content = std::to_string(i) + std::string(20'000, 'y');
    status = client.Write(Client::UploadName(DigestOf(std::string_view(content))), content);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("disk"));
  v1::Job refused;
  status = client.Submit(client.Request("model"), &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  // The ballast is enough to record how the running job ends.
  go = true;
  EXPECT_EQ(client.Wait(running.name()).phase(), v1::FAILED) << daemon.Errors();
  disk.Free();
  for (int i = 0; i < 300; ++i) {
    status = client.Submit(client.Request("another"), &refused);
    if (status.ok()) break;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(client.Wait(refused.name()).phase(), v1::FAILED);
  EXPECT_EQ(daemon.End(SIGTERM), 0);
}

TEST(ServerTrapsTest, IdleExit) {
  Daemon daemon({"--idle-exit-seconds", "1"});
  ASSERT_TRUE(daemon.Start());
  int status = 0;
  for (int i = 0; i < 100; ++i) {
    if (waitpid(daemon.pid(), &status, WNOHANG) == daemon.pid()) break;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(WIFEXITED(status) && kill(daemon.pid(), 0) != 0);
}

TEST(ServerTrapsTest, LocalWorkersAreStartedAgainAndEndWithTheDaemon) {
  TempFolder folder;
  const std::string script = folder.path() + "/helx-worker";
  {
    std::ofstream file(script);
    file << "#!/bin/sh\necho \"$$ $*\" >> " << folder.path() << "/started\nexec sleep 1000\n";
  }
  chmod(script.c_str(), 0755);
  Daemon daemon({"--workers", "2", "--worker-binary", script});
  ASSERT_TRUE(daemon.Start());
  const auto started = [&] {
    std::ifstream file(folder.path() + "/started");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  };
  for (int i = 0; i < 200 && started().size() < 2; ++i) std::this_thread::sleep_for(50ms);
  ASSERT_EQ(started().size(), 2u);
  EXPECT_THAT(started()[0], HasSubstr("--server " + daemon.address() + " --name local-"));
  EXPECT_THAT(started()[0], HasSubstr("--state-dir " + daemon.data_folder() + "/workers/local-"));
  kill(std::stoi(started()[0]), SIGKILL);
  for (int i = 0; i < 200 && started().size() < 3; ++i) std::this_thread::sleep_for(50ms);
  ASSERT_EQ(started().size(), 3u);
  std::vector<pid_t> pids;
  for (const std::string& line : started()) pids.push_back(std::stoi(line));
  EXPECT_EQ(daemon.End(SIGTERM), 0);
  for (const pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0) << pid;
}

}  // namespace
}  // namespace helx::server

// Live logs and resubmission through helxctl, over a killed helxd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/json.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// One log message of a scripted worker "w1", over a stream of its own; repeated while the server is
// away.
void Print(ScriptedWorker& worker, const v1::ExecuteAction& action, int64_t offset,
           const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!worker.stopping() && std::chrono::steady_clock::now() < deadline) {
    grpc::ClientContext context;
    v1::ReportResponse response;
    auto writer = worker.client().worker->Report(&context, &response);
    v1::ReportRequest request;
    request.set_worker("w1");
    request.set_session("s1");
    *request.mutable_lease() = action.lease();
    request.set_log(text);
    request.set_log_offset(offset);
    writer->Write(request);
    writer->WritesDone();
    if (writer->Finish().ok()) return;
    std::this_thread::sleep_for(50ms);
  }
}

// What a helxctl in the background has printed so far.
class Follower {
 public:
  Follower(std::vector<std::string> words, std::string file) : file_(std::move(file)) {
    words.insert(words.begin(), kHelxctl);
    pid_ = fork();
    if (pid_ == 0) {
      if (freopen(file_.c_str(), "w", stdout) == nullptr) _exit(126);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(kHelxctl, argv.data());
      _exit(127);
    }
  }
  ~Follower() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  std::string Text() const {
    std::ifstream file(file_);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  }
  bool Says(const std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (Text().find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  const std::string file_;
  pid_t pid_ = -1;
};

TEST(ServerLogsTest, FollowedWhileItRunsAndOverARestart) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  std::atomic<int> stage = 0;
  ScriptedWorker worker(
      daemon.address(), "w1",
      [&](ScriptedWorker& self, const v1::ExecuteAction& action, v1::CompleteRequest* request) {
        if (action.kind() == v1::ACTION_KIND_BUILD) {
          Print(self, action, 0, "compiling\n");
          while (stage < 1 && !self.stopping()) std::this_thread::sleep_for(10ms);
          Print(self, action, 10, "linking \x1b[31m\n");
          while (stage < 2 && !self.stopping()) std::this_thread::sleep_for(10ms);
        }
        if (action.kind() == v1::ACTION_KIND_RUN) Print(self, action, 0, "booted\n");
        *request->mutable_output() = self.GoodOutput(action);
        return true;
      });
  Client client(daemon.address());
  v1::Job job;
  ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());
  TempFolder folder;
  Follower follower({"--server", daemon.address(), "logs", "--follow", job.name()},
                    folder.path() + "/log");
  ASSERT_TRUE(follower.Says("compiling")) << follower.Text();
  EXPECT_EQ(client.Get(job.name()).phase(), v1::BUILDING);
  daemon.Kill();
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  stage = 1;
  // What a tool prints does not reach the terminal as it is.
  ASSERT_TRUE(follower.Says("linking \\x1b[31m")) << follower.Text();
  stage = 2;
  EXPECT_EQ(follower.Wait(), 0);
  EXPECT_EQ(follower.Text(), "compiling\nlinking \\x1b[31m\nbooted\n");
  EXPECT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);

  // Afterwards, and by machines.
  std::string output;
  ASSERT_EQ(
      RunProgram({kHelxctl, "--server", daemon.address(), "logs", "--json", job.name()}, &output),
      0);
  const auto first = ParseJson(output.substr(0, output.find('\n')));
  ASSERT_TRUE(first.ok()) << output;
  EXPECT_EQ((*first)["kind"], "build");
  EXPECT_EQ((*first)["dropped"], 10);  // lost with the killed server
  output.clear();
  EXPECT_EQ(RunProgram({kHelxctl, "--server", daemon.address(), "logs", "jobs/nosuch"}, &output),
            6);
  // An offset is one of an attempt.
  EXPECT_EQ(
      RunProgram({kHelxctl, "--server", daemon.address(), "logs", "--offset", "5", job.name()},
                 &output),
      2);
  // Whoever comes back after the last event learns how the job ended.
  EXPECT_EQ(RunProgram(
                {kHelxctl, "--server", daemon.address(), "watch", "--from-event", "99", job.name()},
                &output),
            0);
}

TEST(ServerLogsTest, ResubmitNeedsNothingButTheJob) {
  Daemon daemon;
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  ScriptedWorker worker(daemon.address(), "w1");
  Client client(daemon.address());
  v1::Job job;
  ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());
  ASSERT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);
  std::string output;
  ASSERT_EQ(RunProgram({kHelxctl, "--server", daemon.address(), "resubmit", job.name(), "--wait",
                        "--no-cache", "--json", "--quiet"},
                       &output),
            0)
      << output;
  const auto json = ParseJson(output);
  ASSERT_TRUE(json.ok()) << output;
  EXPECT_NE((*json)["jobs"][0]["job"], job.name());
  EXPECT_EQ((*json)["jobs"][0]["phase"], "SUCCEEDED");
  EXPECT_EQ((*json)["jobs"][0]["cached"], false);
  EXPECT_EQ(worker.executed(), 5);  // freeze, build, run; build and run again
}

}  // namespace
}  // namespace helx::server

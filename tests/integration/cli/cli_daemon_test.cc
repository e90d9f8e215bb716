// helxctl and helxd as processes, without a worker: what holds whatever the work is.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "client/cli/probe.h"
#include "client/cpp/embedded_server.h"
#include "core/base/file.h"
#include "core/base/json.h"

extern char** environ;

namespace helx::cli {
namespace {

using testing::HasSubstr;
using std::chrono::milliseconds;

constexpr milliseconds kLimit{20'000};

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

class CliDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "helx-cli.XXXXXX").string();
    folder_ = mkdtemp(path.data());
    std::ofstream(folder_ + "/model.tflite") << "not a model";
    std::ofstream(folder_ + "/experiment.yaml") << "name: kws\nmodel: model.tflite\n";
    StartDaemon();
  }
  void TearDown() override {
    StopDaemon();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Socket() const { return folder_ + "/run/helxd.sock"; }

  void StartDaemon() {
    daemon_ = Spawn({HELX_HELXD, "--listen", "unix:" + Socket(), "--data-dir", folder_ + "/data",
                     "--workers", "0", "--ballast-bytes", "0"},
                    folder_ + "/helxd.log");
    ASSERT_TRUE(Eventually([this] { return client::SocketAnswers(Socket()); }))
        << *ReadFile(folder_ + "/helxd.log");
  }
  void StopDaemon(int signal_number = SIGTERM) {
    if (daemon_ > 0) Finish(daemon_, signal_number);
    daemon_ = -1;
  }

  static pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    std::vector<char*> argv;
    for (const std::string& text : command) argv.push_back(const_cast<char*>(text.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  // Sends the signal, waits, and returns the exit code (-1 when a signal ended it).
  static int Finish(pid_t pid, int signal_number) {
    kill(pid, signal_number);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::vector<std::string> Command(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {HELX_HELXCTL, "--server", "unix:" + Socket(), "--quiet"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
  ProbeResult Ctl(const std::vector<std::string>& arguments) const {
    return Probe(Command(arguments), kLimit);
  }
  static Json Parsed(const ProbeResult& result) {
    auto json = ParseJson(result.output);
    EXPECT_TRUE(json.ok()) << result.output;
    return json.ok() ? *json : Json();
  }
  std::string SubmitOne(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"submit", folder_ + "/experiment.yaml", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProbeResult result = Ctl(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return Parsed(result)["jobs"][0]["job"];
  }

  std::string folder_;
  pid_t daemon_ = -1;
};

TEST_F(CliDaemonTest, JobWithoutWorkersQueuesAndIsCancelled) {
  const std::string job = SubmitOne();
  Json status = Parsed(Ctl({"status", job, "--json"}));
  EXPECT_EQ(status["phase"], "QUEUED");
  EXPECT_EQ(status["pending"], true);
  EXPECT_EQ(Parsed(Ctl({"list", "--json"}))["jobs"][0]["job"], job);
  EXPECT_EQ(Parsed(Ctl({"list", "--json", "--phase", "succeeded"}))["jobs"].size(), 0u);
  EXPECT_EQ(Ctl({"cancel", job}).exit_code, 0);
  EXPECT_EQ(Ctl({"wait", job}).exit_code, 5);
  EXPECT_EQ(Ctl({"cancel", job}).exit_code, 0);  // a terminal job stays as it is
  EXPECT_EQ(Ctl({"watch", job}).exit_code, 5);
  EXPECT_EQ(Parsed(Ctl({"show", job, "--json"}))["phase"], "CANCELLED");
}

TEST_F(CliDaemonTest, RequestIdNamesTheSameJob) {
  const std::string job = SubmitOne({"--request-id", "nightly"});
  EXPECT_EQ(SubmitOne({"--request-id", "nightly"}), job);
  EXPECT_NE(SubmitOne(), job);
  std::ofstream(folder_ + "/model.tflite") << "another model";
  EXPECT_EQ(Ctl({"submit", folder_ + "/experiment.yaml", "--request-id", "nightly"}).exit_code, 2);
}

TEST_F(CliDaemonTest, InterruptLeavesTheJobAndSaysHowToComeBack) {
  const std::string log = folder_ + "/ctl.log";
  const pid_t ctl = Spawn(Command({"submit", folder_ + "/experiment.yaml", "--wait"}), log);
  ASSERT_TRUE(Eventually([this] { return Parsed(Ctl({"list", "--json"}))["jobs"].size() == 1; }));
  std::this_thread::sleep_for(milliseconds(300));  // it now waits
  EXPECT_EQ(Finish(ctl, SIGINT), 130);
  const std::string job = Parsed(Ctl({"list", "--json"}))["jobs"][0]["job"];
  EXPECT_THAT(*ReadFile(log), HasSubstr("wait " + job));
  EXPECT_EQ(Parsed(Ctl({"status", job, "--json"}))["phase"], "QUEUED");
}

TEST_F(CliDaemonTest, InterruptCancelsWhenAskedTo) {
  const pid_t ctl = Spawn(
      Command({"submit", folder_ + "/experiment.yaml", "--wait", "--cancel-on-interrupt"}),
      folder_ + "/ctl.log");
  ASSERT_TRUE(Eventually([this] { return Parsed(Ctl({"list", "--json"}))["jobs"].size() == 1; }));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(Finish(ctl, SIGINT), 130);
  const std::string job = Parsed(Ctl({"list", "--json"}))["jobs"][0]["job"];
  EXPECT_EQ(Ctl({"wait", job}).exit_code, 5);
}

TEST_F(CliDaemonTest, WaitSurvivesARestartOfTheServer) {
  const std::string job = SubmitOne();
  const pid_t waiter = Spawn(Command({"wait", job}), folder_ + "/ctl.log");
  std::this_thread::sleep_for(milliseconds(500));
  StopDaemon(SIGKILL);
  std::this_thread::sleep_for(milliseconds(500));
  StartDaemon();
  EXPECT_EQ(Ctl({"cancel", job}).exit_code, 0);
  int status = 0;
  waitpid(waiter, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << *ReadFile(folder_ + "/ctl.log");
}

TEST_F(CliDaemonTest, UploadedModelIsFoundAgain) {
  std::string model(3 << 20, '\0');
  for (size_t i = 0; i < model.size(); ++i) model[i] = static_cast<char>(i * 31 + i / 255);
  std::ofstream(folder_ + "/model.tflite", std::ios::binary) << model;
  SubmitOne();
  SubmitOne();
  EXPECT_EQ(Parsed(Ctl({"list", "--json"}))["jobs"].size(), 2u);
}

TEST_F(CliDaemonTest, WhatIsNotThereExitsSixAndNoServerThree) {
  EXPECT_EQ(Ctl({"status", "jobs/none"}).exit_code, 6);
  EXPECT_EQ(Ctl({"show", "none"}).exit_code, 6);
  EXPECT_EQ(Ctl({"results", "fetch", "none", "-o", folder_ + "/out"}).exit_code, 6);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
  EXPECT_EQ(Parsed(Ctl({"targets", "--json"}))["live_workers"], 0);
  StopDaemon();
  EXPECT_EQ(Ctl({"list"}).exit_code, 3);
}

}  // namespace
}  // namespace helx::cli

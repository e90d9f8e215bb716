#include "client/cpp/embedded_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "client/cpp/errors.h"
#include "client/cpp/private_folder.h"
#include "core/base/file.h"
#include "tests/unit/client/cpp/temporary_folder.h"

namespace helx::client {
namespace {

class EmbeddedServerTest : public testing::Test {
 protected:
  EmbeddedServerTest() {
    options_.socket = folder_.path() + "/run/helxd.sock";
    options_.data_folder = folder_.path() + "/data/helx";
    options_.program = HELX_STAND_IN_HELXD;
    options_.start_limit = std::chrono::milliseconds(5000);
  }
  ~EmbeddedServerTest() override {
    for (const pid_t pid : Starts()) kill(pid, SIGKILL);
  }
  std::vector<pid_t> Starts() const {
    std::vector<pid_t> pids;
    std::ifstream file(options_.data_folder + "/starts");
    for (pid_t pid; file >> pid;) pids.push_back(pid);
    return pids;
  }
  TemporaryFolder folder_;
  EmbeddedServerOptions options_;
};

TEST_F(EmbeddedServerTest, CommandLineIsThatOfHelxd) {
  EXPECT_EQ(EmbeddedServerCommand(options_),
            (std::vector<std::string>{
                HELX_STAND_IN_HELXD, "--listen", "unix:" + folder_.path() + "/run/helxd.sock",
                "--data-dir", folder_.path() + "/data/helx", "--idle-exit-seconds", "300"}));
}

TEST_F(EmbeddedServerTest, StartsOnceInPrivateFolders) {
  absl::Status status = EnsureEmbeddedServer(options_);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(EnsureEmbeddedServer(options_).ok());
  EXPECT_EQ(Starts().size(), 1u);
  struct stat info {};
  ASSERT_EQ(stat((folder_.path() + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(options_.data_folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(getsid(Starts()[0]), Starts()[0]);  // out of reach of the terminal's signals
}

TEST_F(EmbeddedServerTest, ProcessesThatRaceStartOneServer) {
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(EnsureEmbeddedServer(options_).ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(Starts().size(), 1u);
}

TEST_F(EmbeddedServerTest, SocketOfAKilledServerIsReplaced) {
  ASSERT_TRUE(EnsureEmbeddedServer(options_).ok());
  kill(Starts()[0], SIGKILL);
  int status = 0;
  waitpid(Starts()[0], &status, 0);
  ASSERT_TRUE(std::filesystem::exists(options_.socket));
  ASSERT_FALSE(SocketAnswers(options_.socket));
  ASSERT_TRUE(EnsureEmbeddedServer(options_).ok());
  EXPECT_EQ(Starts().size(), 2u);
}

TEST_F(EmbeddedServerTest, FailureShowsTheEndOfTheLog) {
  folder_.Write("data/helx/refuse", "");
  const absl::Status status = EnsureEmbeddedServer(options_);
  EXPECT_TRUE(IsUnreachable(status));
  const std::string message = MessageOf(status);
  EXPECT_NE(message.find("exited with code 1"), std::string::npos) << message;
  EXPECT_NE(message.find("line 20 of the log"), std::string::npos) << message;
  EXPECT_NE(message.find("line 11 of the log"), std::string::npos) << message;
  EXPECT_EQ(message.find("line 10 of the log"), std::string::npos) << message;
  EXPECT_EQ(Starts().size(), 1u);
}

TEST_F(EmbeddedServerTest, ServerThatIsJustStoppingIsWaitedFor) {
  folder_.Write("data/helx/in_use", "");
  const absl::Status status = EnsureEmbeddedServer(options_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Starts().size(), 2u);
}

TEST_F(EmbeddedServerTest, AServerThatHoldsTheStoreAndServesIsNamedAtOnce) {
  folder_.Write("data/helx/served", "");
  const absl::Status status = EnsureEmbeddedServer(options_);
  EXPECT_TRUE(IsUnreachable(status));
  EXPECT_NE(MessageOf(status).find("--server 127.0.0.1:7411,"), std::string::npos) << status;
  EXPECT_EQ(Starts().size(), 1u);
}

TEST_F(EmbeddedServerTest, ServerThatDoesNotAnswerIsGivenUp) {
  folder_.Write("data/helx/hang", "");
  options_.start_limit = std::chrono::milliseconds(500);
  const absl::Status status = EnsureEmbeddedServer(options_);
  EXPECT_TRUE(IsUnreachable(status));
  EXPECT_NE(MessageOf(status).find("did not answer"), std::string::npos) << status;
  EXPECT_EQ(Starts().size(), 1u);
}

TEST_F(EmbeddedServerTest, FolderThatOthersCanEnterIsRefused) {
  std::filesystem::create_directory(folder_.path() + "/run");
  chmod((folder_.path() + "/run").c_str(), 0755);
  const absl::Status status = EnsureEmbeddedServer(options_);
  EXPECT_TRUE(IsUnreachable(status));
  EXPECT_NE(MessageOf(status).find("0755"), std::string::npos) << status;
  EXPECT_TRUE(Starts().empty());
}

TEST_F(EmbeddedServerTest, LinkInPlaceOfTheFolderIsRefused) {
  std::filesystem::create_directory(folder_.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(folder_.path() + "/elsewhere", folder_.path() + "/run");
  EXPECT_TRUE(IsUnreachable(EnsureEmbeddedServer(options_)));
}

TEST_F(EmbeddedServerTest, ProgramThatIsNotThereIsNamed) {
  options_.program = folder_.path() + "/helxd";
  const absl::Status status = EnsureEmbeddedServer(options_);
  EXPECT_TRUE(IsUnreachable(status));
  EXPECT_NE(MessageOf(status).find(options_.program), std::string::npos) << status;
}

TEST(FindInPath, TakesTheFirstExecutable) {
  TemporaryFolder folder;
  folder.Write("a/tool", "not executable");
  chmod(folder.Write("b/tool", "#!/bin/sh\n").c_str(), 0755);
  const Environment environment({{"PATH", folder.path() + "/a::relative:" + folder.path() + "/b"}});
  EXPECT_EQ(FindInPath(environment, "tool"), folder.path() + "/b/tool");
  EXPECT_EQ(FindInPath(environment, "other"), "");
}

}  // namespace
}  // namespace helx::client

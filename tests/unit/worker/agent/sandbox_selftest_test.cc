// The sandbox holds against what a hostile action would try, and the attempts are real: without a sandbox they succeed.
#include "worker/agent/sandbox_selftest.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/json.h"

namespace helx::agent {
namespace {

const char kEscape[] = HELX_BUILD_DIR "/bin/helx-escape";

int RunUnconfined(std::vector<std::string> arguments) {
  sandbox::Command command;
  arguments.insert(arguments.begin(), kEscape);
  command.argv = std::move(arguments);
  const auto result = sandbox::Run(command);
  return result.ok() ? result->exit_code : -1;
}

TEST(SandboxSelfTestTest, NothingGetsOut) {
  const SandboxSelfTest test = RunSandboxSelfTest(kEscape);
  if (!test.report.isolated) {
    const char* required = std::getenv("HELX_REQUIRE_SANDBOX");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1") << test.ToJson();
    GTEST_SKIP() << "this host cannot isolate: " << test.ToJson();
  }
  ASSERT_EQ(test.attempts.size(), 7u);
  for (const EscapeAttempt& attempt : test.attempts) {
    EXPECT_TRUE(attempt.contained) << attempt.name << ": " << attempt.detail;
    EXPECT_NE(attempt.detail, "") << attempt.name;
  }
  EXPECT_TRUE(test.ok());
  const auto json = ParseJson(test.ToJson());
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["ok"], true);
}

TEST(SandboxSelfTestTest, WithoutASandboxTheAttemptsSucceed) {
  std::string folder = (std::filesystem::temp_directory_path() / "helx-escape.XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_EQ(RunUnconfined({"disk", "1048576", folder}), 0);
  EXPECT_EQ(RunUnconfined({"signal", std::to_string(getpid())}), 0);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(RunUnconfined({"socket", std::to_string(ntohs(address.sin_port))}), 0);
  close(fd);
  EXPECT_EQ(RunUnconfined({"nonsense"}), 2);
  std::filesystem::remove_all(folder);
}

// A self-test whose attempts do not even start proves nothing.
TEST(SandboxSelfTestTest, MissingProgramIsNoSuccess) {
  EXPECT_FALSE(RunSandboxSelfTest("/nonexistent/helx-escape").ok());
}

}  // namespace
}  // namespace helx::agent

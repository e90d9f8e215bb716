#include "worker/sandbox/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

namespace helx::sandbox {
namespace {

using ::testing::HasSubstr;

Command Shell(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  command.environment = {"PATH=/usr/bin:/bin"};
  return command;
}

TEST(ProcessTest, CapturesOutputAndExitStatus) {
  const auto result = sandbox::Run(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->ok());
}

TEST(ProcessTest, ReportsTheSignal) {
  const auto result = sandbox::Run(Shell("kill -SEGV $$"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->signal, SIGSEGV);
  EXPECT_EQ(result->exit_code, -1);
}

TEST(ProcessTest, MissingProgramIsNotFound) {
  Command command;
  command.argv = {"no-such-program-of-helx"};
  EXPECT_EQ(sandbox::Run(command).status().code(), absl::StatusCode::kNotFound);
  command.argv = {"/etc/passwd"};  // exists, cannot be executed
  EXPECT_EQ(sandbox::Run(command).status().code(), absl::StatusCode::kNotFound);
}

TEST(ProcessTest, EnvironmentIsExactlyWhatWasGiven) {
  Command command;
  command.argv = {"/usr/bin/env"};
  command.environment = {"A=1", "B=two words"};
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "A=1\nB=two words\n");
}

TEST(ProcessTest, LimitKillsTheGroup) {
  Command command = Shell("sleep 100 & sleep 100");
  command.limit = std::chrono::milliseconds(300);
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_LT(result->wall.count(), 5000);
}

// The shell ends at once; its child keeps the pipe.
TEST(ProcessTest, AStragglerThatHoldsThePipesIsNotWaitedFor) {
  Command command = Shell("(sleep 100 &); echo done");
  command.limit = std::chrono::seconds(60);
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "done\n");
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_FALSE(result->timed_out);
  EXPECT_LT(result->wall.count(), 5000);
}

TEST(ProcessTest, CancelIsNotATimeOut) {
  Command command = Shell("sleep 100");
  command.cancelled = [] { return true; };
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->cancelled);
  EXPECT_FALSE(result->timed_out);
}

TEST(ProcessTest, OnStdoutStreamsAndStops) {
  Command command = Shell("while :; do echo line; done");
  size_t seen = 0;
  command.on_stdout = [&](std::string_view piece) {
    seen += piece.size();
    return seen < 100'000;
  };
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->cancelled);
  EXPECT_GE(seen, 100'000u);
  EXPECT_TRUE(result->out.empty());
}

TEST(ProcessTest, KeepsHeadAndTailOfLongOutput) {
  Command command = Shell("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done");
  command.output_limit = 1000;
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->out, ::testing::StartsWith("line 0\n"));
  EXPECT_THAT(result->out, HasSubstr("bytes dropped"));
  EXPECT_THAT(result->out, ::testing::EndsWith("line 4999\n"));
  EXPECT_LT(result->out.size(), 1100u);
}

TEST(ProcessTest, AppliesResourceLimits) {
  Command command = Shell("ulimit -n; ulimit -c");
  command.resource_limits = {{RLIMIT_NOFILE, 33}, {RLIMIT_CORE, 0}};
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "33\n0\n");
}

TEST(ProcessTest, PassesOnlyNamedDescriptors) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  Command command = Shell("cat <&" + std::to_string(ends[0]) + " & sleep 0.2; kill $!");
  command.inherited = {ends[0]};
  const auto with = sandbox::Run(command);
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->out, "x");
  command.inherited = {};
  const auto without = sandbox::Run(command);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->out, "");
  close(ends[0]);
  close(ends[1]);
}

TEST(ProcessTest, DropsTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can";
  Command command = Shell("id -u; id -g; id -G");
  command.user = 65534;
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "65534\n65534\n65534\n");
}

// A program's own folder, its link's and its libraries' are given; what PATH does not find is not.
TEST(ProcessTest, ProgramPlacesAreThoseOfPath) {
  namespace fs = std::filesystem;
  const std::string root = fs::canonical(testing::TempDir()).string() + "/program_places";
  fs::remove_all(root);
  for (const char* folder : {"/kit/bin", "/kit/lib", "/links", "/empty", "/data/tool-a"}) {
    fs::create_directories(root + folder);
  }
  const auto program = [](const std::string& path) {
    close(open(path.c_str(), O_CREAT | O_WRONLY, 0755));
  };
  program(root + "/kit/bin/tool-a");
  program(root + "/links/tool-b");
  fs::create_symlink(root + "/kit/bin/tool-a", root + "/links/tool-a");
  const std::string before = getenv("PATH");
  setenv(
      "PATH",
      (root + "/data::kit/bin:" + root + "/empty:" + root + "/links:" + root + "/kit/bin:/usr/bin")
          .c_str(),
      1);
  EXPECT_EQ(FindProgram("tool-a"), root + "/links/tool-a");
  const ProgramPlaces places = FindProgramPlaces({"tool-a", "tool-b", "env", "tool-none"});
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(places.path, (std::vector<std::string>{root + "/links", "/usr/bin"}));
  EXPECT_EQ(places.folders,
            (std::vector<std::string>{root + "/kit/bin", root + "/kit/lib", root + "/links"}));
  fs::remove_all(root);
}

TEST(ProcessTest, StdinIsEmpty) {
  const auto result = sandbox::Run(Shell("cat; echo end"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "end\n");
}

}  // namespace
}  // namespace helx::sandbox

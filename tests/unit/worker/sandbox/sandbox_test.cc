// Each promise of the sandbox, tried from inside.
#include "worker/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/file.h"

namespace helx::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ProbeSandbox().isolated) {
      if (const char* require = std::getenv("HELX_REQUIRE_SANDBOX"); require && *require == '1') {
        FAIL() << "isolation is required: " << ProbeSandbox().capabilities.back().detail;
      }
      GTEST_SKIP() << "this host cannot isolate: " << ProbeSandbox().capabilities.back().detail;
    }
    std::string name = ::testing::TempDir() + "/helx-sandbox-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  // stdout and stderr of a shell script inside.
  ProcessResult Shell(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.environment = {"PATH=/usr/bin:/bin"};
    command.limit = limit_;
    const auto result = RunSandboxed(sandbox_, command);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ProcessResult{};
  }

  Sandbox sandbox_;
  std::chrono::milliseconds limit_{30'000};
  std::string folder_;
};

TEST_F(SandboxTest, RunsAsNobodyWithoutCapabilities) {
  const ProcessResult result = Shell("id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status");
  EXPECT_EQ(result.out,
            "65534\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n");
}

TEST_F(SandboxTest, SeesOnlyItsOwnProcesses) {
  // bubblewrap's init, the shell, ls; no more.
  const ProcessResult result = Shell("ls /proc | grep -c '^[0-9]'");
  EXPECT_LE(std::stoi(result.out), 4);
}

TEST_F(SandboxTest, HasNoNetwork) {
  EXPECT_THAT(Shell("cat /proc/net/dev").out, Not(HasSubstr("eth")));
  const ProcessResult result = Shell(
      "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)' 2>&1");
  EXPECT_NE(result.exit_code, 0);
}

TEST_F(SandboxTest, HostFilesAreAbsentOrReadOnly) {
  EXPECT_NE(Shell("cat /etc/shadow").exit_code, 0);
  EXPECT_NE(Shell("ls /root").exit_code, 0);
  EXPECT_NE(Shell("ls " + folder_).exit_code, 0);
  EXPECT_THAT(Shell("touch /usr/bin/x 2>&1").out, HasSubstr("Read-only"));
}

TEST_F(SandboxTest, BindsAppearAtTheirOwnPaths) {
  const std::string in = folder_ + "/in", out = folder_ + "/out";
  ASSERT_EQ(mkdir(in.c_str(), 0755), 0);
  ASSERT_EQ(mkdir(out.c_str(), 0755), 0);
  ASSERT_TRUE(WriteFile(in + "/a", "hello").ok());
  ASSERT_EQ(chmod((in + "/a").c_str(), 0644), 0);
  sandbox_.binds = {{in}, {out, true}};
  EXPECT_EQ(Shell("cat " + in + "/a > " + out + "/b").exit_code, 0);
  EXPECT_EQ(*ReadFile(out + "/b"), "hello");
  EXPECT_NE(Shell("echo x > " + in + "/a").exit_code, 0);
  EXPECT_EQ(*ReadFile(in + "/a"), "hello");
}

TEST_F(SandboxTest, ABindThatDoesNotExistIsNamed) {
  sandbox_.binds = {{"/nonexistent/x"}};
  Command command;
  command.argv = {"/usr/bin/true"};
  const auto result = RunSandboxed(sandbox_, command);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(result.status()), HasSubstr("/nonexistent/x"));
}

TEST_F(SandboxTest, TemporaryMemoryIsBounded) {
  sandbox_.temporary_bytes = 1 << 20;
  EXPECT_THAT(Shell("head -c 2000000 /dev/zero > /tmp/x 2>&1 || echo full").out, HasSubstr("full"));
}

TEST_F(SandboxTest, FilesAreBounded) {
  sandbox_.file_bytes = 100'000;
  EXPECT_NE(Shell("head -c 200000 /dev/zero > /tmp/x").exit_code, 0);
}

TEST_F(SandboxTest, ProcessesAreBounded) {
  sandbox_.processes = 20;
  EXPECT_THAT(Shell("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; true").err,
              HasSubstr("Cannot fork"));
}

// Whatever a sandbox leaves behind would count against the next one's limit.
TEST_F(SandboxTest, RunsLeaveNoProcessBehind) {
  sandbox_.processes = 10;
  for (int run = 0; run < 30; ++run) ASSERT_EQ(Shell("true").exit_code, 0) << run;
}

TEST_F(SandboxTest, MemoryIsBounded) {
  sandbox_.address_space_bytes = 500'000'000;
  EXPECT_NE(Shell("python3 -c 'x = bytearray(900000000)'").exit_code, 0);
}

// System calls by number, through Python's ctypes: errno is 1 (EPERM) or 38 (ENOSYS).
TEST_F(SandboxTest, TheFilterDeniesWhatACompilerNeverNeeds) {
  const ProcessResult result = Shell(
      "python3 -c '\n"
      "import ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "calls = dict(ptrace=101, mount=165, keyctl=250, unshare=272, perf_event_open=298, setns=308,\n"
      "             bpf=321, userfaultfd=323, io_uring_setup=425, clone3=435, process_vm_readv=310)\n"
      "for name, number in sorted(calls.items()):\n"
      "    ctypes.set_errno(0)\n"
      "    r = libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
      "    print(name, r, ctypes.get_errno())\n"
      "'");
#if defined(__x86_64__)
  EXPECT_EQ(result.out,
            "bpf -1 1\nclone3 -1 38\nio_uring_setup -1 1\nkeyctl -1 1\nmount -1 1\n"
            "perf_event_open -1 1\nprocess_vm_readv -1 1\nptrace -1 1\nsetns -1 1\nunshare -1 1\n"
            "userfaultfd -1 1\n");
#else
  GTEST_SKIP() << "numbers of another architecture";
#endif
}

TEST_F(SandboxTest, NoSandboxInsideTheSandbox) {
  EXPECT_NE(Shell("bwrap --unshare-all --ro-bind / / true").exit_code, 0);
}

TEST_F(SandboxTest, TheCompilerAndTheEmulatorRunInside) {
  if (FindProgram("arm-none-eabi-gcc").empty() || FindProgram("qemu-system-arm").empty()) {
    GTEST_SKIP() << "not installed";
  }
  const ProcessResult result = Shell(
      "echo 'int f(int x) { return x + 1; }' > a.c && arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -O2 -c a.c"
      " && arm-none-eabi-size a.o && (sleep 1; echo quit) | qemu-system-arm -M mps3-an547 -accel tcg,tb-size=32"
      " -nodefaults -display none -monitor stdio -S"
      " -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("QEMU 7"));
}

// Build and run as an action does them: a program of this project that starts the compiler and the emulator itself.
TEST_F(SandboxTest, AnActionBuildsAndRunsInside) {
  sandbox_.binds = {{HELX_SOURCE_DIR}, {HELX_BUILD_DIR}};
  const ProcessResult result =
      Shell(std::string(HELX_QEMU_TEST) + " --gtest_filter=*QemuTest.ReportsOutputs*/corstone_300:*QemuHangTest.By*/corstone_300");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, ::testing::AnyOf(HasSubstr("PASSED  ] 4 tests"), HasSubstr("SKIPPED")));
}

TEST_F(SandboxTest, TheWholeTreeDiesAtTheLimit) {
  // A mark that no other process carries.
  const std::string mark = "4242." + std::to_string(getpid());
  limit_ = std::chrono::milliseconds(700);
  const ProcessResult result =
      Shell("(setsid sleep " + mark + " &) ; (sleep " + mark + " &); sleep " + mark);
  EXPECT_TRUE(result.timed_out);
  auto alive = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string line((std::istreambuf_iterator<char>(file)), {});
      if (line.rfind("sleep", 0) == 0 && line.find(mark) != std::string::npos) ++count;
    }
    return count;
  };
  for (int i = 0; i < 100 && alive() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(alive(), 0);
}

TEST_F(SandboxTest, ReportsWhatTheHostCanDo) {
  const SandboxReport report = ProbeSandbox();
  ASSERT_EQ(report.capabilities.size(), 5u);
  for (const Capability& capability : report.capabilities) {
    EXPECT_TRUE(capability.available) << capability.name << ": " << capability.detail;
    EXPECT_FALSE(capability.detail.empty());
  }
}

TEST(SandboxArgumentsTest, NeverShareTheNetworkOrTheHostsRoot) {
  Command command;
  command.argv = {"/usr/bin/true"};
  const auto argv = SandboxArguments({}, command);
  EXPECT_THAT(argv, ::testing::Contains("--unshare-all"));
  EXPECT_THAT(argv, ::testing::Contains("--die-with-parent"));
  EXPECT_THAT(argv, Not(::testing::Contains("--share-net")));
  EXPECT_THAT(argv, Not(::testing::Contains("/")));
}

}  // namespace
}  // namespace helx::sandbox

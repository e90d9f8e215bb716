#include "tests/integration/service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "worker/sandbox/process.h"

namespace helx::testing {
namespace {

namespace fs = std::filesystem;

std::string BinFolder() { return std::string(HELX_BUILD_DIR) + "/bin"; }

// Kernels are named by their content, so all tests may share them; everything else is a test's own.
std::string KernelCache() { return std::string(HELX_BUILD_DIR) + "/test-cache"; }

std::vector<std::string> Environment(const std::string& home,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> environment = {
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "XDG_CACHE_HOME=" + KernelCache(),
      "XDG_DATA_HOME=" + home + "/share", "XDG_CONFIG_HOME=" + home + "/config",
      "XDG_RUNTIME_DIR=" + home + "/run", "LC_ALL=C.UTF-8"};
  for (const std::string& entry : more) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name); });
    environment.push_back(entry);
  }
  return environment;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Puts a disk of its own at `folder`, in a mount namespace of this process.
bool MountDisk(const std::string& folder, int64_t bytes) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0) return false;
  if (uid != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  path_ = "/tmp/helx-test.XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) std::abort();
  fs::create_directories(path_ + "/run");
  fs::permissions(path_ + "/run", fs::perms(0700));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Json CommandResult::json() const {
  const auto parsed = ParseJson(out);
  return parsed.ok() ? *parsed : Json();
}

CommandResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& directory,
                         const std::vector<std::string>& environment,
                         std::chrono::seconds limit) {
  sandbox::Command command;
  command.argv = {program.find('/') == std::string::npos ? BinFolder() + "/" + program : program};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.directory = directory;
  command.environment = Environment(directory, environment);
  command.limit = limit;
  command.output_limit = size_t{64} << 20;
  const auto result = sandbox::Run(command);
  if (!result.ok()) return {-1, "", MessageOf(result.status())};
  return {result->timed_out ? -2 : result->exit_code, result->out, result->err};
}

Service::Service(ServiceOptions options) : options_(std::move(options)) {}

Service::~Service() {
  if (running()) Kill();
  // Workers notice that helxd is gone; a test must not leave them to the next one.
  for (pid_t worker : Workers()) kill(worker, SIGKILL);
}

void Service::Start() {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  // A restarted service keeps its address: clients find it again.
  const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
  std::vector<std::string> argv = {BinFolder() + "/helxd", "--listen",  listen,
                                   "--data-dir",           data_folder(), "--insecure",
                                   "--workers",            std::to_string(options_.workers)};
  argv.insert(argv.end(), options_.arguments.begin(), options_.arguments.end());
  const std::vector<std::string> environment = Environment(folder(), options_.environment);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const std::string log = folder() + "/helxd.log";
  fs::create_directories(data_folder());
  fs::permissions(data_folder(), fs::perms(0700));
  pid_ = fork();
  ASSERT_GE(pid_, 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (options_.disk_bytes > 0 && !MountDisk(data_folder(), options_.disk_bytes)) _exit(126);
    const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(ends[1], 1);
    dup2(log_fd, 2);
    execve(argv_pointers[0], argv_pointers.data(), environment_pointers.data());
    _exit(127);
  }
  close(ends[1]);
  std::string line;
  char c = 0;
  while (read(ends[0], &c, 1) == 1 && c != '\n') line.push_back(c);
  close(ends[0]);
  ASSERT_TRUE(line.starts_with("listening ")) << "helxd said: " << line << "\n" << Log();
  address_ = line.substr(10);
}

void Service::Kill() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Service::Stop() {
  if (!running()) return -1;
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<pid_t> Service::Workers() const {
  std::vector<pid_t> workers;
  for (const auto& item : fs::directory_iterator("/proc")) {
    const std::string name = item.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(item.path().string() + "/cmdline", std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const std::string cmdline = text.str();
    const std::string program = cmdline.substr(0, cmdline.find('\0'));
    if (program.ends_with("/helx-worker") && cmdline.find(folder()) != std::string::npos) {
      workers.push_back(std::stoi(name));
    }
  }
  return workers;
}

std::string Service::Log() const {
  std::ifstream in(folder() + "/helxd.log", std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string Service::DataFolderAsSeen() const {
  return options_.disk_bytes == 0 ? data_folder()
                                  : "/proc/" + std::to_string(pid_) + "/root" + data_folder();
}

std::string Service::WriteExperiment(const std::string& name, const std::string& yaml) const {
  const std::string path = folder() + "/" + name + ".yaml";
  Spill(path, yaml);
  return path;
}

CommandResult Service::Helxctl(std::vector<std::string> arguments) const {
  return HelxctlIn(folder(), std::move(arguments));
}

CommandResult Service::HelxctlIn(const std::string& directory,
                                 std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"--server", address_});
  return RunProgram("helxctl", arguments, directory);
}

std::string ModelsFolder() {
  const char* folder = std::getenv("HELX_MODELS");
  if (folder != nullptr && *folder != '\0') return folder;
  const char* required = std::getenv("HELX_REQUIRE_MODELS");
  if (required != nullptr && std::string(required) == "1") {
    ADD_FAILURE() << "HELX_REQUIRE_MODELS=1, but HELX_MODELS names no folder";
  }
  return "";
}

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void Spill(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  EXPECT_TRUE(out.good()) << "cannot write " << path;
}

}  // namespace helx::testing

// A helxd of the test's own, with real workers, in a folder that goes away.
#ifndef HELX_TESTS_INTEGRATION_SERVICE_H_
#define HELX_TESTS_INTEGRATION_SERVICE_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace helx::testing {

// Removed with everything below it at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
  Json json() const;  // of `out`; null when it is not JSON
};

// Runs a program of this build ("helxctl", ...) in `directory` with `environment` added to a clean one.
CommandResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& directory,
                         const std::vector<std::string>& environment = {},
                         std::chrono::seconds limit = std::chrono::seconds(300));

struct ServiceOptions {
  int workers = 2;
  std::vector<std::string> arguments;    // more of helxd's
  std::vector<std::string> environment;  // more of helxd's, workers' included
  // Not 0: the data folder is a disk of this many bytes, which only helxd and its workers see at its place; others through
  // DataFolderAsSeen().
  int64_t disk_bytes = 0;
};

class Service {
 public:
  explicit Service(ServiceOptions options = {});
  ~Service();

  // Starts helxd on a free loopback port, without TLS; fails the test when it does not come up.
  void Start();
  // SIGKILL to helxd alone; its workers see it go.
  void Kill();
  // SIGTERM; the exit status.
  int Stop();
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  const std::string& address() const { return address_; }
  std::string data_folder() const { return scratch_.path() + "/data"; }
  std::string DataFolderAsSeen() const;
  const std::string& folder() const { return scratch_.path(); }
  // Process ids of live helx-worker processes of this service.
  std::vector<pid_t> Workers() const;
  // What helxd and its workers wrote to stderr so far.
  std::string Log() const;

  // Writes {name}.yaml into the service's folder; its path.
  std::string WriteExperiment(const std::string& name, const std::string& yaml) const;

  // helxctl --server <address> with these arguments, in the service's scratch folder.
  CommandResult Helxctl(std::vector<std::string> arguments) const;
  CommandResult HelxctlIn(const std::string& directory, std::vector<std::string> arguments) const;

 private:
  ServiceOptions options_;
  ScratchFolder scratch_;
  std::string address_;
  pid_t pid_ = -1;
};

// The folder of real models, or empty; then the caller skips (or fails with HELX_REQUIRE_MODELS=1).
std::string ModelsFolder();

// Skips the running test when the real models are absent, unless they are required.
#define HELX_NEED_MODELS()                                                       \
  if (::helx::testing::ModelsFolder().empty()) {                                 \
    GTEST_SKIP() << "HELX_MODELS does not name the folder of real models";       \
  }

// Whole file; fails the test when it cannot be read.
std::string Slurp(const std::string& path);
void Spill(const std::string& path, const std::string& content);

}  // namespace helx::testing

#endif  // HELX_TESTS_INTEGRATION_SERVICE_H_

// helx-action: one action, inside the sandbox. Standard output is the record stream of action_stream.h.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "worker/agent/action.h"

namespace {

// Records must arrive whole; when the agent is gone there is nobody left to tell.
void WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: helx-action INPUT_FOLDER KERNELS_FOLDER\n");
    return 2;
  }
  // In the sandbox /tmp is memory of its own; elsewhere the folder must not outlive the action.
  std::string work = "/tmp/helx-action.XXXXXX";
  if (mkdtemp(work.data()) == nullptr) {
    std::perror("cannot create a folder in /tmp");
    return 1;
  }
  helx::agent::ActionContext context;
  context.input_folder = argv[1];
  context.kernels_folder = argv[2];
  context.work_folder = work;
  context.emit = [](helx::agent::RecordType type, std::string_view name,
                    std::string_view payload) {
    WriteAll(helx::agent::EncodeRecord(type, name, payload));
  };
  helx::agent::RunAction(context);
  std::error_code ignored;
  std::filesystem::remove_all(work, ignored);
  _exit(0);  // everything is written; destructors of libraries would only cost time
}

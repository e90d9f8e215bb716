// helxctl, also installed as helx.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <stop_token>
#include <thread>

#include "client/cli/command.h"

namespace {

// The first Ctrl-C asks the command to stop and say how to come back; a second one ends the process at once.
void HandleInterrupts(std::stop_source source) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  int signal = 0;
  if (sigwait(&interrupt, &signal) != 0) return;
  source.request_stop();
  if (sigwait(&interrupt, &signal) == 0) _exit(130);
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);  // before any other thread exists
  std::stop_source source;
  std::thread(HandleInterrupts, source).detach();
  const std::string program =
      argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "helxctl";
  const int code = helx::cli::RunCli(program, {argv + (argc > 0 ? 1 : 0), argv + argc},
                                     helx::client::Environment::OfProcess(), std::cout, std::cerr,
                                     isatty(STDERR_FILENO) == 1, source.get_token());
  std::cout.flush();
  std::cerr.flush();
  // Everything is said and written; the destructors of libraries would only cost time.
  if (std::cout.good()) _exit(code);
  std::cerr << program << ": cannot write the answer to standard output" << std::endl;
  _exit(code == 0 ? 7 : code);
}

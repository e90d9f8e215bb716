// A stand-in for helxd in tests of starting it: takes the same command line, accepts connections on
// the socket, and fails when the file "refuse", "hang", "served" or "in_use" (which it removes) is
// in its data folder. Each start adds a line to "starts" there.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  const std::string data = flags["--data-dir"];
  const std::string socket_path = flags["--listen"].substr(std::strlen("unix:"));
  std::ofstream(data + "/starts", std::ios::app) << getpid() << "\n";
  alarm(60);  // never outlives a broken test for long
  if (access((data + "/refuse").c_str(), F_OK) == 0) {
    for (int i = 1; i <= 20; ++i) std::fprintf(stderr, "line %d of the log\n", i);
    return 1;
  }
  if (unlink((data + "/in_use").c_str()) == 0) {
    std::fprintf(stderr, "helxd: data folder %s is in use by another helxd\n", data.c_str());
    return 2;
  }
  if (access((data + "/served").c_str(), F_OK) == 0) {
    std::fprintf(stderr,
                 "helxd: data folder %s is in use by another helxd (process 7, serving on "
                 "127.0.0.1:7411); stop it or choose another --data-dir\n",
                 data.c_str());
    return 2;
  }
  if (access((data + "/hang").c_str(), F_OK) == 0) {
    pause();
    return 1;
  }
  usleep(100'000);  // long enough for others to try the same meanwhile
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 2;
  if (listen(listener, 64) != 0) return 3;
  for (;;) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection >= 0) close(connection);
  }
}

// What a command tells about its way on stderr: one moving line on a terminal, plain lines elsewhere.
#ifndef HELX_CLIENT_CLI_PROGRESS_H_
#define HELX_CLIENT_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace helx::cli {

// Not thread-safe.
class Progress {
 public:
  Progress(std::ostream& err, bool terminal) : err_(err), terminal_(terminal) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void SetQuiet(bool quiet) { quiet_ = quiet; }

  // A step reached: replaces the moving line, or is a line of its own.
  void Step(std::string_view text);
  // Bytes moved: a bar on a terminal; elsewhere a line when large transfers begin and end.
  void Transfer(std::string_view what, int64_t done, int64_t total);
  // Removes the moving line, so that something else can be printed.
  void Clear();

 private:
  void Draw(const std::string& line);

  std::ostream& err_;
  bool terminal_;
  bool quiet_ = false;
  bool drawn_ = false;
  bool transferring_ = false;
  std::chrono::steady_clock::time_point last_draw_{};
};

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_PROGRESS_H_

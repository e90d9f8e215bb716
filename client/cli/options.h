// The options of a verb. Keeps the command-line library out of the verbs (it is slow to compile,
// and it throws).
#ifndef HELX_CLIENT_CLI_OPTIONS_H_
#define HELX_CLIENT_CLI_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace helx::cli {

// `names` is "-o,--output" for an option, "target" for a positional argument, "file,-c,--config"
// for both. The values are written when the command line is parsed; what is not given leaves them
// as they are.
class Options {
 public:
  enum class Need { kOptional, kRequired };

  explicit Options(CLI::App& app) : app_(app) {}

  void Flag(const std::string& names, bool& value, const std::string& help);
  // UTF-8, not empty unless it is a positional argument.
  void Text(const std::string& names, std::string& value, const std::string& help,
            Need need = Need::kOptional);
  // The path of a file or a folder: any bytes, not empty.
  void Path(const std::string& names, std::string& value, const std::string& help,
            Need need = Need::kOptional);
  // One or more.
  void Texts(const std::string& names, std::vector<std::string>& values, const std::string& help,
             Need need = Need::kOptional);
  // Any number of `allowed`, compared without case.
  void Choices(const std::string& names, std::vector<std::string>& values,
               const std::vector<std::string>& allowed, const std::string& help);
  // Refuses what is not an integer from `least` to `most`.
  void Integer(const std::string& names, int64_t& value, int64_t least, int64_t most,
               const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_OPTIONS_H_

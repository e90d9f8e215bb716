#include "client/cli/options.h"

#include "core/commandline/strict.h"

namespace helx::cli {
void Options::Flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help);
}

void Options::Text(const std::string& names, std::string& value, const std::string& help,
                   Need need) {
  app_.add_option(names, value, help)->required(need == Need::kRequired);
}

void Options::Path(const std::string& names, std::string& value, const std::string& help,
                   Need need) {
  app_.add_option(names, value, help)
      ->transform(commandline::Path())
      ->required(need == Need::kRequired);
}

void Options::Texts(const std::string& names, std::vector<std::string>& values,
                    const std::string& help, Need need) {
  app_.add_option(names, values, help)->required(need == Need::kRequired);
}

void Options::Choices(const std::string& names, std::vector<std::string>& values,
                      const std::vector<std::string>& allowed, const std::string& help) {
  app_.add_option(names, values, help)->transform(CLI::IsMember(allowed, CLI::ignore_case));
}

void Options::Integer(const std::string& names, int64_t& value, int64_t least, int64_t most,
                      const std::string& help) {
  app_.add_option(names, value, help)->check(CLI::Range(least, most));
}

}  // namespace helx::cli

#include "client/cli/options.h"

#include <CLI/CLI.hpp>

namespace helx::cli {
namespace {

// An option that is given has a value: "-o ''" is no place, and not the same as no -o.
void RefuseNothing(const std::string& names, CLI::Option* option) {
  if (!names.starts_with('-')) return;
  option->check([](const std::string& value) {
    return value.empty() ? std::string("found an empty text; give a value, or leave the option out")
                         : std::string();
  });
}

}  // namespace

void Options::Flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help);
}

void Options::Text(const std::string& names, std::string& value, const std::string& help,
                   Need need) {
  CLI::Option* option = app_.add_option(names, value, help);
  option->required(need == Need::kRequired);
  RefuseNothing(names, option);
}

void Options::Texts(const std::string& names, std::vector<std::string>& values,
                    const std::string& help, Need need) {
  CLI::Option* option = app_.add_option(names, values, help);
  option->required(need == Need::kRequired);
  RefuseNothing(names, option);
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

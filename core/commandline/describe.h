// A program's command line as data, of which manual pages and shell completion are made
// (deploy/command_lines.py). Header-only, on CLI11.
#ifndef HELX_CORE_COMMANDLINE_DESCRIBE_H_
#define HELX_CORE_COMMANDLINE_DESCRIBE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/commandline/strict.h"

namespace helx::commandline {

// The only argument that asks for it; not in --help, since people have the manual page.
inline constexpr std::string_view kDescribe = "--describe-command-line";

// {"names": ["-o", "--output"], "help", "value": null | "INT" | "TEXT" | "PATH" | "CHOICE",
// "choices": [text], "default": text,
//  "required", "positional", "repeatable", "environment": text}
inline Json DescribeOption(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name(true));
  const std::string type = option.get_type_name();
  Json value;
  Json choices = Json::array();
  if (option.get_items_expected_max() > 0) {
    value = type.find(kPathType) != std::string::npos             ? "PATH"
            : type.starts_with("INT") || type.starts_with("UINT") ? "INT"
                                                                  : "TEXT";
    // CLI::IsMember describes itself as {a,b,c}.
    const size_t open = type.find('{'), close = type.rfind('}');
    if (open != std::string::npos && close != std::string::npos) {
      value = "CHOICE";
      std::string rest = type.substr(open + 1, close - open - 1) + ",";
      for (size_t comma; (comma = rest.find(',')) != std::string::npos; rest.erase(0, comma + 1)) {
        choices.push_back(rest.substr(0, comma));
      }
    }
  }
  return {{"names", std::move(names)},
          {"help", option.get_description()},
          {"value", std::move(value)},
          {"choices", std::move(choices)},
          {"default", option.get_default_str()},
          {"required", option.get_required()},
          {"positional", option.get_positional()},
          {"repeatable", option.get_expected_max() > 1},
          {"environment", option.get_envname()}};
}

// {"name", "summary", "options": [option], "verbs": [the same of each verb]}
inline Json Describe(const CLI::App& app) {
  Json options = Json::array();
  for (const CLI::Option* option : app.get_options()) options.push_back(DescribeOption(*option));
  Json verbs = Json::array();
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(Describe(*verb));
  }
  return {{"name", app.get_name()},
          {"summary", app.get_description()},
          {"options", std::move(options)},
          {"verbs", std::move(verbs)}};
}

}  // namespace helx::commandline

#endif  // HELX_CORE_COMMANDLINE_DESCRIBE_H_

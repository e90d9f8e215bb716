// How every program of HELX reads its command line: what looks like one value is never taken for
// another. Header-only, on CLI11, whose errors it answers in.
#ifndef HELX_CORE_COMMANDLINE_STRICT_H_
#define HELX_CORE_COMMANDLINE_STRICT_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "core/base/json.h"

namespace helx::commandline {

inline constexpr char kPathType[] = "PATH";
inline constexpr char kEmptyText[] = "found an empty text; give a value, or leave the option out";

// A path: any bytes, at least one.
inline CLI::Validator Path() {
  return CLI::Validator(
      [](std::string& text) { return std::string(text.empty() ? kEmptyText : ""); }, kPathType);
}

// The same, made absolute: what is started from another folder finds it too.
inline CLI::Validator AbsolutePath() {
  return CLI::Validator(
      [](std::string& text) {
        if (text.empty()) return std::string(kEmptyText);
        text = std::filesystem::absolute(text).string();
        return std::string();
      },
      kPathType);
}

// Why `text` is no decimal integer; empty when it is one. The library would read 010 as 8 and 0x10
// as 16.
inline std::string WhyNotDecimal(const std::string& text) {
  const std::string digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool decimal =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  if (decimal && (digits == "0" || digits[0] != '0')) return "";
  return "found \"" + text + "\"; allowed are decimal integers without leading zeros";
}

// Adds to every option of the program and of its verbs: integers are decimal, text is UTF-8 (but
// for paths), and an option that is given has a value. To be called when all options are there.
inline void BeStrict(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT")) {
      option->check([](const std::string& text) { return WhyNotDecimal(text); });
    } else if (type.starts_with("TEXT")) {
      const bool path = type.find(kPathType) != std::string::npos;
      // "-o ''" is no place, and not the same as no -o. What an empty argument is, its verb says.
      const bool may_be_empty = option->get_positional();
      option->check([=](const std::string& text) {
        if (text.empty() && !may_be_empty) return std::string(kEmptyText);
        return std::string(path || IsUtf8(text) ? "" : "found bytes that are not UTF-8 text");
      });
    }
  }
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) BeStrict(*verb);
}

}  // namespace helx::commandline

#endif  // HELX_CORE_COMMANDLINE_STRICT_H_

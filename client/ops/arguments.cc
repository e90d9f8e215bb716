#include "client/ops/arguments.h"

#include <algorithm>

namespace helx::ops {
namespace {

bool Contains(const std::vector<std::string_view>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::string Arguments::Get(std::string_view name, std::string_view otherwise) const {
  const auto at = options.find(name);
  return at == options.end() ? std::string(otherwise) : at->second.back();
}

std::vector<std::string> Arguments::All(std::string_view name) const {
  const auto at = options.find(name);
  return at == options.end() ? std::vector<std::string>() : at->second;
}

std::optional<Arguments> ParseArguments(const std::vector<std::string>& words,
                                        const std::vector<std::string_view>& known,
                                        const std::vector<std::string_view>& repeatable,
                                        std::string* error) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty() || word[0] != '-') {
      arguments.words.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const bool inline_value = equals != std::string::npos;
    const std::string option = word.substr(0, equals);
    const std::string name = option.compare(0, 2, "--") == 0 ? option.substr(2) : "";
    const bool may_repeat = Contains(repeatable, name);
    if (!may_repeat && !Contains(known, name)) {
      *error = "there is no option " + option;
      return std::nullopt;
    }
    std::string value;
    if (inline_value) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    if (!value.empty() && (may_repeat || !arguments.Has(name))) {
      arguments.options[name].push_back(std::move(value));
      continue;
    }
    *error = option + (value.empty() ? " lacks its value" : " is given twice");
    return std::nullopt;
  }
  return arguments;
}

bool IsSetName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

std::optional<std::pair<std::string, std::string>> SplitPair(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at + 1 == text.size()) return std::nullopt;
  if (!IsSetName(std::string_view(text).substr(0, at))) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

}  // namespace helx::ops

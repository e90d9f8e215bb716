// The command line of wai-verify: words, and options of the form --name value or --name=value.
#ifndef HELX_CLIENT_OPS_ARGUMENTS_H_
#define HELX_CLIENT_OPS_ARGUMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace helx::ops {

struct Arguments {
  std::vector<std::string> words;
  // Every value given for an option, in order.
  std::map<std::string, std::vector<std::string>, std::less<>> options;

  bool Has(std::string_view name) const { return options.find(name) != options.end(); }
  // The last value, or `otherwise`.
  std::string Get(std::string_view name, std::string_view otherwise) const;
  // The values of a repeatable option.
  std::vector<std::string> All(std::string_view name) const;
};

// What begins with '-' names an option, unless it is an option's value. Empty, with `*error`, for
// an option that is not in `known`, whose value lacks or is empty, or that is given twice and is
// not in `repeatable` (docs/integer-operators.md, section 14.6).
std::optional<Arguments> ParseArguments(const std::vector<std::string>& words,
                                        const std::vector<std::string_view>& known,
                                        const std::vector<std::string_view>& repeatable,
                                        std::string* error);

// Whether `name` may name a member, a role or a field: letters, digits, '_' and '.', at least one.
bool IsSetName(std::string_view name);

// "name=value" split at the first '='; empty when `name` is not a set name or the value is empty.
std::optional<std::pair<std::string, std::string>> SplitPair(const std::string& text);

}  // namespace helx::ops

#endif  // HELX_CLIENT_OPS_ARGUMENTS_H_

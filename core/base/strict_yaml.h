// A strict reader of one YAML document, over yaml-cpp's event parser.
//
// Refused, each with file, line and key path: text that is not UTF-8 or holds control characters,
// more than one document, anchors and aliases, explicit tags, duplicate keys, keys that are not
// text, and whatever passes the limits. Scalars are decoded by what the reader of a field expects,
// never guessed: see yaml_scalar.h for the false friends.
#ifndef HELX_CORE_BASE_STRICT_YAML_H_
#define HELX_CORE_BASE_STRICT_YAML_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/status.h"

namespace helx {

struct YamlLimits {
  size_t bytes = 40u << 20;
  size_t depth = 32;       // nested mappings and sequences
  size_t nodes = 100'000;  // scalars (keys included), mappings and sequences
  size_t key_bytes = 256;
};

// One value. Lives as long as its YamlDocument.
class YamlNode {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  Kind kind() const { return kind_; }
  // "a mapping", "a list", "nothing", or the scalar as it stands, shortened.
  std::string Found() const;
  // From the document's root: "defaults.fvp.tensor_io.inputs[0].dtype"; "document" for the root
  // itself.
  std::string Path() const;
  // "file:line: key.path", as messages begin.
  std::string Where() const;
  int line() const { return line_; }  // from 1; of the key for a member of a mapping

  const std::vector<const YamlNode*>& items() const { return items_; }
  const std::vector<std::pair<std::string, const YamlNode*>>& members() const { return members_; }
  // The member of that name, or nullptr.
  const YamlNode* Find(std::string_view key) const;
  // The deepest existing node on a path relative to this one, written as Path() writes it.
  const YamlNode& Nearest(std::string_view relative_path) const;

  // INVALID_ARGUMENT "<file>:<line>: <path>: <message> [<code>]", carrying the code (ErrorCodeOf).
  absl::Status Error(std::string_view code, std::string_view message) const;

  absl::Status ExpectMapping() const;
  absl::Status ExpectSequence() const;
  // Refuses a member whose key is not among `known`, naming the nearest one. Checks ExpectMapping
  // first.
  absl::Status CheckKeys(std::initializer_list<std::string_view> known) const;

  // Text: quoted, or plain and not something another YAML reader would take for a number, boolean
  // or null.
  absl::StatusOr<std::string> Text() const;
  // The same without a copy; valid as long as the document.
  absl::StatusOr<std::string_view> TextView() const;
  // true or false, plain.
  absl::StatusOr<bool> Boolean() const;
  // A plain decimal integer without leading zero within [least, most].
  absl::StatusOr<int64_t> Integer(int64_t least, int64_t most) const;
  // A plain finite decimal number >= 0 as the shortest text that reads back as the same double.
  absl::StatusOr<std::string> NonNegativeNumber() const;
  // The value as JSON, which every YAML reader takes for the same: quoted scalars are text; plain
  // ones are true, false, a decimal number, or text that nothing else is taken for. Refuses plain
  // scalars that YAML readers disagree on (code ambiguous_text).
  absl::StatusOr<Json> ToJson() const;
  // Text that is one of `allowed`.
  absl::StatusOr<std::string> OneOf(std::initializer_list<std::string_view> allowed) const;

 private:
  friend class YamlTreeBuilder;

  absl::StatusOr<Json> ScalarToJson() const;

  Kind kind_ = Kind::kNull;
  bool quoted_ = false;
  int line_ = 0;
  const std::string* file_ = nullptr;
  const YamlNode* parent_ = nullptr;
  std::string key_;      // in a mapping
  size_t position_ = 0;  // in a sequence
  std::string scalar_;
  std::vector<const YamlNode*> items_;
  std::vector<std::pair<std::string, const YamlNode*>> members_;
};

class YamlDocument {
 public:
  const YamlNode& root() const { return nodes_.front(); }

 private:
  friend class YamlTreeBuilder;
  friend absl::StatusOr<std::unique_ptr<const YamlDocument>> ParseYaml(std::string_view,
                                                                       std::string,
                                                                       const YamlLimits&);
  std::string file_;
  std::deque<YamlNode> nodes_;  // a deque keeps addresses
};

// `file_name` is for messages only.
absl::StatusOr<std::unique_ptr<const YamlDocument>> ParseYaml(std::string_view text,
                                                              std::string file_name,
                                                              const YamlLimits& limits = {});

}  // namespace helx

#endif  // HELX_CORE_BASE_STRICT_YAML_H_

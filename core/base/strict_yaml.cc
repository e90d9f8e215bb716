#include "core/base/strict_yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <istream>
#include <optional>
#include <streambuf>
#include <unordered_set>

#include "core/base/json.h"
#include "core/base/yaml_scalar.h"

namespace helx {
namespace {

absl::Status FileError(const std::string& file, int line, std::string_view code,
                       std::string_view message) {
  return WithErrorCode(InvalidArgument(file + ":" + std::to_string(line) + ": " +
                                       std::string(message) + " [" + std::string(code) + "]"),
                       code);
}

// "did you mean x? Allowed: ", the first half only where a known name is near.
std::string DidYouMean(std::string_view text, std::initializer_list<std::string_view> known) {
  const std::string_view nearest = NearestName(text, known);
  return nearest.empty() ? "allowed: " : "did you mean " + std::string(nearest) + "? Allowed: ";
}

int LineOf(std::string_view text, size_t offset) {
  int line = 1;
  for (char c : text.substr(0, offset)) line += c == '\n';
  return line;
}

absl::Status CheckText(std::string_view text, const std::string& file, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return FileError(file, 1, "document_too_large",
                     "the document has " + std::to_string(text.size()) + " bytes; the limit is " +
                         std::to_string(limits.bytes));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t') continue;
    return FileError(file, LineOf(text, i), "control_character",
                     "found the control character " + std::to_string(byte) + " at byte " +
                         std::to_string(i) + "; a document is UTF-8 text");
  }
  if (IsUtf8(text)) return absl::OkStatus();
  // Line by line: a line feed never lies inside a UTF-8 sequence.
  size_t start = 0;
  while (start < text.size()) {
    const size_t feed = std::min(text.find('\n', start), text.size());
    if (!IsUtf8(text.substr(start, feed - start))) break;
    start = feed + 1;
  }
  return FileError(file, LineOf(text, std::min(start, text.size())), "not_utf8",
                   "the line is not valid UTF-8; save the document as UTF-8");
}

// Reads a string_view without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // a get area is never written to
    setg(begin, begin, begin + text.size());
  }
};

// Carries a refusal out of yaml-cpp's parser; caught in ParseYaml.
struct Refusal {
  absl::Status status;
};

}  // namespace

std::string YamlNode::Found() const {
  switch (kind_) {
    case Kind::kNull:
      return "nothing";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kScalar:
      break;
  }
  return (quoted_ ? "the quoted text " : "") + ShownText(scalar_);
}

std::string YamlNode::Path() const {
  std::vector<const YamlNode*> chain;
  for (const YamlNode* node = this; node->parent_ != nullptr; node = node->parent_) {
    chain.push_back(node);
  }
  if (chain.empty()) return "document";
  std::string path;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const YamlNode& node = **it;
    if (node.parent_->kind_ == Kind::kSequence) {
      path += "[" + std::to_string(node.position_) + "]";
    } else {
      path += (path.empty() ? "" : ".") + node.key_;
    }
  }
  return path;
}

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const auto& [name, node] : members_) {
    if (name == key) return node;
  }
  return nullptr;
}

const YamlNode& YamlNode::Nearest(std::string_view path) const {
  const YamlNode* node = this;
  while (!path.empty()) {
    const YamlNode* next = nullptr;
    size_t used = 0;
    if (path[0] == '[') {
      used = path.find(']');
      if (used == std::string_view::npos) break;
      const auto position = ParsePlainInteger(path.substr(1, used - 1));
      ++used;
      if (position && *position >= 0 && static_cast<size_t>(*position) < node->items_.size()) {
        next = node->items_[static_cast<size_t>(*position)];
      }
    } else {
      if (path[0] == '.') path.remove_prefix(1);
      used = std::min(path.find_first_of(".["), path.size());
      next = node->Find(path.substr(0, used));
    }
    if (next == nullptr) break;
    node = next;
    path.remove_prefix(used);
  }
  return *node;
}

std::string YamlNode::Where() const {
  return *file_ + ":" + std::to_string(line_) + ": " + Path();
}

absl::Status YamlNode::Error(std::string_view code, std::string_view message) const {
  return FileError(*file_, line_, code, Path() + ": " + std::string(message));
}

absl::Status YamlNode::ExpectMapping() const {
  if (kind_ == Kind::kMapping) return absl::OkStatus();
  return Error("wrong_type", "found " + Found() + "; allowed: a mapping (key: value)");
}

absl::Status YamlNode::ExpectSequence() const {
  if (kind_ == Kind::kSequence) return absl::OkStatus();
  return Error("wrong_type", "found " + Found() + "; allowed: a list");
}

absl::Status YamlNode::CheckKeys(std::initializer_list<std::string_view> known) const {
  HELX_RETURN_IF_ERROR(ExpectMapping());
  for (const auto& [key, node] : members_) {
    bool found = false;
    for (std::string_view name : known) found = found || name == key;
    if (found) continue;
    return node->Error("unknown_key", "unknown key " + ShownText(key) + "; " +
                                          DidYouMean(key, known) + JoinNames(known));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> YamlNode::TextView() const {
  if (kind_ != Kind::kScalar) {
    return Error("wrong_type", "found " + Found() + "; allowed: text");
  }
  if (!quoted_) {
    const std::string_view other = PlainScalarAmbiguity(scalar_);
    if (!other.empty()) {
      return Error("ambiguous_text", "found " + Found() + ", which some YAML readers take for " +
                                         std::string(other) + "; put text like this in quotes");
    }
  }
  return std::string_view(scalar_);
}

absl::StatusOr<std::string> YamlNode::Text() const {
  HELX_ASSIGN_OR_RETURN(const std::string_view view, TextView());
  return std::string(view);
}

absl::StatusOr<bool> YamlNode::Boolean() const {
  if (kind_ == Kind::kScalar && !quoted_ && scalar_ == "true") return true;
  if (kind_ == Kind::kScalar && !quoted_ && scalar_ == "false") return false;
  return Error("wrong_type", "found " + Found() + "; allowed: true or false, without quotes");
}

absl::StatusOr<int64_t> YamlNode::Integer(int64_t least, int64_t most) const {
  const std::string allowed =
      "a decimal integer from " + std::to_string(least) + " to " + std::to_string(most);
  if (kind_ != Kind::kScalar || quoted_) {
    return Error("wrong_type", "found " + Found() + "; allowed: " + allowed + ", without quotes");
  }
  const auto value = ParsePlainInteger(scalar_);
  if (!value && IsPlainInteger(scalar_)) {
    return Error("out_of_range", "found " + Found() + "; allowed: " + allowed);
  }
  if (!value) {
    const bool leading_zero = scalar_.size() > 1 && scalar_[0] == '0' &&
                              scalar_.find_first_not_of("0123456789") == std::string::npos;
    return Error(
        "wrong_type",
        "found " + Found() +
            (leading_zero ? ", which some YAML readers take for octal; allowed: " : "; allowed: ") +
            allowed + " without leading zero");
  }
  if (*value < least || *value > most) {
    return Error("out_of_range", "found " + Found() + "; allowed: " + allowed);
  }
  return *value;
}

absl::StatusOr<std::string> YamlNode::NonNegativeNumber() const {
  if (kind_ != Kind::kScalar || quoted_) {
    return Error("wrong_type",
                 "found " + Found() + "; allowed: a finite number >= 0, without quotes");
  }
  auto text = ShortestNonNegative(scalar_);
  if (!text.ok()) return Error(ErrorCodeOf(text.status()), MessageOf(text.status()));
  return text;
}

absl::StatusOr<Json> YamlNode::ScalarToJson() const {
  if (quoted_ || PlainScalarAmbiguity(scalar_).empty()) return Json(scalar_);
  if (scalar_ == "true" || scalar_ == "false") return Json(scalar_ == "true");
  if (const auto integer = ParsePlainInteger(scalar_)) return Json(*integer);
  const auto shortest = ShortestNonNegative(scalar_);
  if (shortest.ok()) {
    double value = 0;
    std::from_chars(shortest->data(), shortest->data() + shortest->size(), value);
    return Json(value);
  }
  return Error("ambiguous_text", "found " + Found() +
                                     ", which YAML readers disagree on; write true, false, a "
                                     "decimal number, or text in quotes");
}

absl::StatusOr<Json> YamlNode::ToJson() const {
  switch (kind_) {
    case Kind::kNull:
      return Json();
    case Kind::kScalar:
      return ScalarToJson();
    case Kind::kSequence: {
      Json list = Json::array();
      for (const YamlNode* item : items_) {
        HELX_ASSIGN_OR_RETURN(Json value, item->ToJson());
        list.push_back(std::move(value));
      }
      return list;
    }
    case Kind::kMapping:
      break;
  }
  Json object = Json::object();
  for (const auto& [name, member] : members_) {
    HELX_ASSIGN_OR_RETURN(object[name], member->ToJson());
  }
  return object;
}

absl::StatusOr<std::string> YamlNode::OneOf(std::initializer_list<std::string_view> allowed) const {
  if (kind_ == Kind::kScalar) {
    for (std::string_view name : allowed) {
      if (scalar_ == name) return scalar_;
    }
  }
  return Error("not_allowed", "found " + Found() + "; " +
                                  DidYouMean(kind_ == Kind::kScalar ? scalar_ : "", allowed) +
                                  JoinNames(allowed));
}

// Receives yaml-cpp's events and builds the tree, refusing as soon as something is not allowed.
class YamlTreeBuilder : public YAML::EventHandler {
 public:
  // `text` is what the parser counts positions in.
  YamlTreeBuilder(YamlDocument* document, std::string_view text, const YamlLimits& limits)
      : document_(document), text_(text), limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Refuse(mark, "second_document", "a second YAML document begins here; one is allowed");
    }
  }
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "alias", "aliases (*name) are not allowed; write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Refuse(mark, "anchor", "anchors (&name) are not allowed; write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckProperties(mark, "?", anchor);
    if (ExpectsKey()) Refuse(mark, "wrong_key", "found an empty key; a key is text");
    Add(mark, YamlNode::Kind::kNull);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckProperties(mark, tag, anchor);
    if (!IsUtf8(value)) {
      Refuse(mark, "nul_character", "found a NUL character in a scalar; text holds none");
    }
    if (ExpectsKey()) return TakeKey(mark, value);
    YamlNode* node = Add(mark, YamlNode::Kind::kScalar);
    node->scalar_ = value;
    node->quoted_ = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMapping);
  }
  void OnMapEnd() override { Close(); }

  // The innermost open place, for errors of the syntax.
  std::string Place() const {
    if (open_.empty()) return "document";
    const Level& level = open_.back();
    if (!level.has_key) return level.node->Path();
    return (level.node->parent_ ? level.node->Path() + "." : "") + level.key;
  }

 private:
  struct Level {
    YamlNode* node;
    bool has_key = false;
    std::string key;
    int key_line = 0;
    std::unordered_set<std::string> keys;
  };

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().node->kind_ == YamlNode::Kind::kMapping &&
           !open_.back().has_key;
  }

  [[noreturn]] void Refuse(const YAML::Mark& mark, std::string_view code, std::string_view what) {
    throw Refusal{
        FileError(document_->file_, mark.line + 1, code, Place() + ": " + std::string(what))};
  }

  void Count(const YAML::Mark& mark) {
    if (++count_ > limits_.nodes) {
      Refuse(mark, "too_many_nodes",
             "more than " + std::to_string(limits_.nodes) + " values in one document");
    }
  }

  void CheckProperties(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Refuse(mark, "anchor", "anchors (&name) are not allowed; write the value out");
    }
    // The parser gives "!" to a quoted scalar too.
    const auto position = static_cast<size_t>(mark.pos);
    const bool written = tag == "!" && position < text_.size() && text_[position] == '!';
    if (written || (!tag.empty() && tag != "?" && tag != "!")) {
      Refuse(mark, "explicit_tag",
             "the tag " + ShownText(tag) + " is not allowed; write the value without a tag");
    }
  }

  void TakeKey(const YAML::Mark& mark, const std::string& value) {
    Count(mark);
    if (value.size() > limits_.key_bytes) {
      Refuse(mark, "wrong_key",
             "a key of " + std::to_string(value.size()) + " bytes; the limit is " +
                 std::to_string(limits_.key_bytes));
    }
    Level& level = open_.back();
    if (!level.keys.insert(value).second) {
      Refuse(mark, "duplicate_key", "the key " + ShownText(value) + " stands twice");
    }
    level.has_key = true;
    level.key = value;
    level.key_line = mark.line + 1;
  }

  YamlNode* Add(const YAML::Mark& mark, YamlNode::Kind kind) {
    Count(mark);
    YamlNode* node = &document_->nodes_.emplace_back();
    node->kind_ = kind;
    node->line_ = mark.line + 1;
    node->file_ = &document_->file_;
    if (open_.empty()) return node;
    Level& level = open_.back();
    node->parent_ = level.node;
    if (level.node->kind_ == YamlNode::Kind::kSequence) {
      node->position_ = level.node->items_.size();
      level.node->items_.push_back(node);
    } else {
      node->key_ = level.key;
      node->line_ = level.key_line;
      level.node->members_.emplace_back(level.key, node);
      level.has_key = false;
    }
    return node;
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    CheckProperties(mark, tag, anchor);
    if (open_.size() >= limits_.depth) {
      Refuse(mark, "too_deep", "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (ExpectsKey() && !key_collection_.has_value()) {
      // Refused when it closes: to yaml-cpp, many unclosed brackets are keys too, and those are too
      // deep.
      key_collection_ = {open_.size(), mark};
      open_.back().has_key = true;
      open_.back().key = "?";
      open_.back().key_line = mark.line + 1;
    }
    YamlNode* node = Add(mark, kind);
    open_.push_back(Level{node, false, {}, 0, {}});
  }

  void Close() {
    open_.pop_back();
    if (key_collection_ && key_collection_->first == open_.size()) {
      Refuse(key_collection_->second, "wrong_key",
             "a mapping or list stands as a key; a key is text");
    }
  }

  YamlDocument* document_;
  const std::string_view text_;
  const YamlLimits& limits_;
  std::vector<Level> open_;
  // Levels open around the first mapping or list that stands as a key, and its place.
  std::optional<std::pair<size_t, YAML::Mark>> key_collection_;
  size_t count_ = 0;
  int documents_ = 0;
};

absl::StatusOr<std::unique_ptr<const YamlDocument>> ParseYaml(std::string_view text,
                                                              std::string file_name,
                                                              const YamlLimits& limits) {
  auto document = std::make_unique<YamlDocument>();
  document->file_ = std::move(file_name);
  HELX_RETURN_IF_ERROR(CheckText(text, document->file_, limits));
  // The parser does not count a byte order mark.
  const size_t mark_bytes = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  YamlTreeBuilder builder(document.get(), text.substr(mark_bytes), limits);
  // yaml-cpp reports by exceptions; none of them leaves this function.
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return refusal.status;
  } catch (const YAML::Exception& e) {
    const int line = e.mark.is_null() ? 1 : e.mark.line + 1;
    return FileError(document->file_, line, "yaml_syntax",
                     builder.Place() + ": not YAML: " + e.msg + " (column " +
                         std::to_string(e.mark.column + 1) + ")");
  } catch (const std::exception& e) {
    return FileError(document->file_, 1, "yaml_syntax",
                     builder.Place() + ": not YAML: " + std::string(e.what()));
  }
  if (document->nodes_.empty() || document->root().kind() == YamlNode::Kind::kNull) {
    return FileError(document->file_, 1, "empty_document", "document: found nothing");
  }
  return std::unique_ptr<const YamlDocument>(std::move(document));
}

}  // namespace helx

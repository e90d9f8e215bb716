#include "core/ops/json.h"

#include <algorithm>
#include <charconv>

namespace helx::ops {
namespace {

constexpr int kMaxDepth = 100;

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0 (Unicode table 3-7).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) -> int {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : -1;
  };
  const auto tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const int b0 = byte(0);
  const int b1 = byte(1);
  if (b0 < 0x80) return 1;
  if (b0 >= 0xC2 && b0 <= 0xDF) return tail(1) ? 2 : 0;
  if (b0 >= 0xE0 && b0 <= 0xEF) {
    const int lo = b0 == 0xE0 ? 0xA0 : 0x80;
    const int hi = b0 == 0xED ? 0x9F : 0xBF;
    return b1 >= lo && b1 <= hi && tail(2) ? 3 : 0;
  }
  if (b0 >= 0xF0 && b0 <= 0xF4) {
    const int lo = b0 == 0xF0 ? 0x90 : 0x80;
    const int hi = b0 == 0xF4 ? 0x8F : 0xBF;
    return b1 >= lo && b1 <= hi && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  bool ParseAll(Json* out) {
    if (!ParseValue(out, 0)) return false;
    if (at_ != text_.size()) return Fail("more bytes after the value");
    return true;
  }

  std::string error() const { return error_; }

 private:
  bool Fail(std::string_view what) {
    if (error_.empty()) error_ = "byte " + std::to_string(at_) + ": " + std::string(what);
    return false;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool ParseValue(Json* out, int depth) {
    if (depth > kMaxDepth) return Fail("nesting beyond 100 levels");
    const char c = Peek();
    if (c == '{') return ParseObject(out, depth);
    if (c == '[') return ParseArray(out, depth);
    if (c == '"') {
      out->kind_ = Json::Kind::kString;
      out->heavy_ = std::make_unique<Json::Heavy>();
      return ParseString(&out->heavy_->text);
    }
    if (c == '-' || IsDigit(c)) return ParseInteger(out);
    if (TakeWord("null")) return true;
    if (TakeWord("true") || TakeWord("false")) {
      out->kind_ = Json::Kind::kBool;
      out->number_ = text_[at_ - 2] == 'u';
      return true;
    }
    return Fail("expected a value (an object, array, string, integer, true, false or null)");
  }

  bool ParseInteger(Json* out) {
    const size_t start = at_;
    const bool negative = Take('-');
    const size_t first = at_;
    while (IsDigit(Peek())) ++at_;
    const size_t digits = at_ - first;
    if (digits == 0) return Fail("expected a digit");
    if (text_[first] == '0' && (digits > 1 || negative)) {
      return Fail("an integer has no leading zero and is never -0");
    }
    const std::string_view word = text_.substr(start, at_ - start);
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), out->number_);
    if (parsed.ec == std::errc()) {
      out->kind_ = Json::Kind::kInteger;
      return true;
    }
    out->kind_ = Json::Kind::kBigInteger;
    out->heavy_ = std::make_unique<Json::Heavy>();
    out->heavy_->text = std::string(word);
    return true;
  }

  bool ParseString(std::string* out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<uint8_t>(c) < 0x20) return Fail("an unescaped control character");
      if (c == '\\') {
        if (!ParseEscape(out)) return false;
        continue;
      }
      const size_t length = Utf8Length(text_.substr(at_));
      if (length == 0) return Fail("not UTF-8");
      out->append(text_.substr(at_, length));
      at_ += length;
    }
    return Fail("an unterminated string");
  }

  bool ParseEscape(std::string* out) {
    if (TakeWord("\\\"") || TakeWord("\\\\")) {
      out->push_back(text_[at_ - 1]);
      return true;
    }
    const auto hex = [](char c) {
      if (IsDigit(c)) return c - '0';
      return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    if (text_.substr(at_, 4) == "\\u00" && at_ + 6 <= text_.size()) {
      const int high = hex(text_[at_ + 4]);
      const int low = hex(text_[at_ + 5]);
      if ((high == 0 || high == 1) && low >= 0) {
        out->push_back(static_cast<char>(high * 16 + low));
        at_ += 6;
        return true;
      }
    }
    return Fail("the only escapes are \\\", \\\\ and \\u0000 to \\u001f in lower case");
  }

  bool ParseArray(Json* out, int depth) {
    ++at_;
    out->kind_ = Json::Kind::kArray;
    out->heavy_ = std::make_unique<Json::Heavy>();
    if (Take(']')) return true;
    while (true) {
      out->heavy_->items.emplace_back();
      if (!ParseValue(&out->heavy_->items.back(), depth + 1)) return false;
      if (Take(']')) return true;
      if (!Take(',')) return Fail("expected ',' or ']'");
    }
  }

  bool ParseObject(Json* out, int depth) {
    ++at_;
    out->kind_ = Json::Kind::kObject;
    out->heavy_ = std::make_unique<Json::Heavy>();
    if (Take('}')) return true;
    std::vector<std::string>& keys = out->heavy_->keys;
    while (true) {
      if (Peek() != '"') return Fail("expected a key");
      std::string key;
      if (!ParseString(&key)) return false;
      // Byte order of UTF-8 is code point order.
      if (!keys.empty() && key <= keys.back()) return Fail("keys are not sorted and distinct");
      keys.push_back(std::move(key));
      if (!Take(':')) return Fail("expected ':'");
      out->heavy_->items.emplace_back();
      if (!ParseValue(&out->heavy_->items.back(), depth + 1)) return false;
      if (Take('}')) return true;
      if (!Take(',')) return Fail("expected ',' or '}'");
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

bool Json::is_integers() const {
  return is_array() && std::all_of(items().begin(), items().end(),
                                   [](const Json& item) { return item.is_integer(); });
}

std::optional<int64_t> Json::IntegerIn(int64_t lo, int64_t hi) const {
  if (kind_ != Kind::kInteger || number_ < lo || number_ > hi) return std::nullopt;
  return number_;
}

std::optional<uint64_t> Json::Unsigned64() const {
  if (kind_ == Kind::kInteger) {
    return number_ < 0 ? std::nullopt : std::optional<uint64_t>(number_);
  }
  if (kind_ != Kind::kBigInteger) return std::nullopt;
  const std::string& digits = heavy_->text;
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string_view Json::text() const {
  return kind_ == Kind::kString ? std::string_view(heavy_->text) : std::string_view();
}

const std::vector<Json>& Json::items() const {
  static const std::vector<Json>* const kNone = new std::vector<Json>();
  return is_array() || is_object() ? heavy_->items : *kNone;
}

const std::vector<std::string>& Json::keys() const {
  static const std::vector<std::string>* const kNone = new std::vector<std::string>();
  return is_object() ? heavy_->keys : *kNone;
}

const Json* Json::Find(std::string_view key) const {
  const std::vector<std::string>& names = keys();
  const auto at = std::lower_bound(names.begin(), names.end(), key);
  if (at == names.end() || *at != key) return nullptr;
  return &items()[at - names.begin()];
}

bool Json::HasExactly(const std::vector<std::string_view>& names) const {
  return is_object() && std::equal(keys().begin(), keys().end(), names.begin(), names.end());
}

std::string Json::Text() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return boolean() ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(number_);
    case Kind::kBigInteger:
      return heavy_->text;
    case Kind::kString:
      return JsonString(heavy_->text);
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  const bool object = is_object();
  std::string out(1, object ? '{' : '[');
  for (size_t i = 0; i < items().size(); ++i) {
    if (i > 0) out.push_back(',');
    if (object) out += JsonString(keys()[i]) + ":";
    out += items()[i].Text();
  }
  out.push_back(object ? '}' : ']');
  return out;
}

std::optional<Json> ParseJson(std::string_view text, std::string* error) {
  JsonParser parser(text);
  Json value;
  if (!parser.ParseAll(&value)) {
    if (error != nullptr) *error = parser.error();
    return std::nullopt;
  }
  return value;
}

std::optional<Json> ParseJsonLine(std::string_view text, std::string* error) {
  if (text.empty() || text.back() != '\n') {
    if (error != nullptr) *error = "the text does not end with a line feed";
    return std::nullopt;
  }
  return ParseJson(text.substr(0, text.size() - 1), error);
}

std::string JsonString(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += "\\u00";
      out.push_back(kHex[static_cast<uint8_t>(c) >> 4]);
      out.push_back(kHex[static_cast<uint8_t>(c) & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

std::string JsonArray(const std::vector<std::string>& elements) {
  std::string out = "[";
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out.push_back(',');
    out += elements[i];
  }
  out.push_back(']');
  return out;
}

JsonObject& JsonObject::Raw(std::string_view key, std::string value) {
  members_.emplace_back(std::string(key), std::move(value));
  return *this;
}

JsonObject& JsonObject::Text(std::string_view key, std::string_view value) {
  return Raw(key, JsonString(value));
}

JsonObject& JsonObject::Integer(std::string_view key, i128 value) {
  return Raw(key, ToText(value));
}

std::string JsonObject::Str() const {
  std::vector<std::pair<std::string, std::string>> sorted = members_;
  std::sort(sorted.begin(), sorted.end());
  std::string out = "{";
  for (const auto& [key, value] : sorted) {
    if (out.size() > 1) out.push_back(',');
    out += JsonString(key) + ":" + value;
  }
  out.push_back('}');
  return out;
}

}  // namespace helx::ops

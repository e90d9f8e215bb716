#include "core/base/json.h"

#include <set>
#include <vector>

#include "core/base/json_numbers.h"

namespace helx {
namespace {

bool HasFloat(const Json& value) {
  if (value.is_number_float()) return true;
  if (!value.is_structured()) return false;
  for (const Json& item : value) {
    if (HasFloat(item)) return true;
  }
  return false;
}

// Builds the value and watches depth and keys, which nlohmann's own reader does not.
class StrictSax : public nlohmann::json_sax<Json> {
 public:
  StrictSax(size_t depth_limit, bool wide_integers_as_text)
      : depth_limit_(depth_limit), wide_integers_as_text_(wide_integers_as_text) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool v) override { return Add(v); }
  bool number_integer(number_integer_t v) override { return Add(v); }
  bool number_unsigned(number_unsigned_t v) override { return Add(v); }
  bool number_float(number_float_t v, const string_t& text) override {
    if (text.find_first_of(".eE") != std::string::npos) return Add(v);
    if (wide_integers_as_text_) return Add(text);
    return Fail("the integer " + text.substr(0, 40) + " does not fit 64 bits");
  }
  bool string(string_t& v) override { return Add(std::move(v)); }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) return Fail("the key \"" + name + "\" stands twice");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    if (error.id == kNumberOverflow) {
      error_code = "not_finite";
      return Fail("at byte " + std::to_string(position) + ": the number " + token.substr(0, 40) +
                  " is larger than a double can hold");
    }
    return Fail("at byte " + std::to_string(position) + ": " + Finding(error.what()));
  }

  Json root;
  std::string error;
  std::string error_code;  // empty unless the error has one

 private:
  static constexpr int kNumberOverflow = 406;  // of the library's errors

  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
  // value - invalid literal; last read: 'x'" without what the library says of itself and of what it
  // read and expected.
  static std::string Finding(std::string text) {
    for (const char* end : {"] ", ": "}) {
      const size_t at = text.find(end);
      if (at != std::string::npos) text = text.substr(at + 2);
    }
    const size_t cause = text.find(" - ");
    if (cause != std::string::npos) text = text.substr(cause + 3);
    const size_t more = text.find("; ");
    return more == std::string::npos ? text : text.substr(0, more);
  }

  bool Fail(std::string what) {
    if (error.empty()) error = std::move(what);
    return false;
  }
  Json* Place(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(value));
      return &top.back();
    }
    Json& slot = top[key_];
    slot = std::move(value);
    return &slot;
  }
  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (stack_.size() >= depth_limit_) {
      return Fail("nested deeper than " + std::to_string(depth_limit_) + " levels");
    }
    // References stay valid: only the innermost open container grows.
    stack_.push_back(Place(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  size_t depth_limit_;
  bool wide_integers_as_text_;
  std::vector<Json*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::string key_;
};

absl::StatusOr<Json> Parse(std::string_view text, const JsonLimits& limits,
                           bool wide_integers_as_text) {
  if (text.size() > limits.bytes) {
    return InvalidArgument("JSON text of " + std::to_string(text.size()) +
                           " bytes passes the limit of " + std::to_string(limits.bytes));
  }
  StrictSax sax(limits.depth, wide_integers_as_text);
  if (Json::sax_parse(text.begin(), text.end(), &sax)) return std::move(sax.root);
  const absl::Status status = InvalidArgument("not acceptable JSON: " + sax.error);
  return sax.error_code.empty() ? status : WithErrorCode(status, sax.error_code);
}

}  // namespace

absl::StatusOr<std::string> CanonicalJson(const Json& value) {
  if (HasFloat(value)) {
    return InvalidArgument("canonical JSON holds no floating-point numbers; write them as strings");
  }
  // dump() throws only on invalid UTF-8, so the exception never leaves this function.
  try {
    return value.dump(-1, ' ', false, Json::error_handler_t::strict);
  } catch (const Json::exception& e) {
    return InvalidArgument("canonical JSON strings must be UTF-8");
  }
}

std::string PrettyJson(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  return Parse(text, limits, false);
}

absl::StatusOr<Json> ParseJsonWithWideIntegers(std::string_view text) {
  return Parse(text, {}, true);
}

absl::StatusOr<const Json*> JsonMember(const Json& object, const char* name,
                                       std::string_view where) {
  if (!object.is_object()) return InvalidArgument(std::string(where) + " is not an object");
  const auto it = object.find(name);
  if (it == object.end()) {
    return InvalidArgument(std::string(where) + "." + name + " is missing");
  }
  return &*it;
}

absl::StatusOr<std::string> JsonString(const Json& object, const char* name,
                                       std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* member, JsonMember(object, name, where));
  if (!member->is_string()) {
    return InvalidArgument(std::string(where) + "." + name + " is not a string");
  }
  return member->get<std::string>();
}

absl::StatusOr<int64_t> JsonInt(const Json& object, const char* name, std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* member, JsonMember(object, name, where));
  if (!member->is_number_integer() ||
      (member->is_number_unsigned() && member->get<uint64_t>() > uint64_t{INT64_MAX})) {
    return InvalidArgument(std::string(where) + "." + name + " is not a 64-bit integer");
  }
  return member->get<int64_t>();
}

absl::StatusOr<bool> JsonBool(const Json& object, const char* name, std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* member, JsonMember(object, name, where));
  if (!member->is_boolean()) {
    return InvalidArgument(std::string(where) + "." + name + " is not true or false");
  }
  return member->get<bool>();
}

absl::StatusOr<const Json*> JsonList(const Json& object, const char* name, std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const Json* list, JsonMember(object, name, where));
  if (!list->is_array()) {
    return InvalidArgument(std::string(where) + "." + name + " is not a list");
  }
  return list;
}

std::string ItemPath(std::string_view list, size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

Json DigestToJson(const Digest& digest) {
  return Json{{"sha256", digest.hash}, {"size", digest.size_bytes}};
}

absl::StatusOr<Digest> DigestFromJson(const Json& value, std::string_view where) {
  Digest digest;
  HELX_ASSIGN_OR_RETURN(digest.hash, JsonString(value, "sha256", where));
  HELX_ASSIGN_OR_RETURN(digest.size_bytes, JsonInt(value, "size", where));
  HELX_RETURN_IF_ERROR(Annotate(CheckDigest(digest), where));
  return digest;
}

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead == 0) return false;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const int extra = lead >= 0xf0 && lead <= 0xf4  ? 3
                      : lead >= 0xe0 && lead < 0xf0 ? 2
                      : lead >= 0xc2 && lead < 0xe0 ? 1
                                                    : 0;
    if (extra == 0 || text.size() - i <= static_cast<size_t>(extra)) return false;
    uint32_t point = lead & (0x3f >> extra);
    for (int k = 1; k <= extra; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      point = point << 6 | (byte & 0x3f);
    }
    const uint32_t least = extra == 3 ? 0x10000 : extra == 2 ? 0x800 : 0x80;
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
    i += 1 + extra;
  }
  return true;
}

}  // namespace helx

// The canonical JSON of wai-ops/1 (docs/integer-operators.md, section 8.5): UTF-8, no white space,
// keys sorted by code point without duplicates, integers only and of any size, minimal escapes.
// The reader keeps integers exact and refuses every other form.
#ifndef HELX_CORE_OPS_JSON_H_
#define HELX_CORE_OPS_JSON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ops/integers.h"

namespace helx::ops {

// A parsed value. Move-only: a network's weights are millions of elements and are never copied.
class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInteger, kBigInteger, kString, kArray, kObject };

  Json() = default;

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  // An integer of any size.
  bool is_integer() const { return kind_ == Kind::kInteger || kind_ == Kind::kBigInteger; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }
  // An array all of whose elements are integers.
  bool is_integers() const;

  // REQUIRES: is_bool().
  bool boolean() const { return number_ != 0; }
  // The integer when it is in [lo, hi]; empty for a value outside it or of another kind.
  std::optional<int64_t> IntegerIn(int64_t lo, int64_t hi) const;
  // The integer when it is in [0, 2^64 - 1].
  std::optional<uint64_t> Unsigned64() const;
  // The string, or empty for another kind.
  std::string_view text() const;
  // The elements of an array or the values of an object; empty for another kind.
  const std::vector<Json>& items() const;
  // An object's keys, parallel to items().
  const std::vector<std::string>& keys() const;
  // An object's member, or null.
  const Json* Find(std::string_view key) const;
  // True for an object whose keys are exactly `keys` (sorted).
  bool HasExactly(const std::vector<std::string_view>& keys) const;

  // The canonical text of this value.
  std::string Text() const;

 private:
  friend class JsonParser;
  struct Heavy {
    std::string text;
    std::vector<Json> items;
    std::vector<std::string> keys;
  };

  Kind kind_ = Kind::kNull;
  int64_t number_ = 0;
  std::unique_ptr<Heavy> heavy_;
};

// One canonical value that is the whole of `text`; empty otherwise, with `*error` saying what was
// found at which byte. Nesting beyond 100 levels is refused (no form of this set nests so deep).
std::optional<Json> ParseJson(std::string_view text, std::string* error);

// As ParseJson for a text that ends with exactly one line feed.
std::optional<Json> ParseJsonLine(std::string_view text, std::string* error);

// `text` quoted and escaped.
std::string JsonString(std::string_view text);

// "[a,b,...]".
std::string JsonArray(const std::vector<std::string>& elements);

template <typename Integers>
std::string JsonIntegers(const Integers& values) {
  std::string out = "[";
  bool first = true;
  for (const auto value : values) {
    if (!first) out.push_back(',');
    first = false;
    out += std::to_string(value);
  }
  out.push_back(']');
  return out;
}

// Collects an object's members in any order and writes them sorted.
class JsonObject {
 public:
  // `value` is canonical JSON text.
  JsonObject& Raw(std::string_view key, std::string value);
  JsonObject& Text(std::string_view key, std::string_view value);
  JsonObject& Integer(std::string_view key, i128 value);
  std::string Str() const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// Whether `text` is well-formed UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_JSON_H_

#include "core/base/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace helx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool AllOf(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// The union of the integer, float, base-60 and timestamp forms of YAML 1.1 and 1.2's core schema.
bool LooksNumeric(std::string_view plain) {
  const std::string lower = Lower(plain);
  std::string_view text = lower;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (text == ".inf" || text == ".nan") return true;
  if (text.starts_with("0x")) return AllOf(text.substr(2), "0123456789abcdef_");
  if (text.starts_with("0o")) return AllOf(text.substr(2), "01234567_");
  if (text.starts_with("0b")) return AllOf(text.substr(2), "01_");
  if (text.size() >= 8 && AllOf(text.substr(0, 4), "0123456789") && text[4] == '-' &&
      IsDigit(text[5])) {
    return true;  // 2001-12-14
  }
  const size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos || (start != 0 && !(start == 1 && text[0] == '.'))) {
    return false;
  }
  const size_t exponent = text.find('e');
  const std::string_view mantissa = text.substr(0, exponent);
  if (!AllOf(mantissa, "0123456789_:.") || std::count(mantissa.begin(), mantissa.end(), '.') > 1) {
    return false;
  }
  if (exponent == std::string_view::npos) return true;
  std::string_view digits = text.substr(exponent + 1);
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) digits.remove_prefix(1);
  return !digits.empty() && AllOf(digits, "0123456789");
}

// The number grammar of RFC 8259 section 6.
bool IsJsonNumber(std::string_view text) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i - start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const size_t whole = i;
  const size_t count = digits();
  if (count == 0 || (count > 1 && text[whole] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace

std::string_view PlainScalarAmbiguity(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return "null";
  }
  if (text.size() <= 5) {
    const std::string lower = Lower(text);
    for (std::string_view word : {"y", "yes", "n", "no", "true", "false", "on", "off"}) {
      if (lower == word) return "a boolean";
    }
  }
  return LooksNumeric(text) ? "a number" : "";
}

bool IsPlainInteger(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return !digits.empty() && AllOf(digits, "0123456789") && (digits[0] != '0' || text == "0");
}

std::optional<int64_t> ParsePlainInteger(std::string_view text) {
  if (!IsPlainInteger(text)) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::StatusOr<std::string> ShortestNonNegative(std::string_view text) {
  const std::string lower = Lower(text.substr(0, 16));
  for (std::string_view word :
       {".inf", "+.inf", "-.inf", ".nan", "inf", "-inf", "nan", "-nan", "infinity",
        "-infinity"}) {
    if (lower == word) {
      return WithErrorCode(
          InvalidArgument("found " + std::string(word) + "; allowed: a finite number >= 0"),
          "not_finite");
    }
  }
  if (!IsJsonNumber(text)) {
    return WithErrorCode(
        InvalidArgument("found " + ShownText(text) +
                        "; allowed: a finite decimal number >= 0 such as 0, 0.5 or 1e-3"),
        "not_a_number");
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  (void)end;
  if (error == std::errc::result_out_of_range || !std::isfinite(value)) {
    return WithErrorCode(InvalidArgument("found " + ShownText(text) +
                                         ", which a double cannot hold; allowed: 0, or a number "
                                         "between 4.94e-324 and 1.79e308"),
                         "not_finite");
  }
  if (value < 0) {
    return WithErrorCode(
        InvalidArgument("found " + ShownText(text) + "; allowed: a finite number >= 0"),
        "negative_number");
  }
  return ShortestText(value);
}

absl::StatusOr<std::string> ShortestNonNegative(double value) {
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
  return ShortestNonNegative(std::string_view(buffer, written.ptr));
}

std::string ShortestText(double value) {
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value == 0 ? 0.0 : value);
  return std::string(buffer, written.ptr);
}

std::string_view NearestName(std::string_view text, std::span<const std::string_view> known) {
  std::string_view best;
  size_t best_distance = SIZE_MAX;
  text = text.substr(0, 64);
  for (std::string_view name : known) {
    // One row of the distance table at a time.
    std::vector<size_t> row(name.size() + 1);
    for (size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= text.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        const size_t replaced = diagonal + (text[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      }
    }
    const size_t alike = std::max(text.size(), name.size()) / 3 + 1;
    if (row.back() <= alike && row.back() < best_distance) {
      best_distance = row.back();
      best = name;
    }
  }
  return best;
}

std::string_view NearestName(std::string_view text, std::initializer_list<std::string_view> known) {
  return NearestName(text, std::span(known.begin(), known.size()));
}

std::string ShownText(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown = "\"";
  size_t end = std::min(text.size(), kShown);
  // Do not cut a UTF-8 sequence in two.
  while (end < text.size() && end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  for (char c : text.substr(0, end)) {
    const auto byte = static_cast<uint8_t>(c);
    shown += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return shown + (end < text.size() ? "…\"" : "\"");
}

std::string JoinNames(std::initializer_list<std::string_view> names) {
  std::string joined;
  for (std::string_view name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

}  // namespace helx

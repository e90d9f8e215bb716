#include "client/cli/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/json.h"

namespace helx::cli {
namespace {

void AppendEscaped(unsigned char byte, std::string& out) {
  char text[5];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  out += text;
}

// The length of the well-formed UTF-8 sequence at the beginning of `text`; 0 when there is none.
size_t SequenceLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  return lead == 0 || IsUtf8(text.substr(0, length)) ? length : 0;
}

// C0 and C1 controls and DEL, the bidirectional overrides aside from them: what could change a terminal's state.
bool IsControl(std::string_view sequence) {
  const auto a = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return (a < 0x20 && a != '\n' && a != '\t') || a == 0x7f;
  const auto b = static_cast<unsigned char>(sequence[1]);
  if (sequence.size() == 2) return a == 0xc2 && b < 0xa0;
  const auto c = static_cast<unsigned char>(sequence[2]);
  return sequence.size() == 3 && a == 0xe2 &&
         ((b == 0x80 && c >= 0xaa && c <= 0xae) || (b == 0x81 && c >= 0xa6 && c <= 0xa9));
}

std::string Escaped(std::string_view bytes, bool keep_controls) {
  std::string out;
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    const std::string_view sequence = bytes.substr(0, std::max<size_t>(length, 1));
    if (length > 0 && (keep_controls || !IsControl(sequence))) {
      out += sequence;
    } else {
      for (const char c : sequence) AppendEscaped(static_cast<unsigned char>(c), out);
    }
    bytes.remove_prefix(sequence.size());
  }
  return out;
}

// Columns of a terminal, taking every character as one wide.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Printable(std::string_view bytes) { return Escaped(bytes, false); }

std::string Utf8(std::string_view bytes) { return Escaped(bytes, true); }

std::string Grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string Counted(int64_t count, std::string_view noun) {
  return Grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string Bytes(int64_t count) {
  if (count < 1024) return Counted(count, "byte");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(count) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string Indented(std::string_view text, std::string_view indent) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

Table::Table(std::vector<std::string> header, std::vector<bool> right) : right_(std::move(right)) {
  rows_.push_back(std::move(header));
  right_.resize(rows_[0].size());
}

void Table::Add(std::vector<std::string> row) {
  row.resize(rows_[0].size());
  rows_.push_back(std::move(row));
}

void Table::Print(std::ostream& out, std::string_view indent) const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - Width(row[i]), ' ');
      line += right_[i] ? pad + row[i] : row[i] + pad;
      if (i + 1 < row.size()) line += "  ";
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

void Fields::Add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Fields::Print(std::ostream& out) const {
  size_t width = 0;
  for (const auto& field : fields_) width = std::max(width, Width(field.first));
  for (const auto& [name, value] : fields_) {
    const std::string indent(width + 2, ' ');
    out << name << std::string(indent.size() - Width(name), ' ') << Indented(value, indent) << '\n';
  }
}

}  // namespace helx::cli

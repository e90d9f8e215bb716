// Text for people: safe on a terminal, aligned in columns.
#ifndef HELX_CLIENT_CLI_TEXT_H_
#define HELX_CLIENT_CLI_TEXT_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace helx::cli {

// `bytes` with everything that is not printable UTF-8 as \xNN: what a tool or a model printed may hold terminal escapes.
// Line feeds and tabs stay.
std::string Printable(std::string_view bytes);

// Valid UTF-8 for JSON: ill-formed bytes as \xNN, everything else as it is.
std::string Utf8(std::string_view bytes);

// 1234567 as "1,234,567".
std::string Grouped(int64_t value);

// "3 samples", "1 sample".
std::string Counted(int64_t count, std::string_view noun);

// "1.5 MiB", "12 KiB", "7 bytes".
std::string Bytes(int64_t count);

// `text` with `indent` after each line feed.
std::string Indented(std::string_view text, std::string_view indent);

// Rows of cells, printed in aligned columns two spaces apart. Columns marked right are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<bool> right = {});
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  void Print(std::ostream& out, std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the header first
  std::vector<bool> right_;
};

// "Name         value" lines with the values aligned.
class Fields {
 public:
  void Add(std::string name, std::string value);
  void Print(std::ostream& out) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_TEXT_H_

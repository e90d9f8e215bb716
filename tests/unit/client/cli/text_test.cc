#include "client/cli/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/tensor_text.h"

namespace helx::cli {
namespace {

TEST(Printable, NothingReachesTheTerminalsState) {
  EXPECT_EQ(Printable("plain \xc3\xbc \xe2\x82\xac\n\ttab"), "plain \xc3\xbc \xe2\x82\xac\n\ttab");
  EXPECT_EQ(Printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");            // C1 control CSI
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");            // cut short
}

TEST(Utf8, KeepsControlsForJson) { EXPECT_EQ(Utf8("\x1b\xff"), "\x1b\\xff"); }

TEST(Grouped, ThreeDigits) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(Grouped(-123456), "-123,456");
  EXPECT_EQ(Grouped(-123), "-123");
  EXPECT_EQ(Grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Bytes, Units) {
  EXPECT_EQ(Bytes(1), "1 byte");
  EXPECT_EQ(Bytes(1023), "1,023 bytes");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(int64_t{16} << 20), "16.0 MiB");
}

TEST(Table, AlignsColumns) {
  Table table({"Name", "Size"}, {false, true});
  table.Add({"a", "1"});
  table.Add({"b\xc3\xbc", "1,000"});
  std::ostringstream out;
  table.Print(out, "> ");
  EXPECT_EQ(out.str(), "> Name   Size\n> a         1\n> b\xc3\xbc    1,000\n");
}

TEST(TensorText, IntegersAreExact) {
  EXPECT_EQ(ElementText(DType::kInt8, "\x80", 0), "-128");
  EXPECT_EQ(ElementText(DType::kUint8, "\x80", 0), "128");
  EXPECT_EQ(ElementText(DType::kBool, "\x01", 0), "1");
  EXPECT_EQ(ElementText(DType::kInt16, std::string_view("\0\0\x00\x80", 4), 1), "-32768");
  EXPECT_EQ(ElementText(DType::kInt32, "\xff\xff\xff\xff", 0), "-1");
  // 2^53 + 1, which no double holds.
  EXPECT_EQ(ElementText(DType::kInt64, std::string_view("\1\0\0\0\0\0\x20\0", 8), 0),
            "9007199254740993");
}

// Bit patterns of IEEE 754 (binary16 examples: 3555 is about 1/3, 0001 the smallest, 7bff the largest number).
TEST(TensorText, FloatsAreShortest) {
  EXPECT_EQ(ElementText(DType::kFloat32, "\xcd\xcc\xcc\x3d", 0), "0.1");
  EXPECT_EQ(ElementText(DType::kFloat32, std::string_view("\0\0\xc0\x7f", 4), 0), "nan");
  EXPECT_EQ(ElementText(DType::kFloat32, std::string_view("\0\0\x80\xff", 4), 0), "-inf");
  EXPECT_EQ(ElementText(DType::kFloat16, std::string_view("\0\x3c", 2), 0), "1");
  EXPECT_EQ(ElementText(DType::kFloat16, std::string_view("\0\xc0", 2), 0), "-2");
  EXPECT_EQ(ElementText(DType::kFloat16, "\xff\x7b", 0), "65504");
  EXPECT_EQ(ElementText(DType::kFloat16, std::string_view("\x01\0", 2), 0), "5.9604645e-08");
  EXPECT_EQ(ElementText(DType::kFloat16, std::string_view("\0\x7c", 2), 0), "inf");
  EXPECT_EQ(ElementText(DType::kFloat16, "\x01\x7c", 0), "nan");
}

TEST(TensorText, FirstElementsSayHowManyThereAre) {
  EXPECT_EQ(FirstElements(DType::kInt8, "\x01\x02\x03", 2), "1, 2, ... (3)");
  EXPECT_EQ(FirstElements(DType::kInt8, "\x01\x02", 2), "1, 2");
  EXPECT_EQ(FirstElements(DType::kInt8, "", 2), "");
}

std::vector<int64_t> Positions(const std::vector<RankedElement>& elements) {
  std::vector<int64_t> positions;
  for (const auto& element : elements) positions.push_back(element.position);
  return positions;
}

TEST(TensorText, LargestFirstThenLowerPosition) {
  // 5, -1, 127, 5
  EXPECT_EQ(Positions(LargestElements(DType::kInt8, "\x05\xff\x7f\x05", 3)),
            (std::vector<int64_t>{2, 0, 3}));
  EXPECT_EQ(Positions(LargestElements(DType::kInt8, "\x05\xff", 9)), (std::vector<int64_t>{0, 1}));
  // nan, -1, +inf
  EXPECT_EQ(Positions(LargestElements(
                DType::kFloat32, std::string_view("\0\0\xc0\x7f\0\0\x80\xbf\0\0\x80\x7f", 12), 3)),
            (std::vector<int64_t>{2, 1, 0}));
}

}  // namespace
}  // namespace helx::cli

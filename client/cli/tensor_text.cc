#include "client/cli/tensor_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>

namespace helx::cli {
namespace {

uint64_t LittleEndian(std::string_view bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  return value;
}

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Every value is exact in binary32.
float FromHalf(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

bool IsFloat(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kFloat32; }

float FloatAt(DType dtype, std::string_view bytes, size_t index) {
  if (dtype == DType::kFloat16) {
    return FromHalf(static_cast<uint16_t>(LittleEndian(bytes, index * 2, 2)));
  }
  return std::bit_cast<float>(static_cast<uint32_t>(LittleEndian(bytes, index * 4, 4)));
}

int64_t IntegerAt(DType dtype, std::string_view bytes, size_t index) {
  const size_t size = DTypeSize(dtype);
  const uint64_t raw = LittleEndian(bytes, index * size, size);
  switch (dtype) {
    case DType::kInt8:
      return static_cast<int8_t>(raw);
    case DType::kInt16:
      return static_cast<int16_t>(raw);
    case DType::kInt32:
      return static_cast<int32_t>(raw);
    default:
      return static_cast<int64_t>(raw);
  }
}

// Whether element a comes before element b in the ranking.
bool Before(DType dtype, std::string_view bytes, size_t a, size_t b) {
  if (IsFloat(dtype)) {
    const float x = FloatAt(dtype, bytes, a);
    const float y = FloatAt(dtype, bytes, b);
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x > y) return true;
    if (x < y) return false;
    return a < b;
  }
  const int64_t x = IntegerAt(dtype, bytes, a);
  const int64_t y = IntegerAt(dtype, bytes, b);
  return x != y ? x > y : a < b;
}

}  // namespace

std::string ElementText(DType dtype, std::string_view bytes, size_t index) {
  if (!IsFloat(dtype)) return std::to_string(IntegerAt(dtype, bytes, index));
  const float value = FloatAt(dtype, bytes, index);
  if (std::isnan(value)) return "nan";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, error == std::errc() ? end : text);
}

std::string FirstElements(DType dtype, std::string_view bytes, int64_t count) {
  const auto total = static_cast<int64_t>(bytes.size() / DTypeSize(dtype));
  std::string text;
  for (int64_t i = 0; i < std::min(count, total); ++i) {
    if (i > 0) text += ", ";
    text += ElementText(dtype, bytes, static_cast<size_t>(i));
  }
  if (total > count) text += ", ... (" + std::to_string(total) + ")";
  return text;
}

std::vector<RankedElement> LargestElements(DType dtype, std::string_view bytes, int64_t count) {
  std::vector<size_t> order(bytes.size() / DTypeSize(dtype));
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + std::min(count, static_cast<int64_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](size_t a, size_t b) { return Before(dtype, bytes, a, b); });
  std::vector<RankedElement> largest;
  for (auto it = order.begin(); it != end; ++it) {
    largest.push_back({static_cast<int64_t>(*it), ElementText(dtype, bytes, *it)});
  }
  return largest;
}

}  // namespace helx::cli

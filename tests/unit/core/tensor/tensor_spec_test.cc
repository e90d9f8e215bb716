#include "core/tensor/tensor_spec.h"

#include <gtest/gtest.h>

#include "core/tensor/float16.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

TEST(TensorSpec, SizesOfEveryDtype) {
  const std::pair<DType, int64_t> sizes[] = {
      {DType::kBool, 1},  {DType::kInt8, 1},  {DType::kUint8, 1},   {DType::kInt16, 2},
      {DType::kInt32, 4}, {DType::kInt64, 8}, {DType::kFloat16, 2}, {DType::kFloat32, 4}};
  for (const auto& [dtype, size] : sizes) {
    EXPECT_EQ(*ByteSize({0, "t", dtype, {}}), size);
    EXPECT_EQ(*ByteSize({0, "t", dtype, {2, 3}}), 6 * size);
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
  }
}

TEST(TensorSpec, RefusesDynamicAndHugeShapes) {
  EXPECT_FALSE(ElementCount({0, "t", DType::kInt8, {-1}}).ok());
  EXPECT_FALSE(ElementCount({0, "t", DType::kInt8, {0}}).ok());
  EXPECT_FALSE(ElementCount({0, "t", DType::kInt8, {INT64_MAX, INT64_MAX}}).ok());
  EXPECT_TRUE(ElementCount({0, "t", DType::kInt8, {int64_t{1} << 40}}).ok());
}

TEST(TensorData, ChecksLengthAndBooleanBytes) {
  const TensorSpec flag{0, "f", DType::kBool, {2}};
  EXPECT_TRUE(CheckTensorBytes(flag, std::string("\0\1", 2)).ok());
  EXPECT_EQ(ErrorCodeOf(CheckTensorBytes(flag, std::string("\0\2", 2))), "boolean_byte");
  EXPECT_EQ(ErrorCodeOf(CheckTensorBytes(flag, std::string("\0", 1))), "wrong_length");
  EXPECT_TRUE(CheckTensorBytes({0, "i", DType::kInt8, {2}}, std::string("\2\3", 2)).ok());
}

// IEEE 754-2008 binary16: largest, least normal, least subnormal, and the codes of Table 3.5's
// extremes.
TEST(Float16, ExactConversion) {
  EXPECT_EQ(Float16ToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(Float16ToFloat(0x0400), 0x1p-14f);
  EXPECT_EQ(Float16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(Float16ToFloat(0x83ff), -0x1.ff8p-15f);
  EXPECT_EQ(Float16ToFloat(0x3555), 0.333251953125f);
  EXPECT_EQ(std::bit_cast<uint32_t>(Float16ToFloat(0x8000)), 0x80000000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(Float16ToFloat(0xfc00)), 0xff800000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(Float16ToFloat(0x7e01)), 0x7fc02000u);
}

}  // namespace
}  // namespace helx

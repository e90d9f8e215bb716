// Models that are wrong in one place: each refusal names the place in the file and the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/base/file.h"
#include "tests/unit/worker/engine/model_builder.h"
#include "worker/engine/engine.h"

namespace helx::engine {
namespace {

using tflite::BuiltinOperator;
using tflite::TensorType;

// int8[1, 4, 4, 1] -> CONV_2D -> int8[1, 4, 4, 2] -> CONCATENATION with itself -> int8[1, 4, 4, 4].
// Tensors: 0 image, 1 filter, 2 bias, 3 features, 4 both; operators: 0 CONV_2D, 1 CONCATENATION.
ModelBuilder GoodModel() {
  ModelBuilder builder;
  builder.Quantized("image", TensorType::INT8, {1, 4, 4, 1}, 0.5f, 0);
  builder.Fill(builder.Quantized("filter", TensorType::INT8, {2, 3, 3, 1}, 0.1f, 0),
               std::vector<int8_t>(18, 1));
  builder.Fill(builder.Quantized("bias", TensorType::INT32, {2}, 0.05f, 0),
               std::vector<int32_t>{1, 2});
  builder.Quantized("features", TensorType::INT8, {1, 4, 4, 2}, 0.25f, 0);
  builder.Quantized("both", TensorType::INT8, {1, 4, 4, 4}, 0.25f, 0);
  tflite::Conv2DOptionsT conv;
  conv.stride_h = conv.stride_w = 1;
  builder.Operator(BuiltinOperator::CONV_2D, {0, 1, 2}, {3}, conv);
  tflite::ConcatenationOptionsT concatenation;
  concatenation.axis = 3;
  builder.Operator(BuiltinOperator::CONCATENATION, {3, 3}, {4}, concatenation);
  builder.graph().inputs = {0};
  builder.graph().outputs = {4};
  return builder;
}

std::vector<Violation> Refusals(const ModelBuilder& builder) {
  std::vector<Violation> violations;
  const auto interface = FindEngine("builtin")->Preflight(
      AsBytes(builder.Bytes()), *target::FindBoard("corstone-300"), &violations);
  EXPECT_EQ(interface.ok(), violations.empty());
  return violations;
}

// A model of one operator that reduces along the constant `axis`.
void ReduceAlong(ModelBuilder& m, int32_t axis) {
  m.graph().operators.resize(1);
  m.model.operator_codes.resize(1);
  const int32_t axes = m.Fill(m.Tensor("axes", TensorType::INT32, {1}), std::vector<int32_t>{axis});
  m.Quantized("mean", TensorType::INT8, {1, 4, 4, 1}, 0.25f, 0);
  tflite::ReducerOptionsT options;
  options.keep_dims = true;
  m.Operator(BuiltinOperator::MEAN, {3, axes}, {axes + 1}, options);
  m.graph().outputs = {axes + 1};
}

struct BadModel {
  const char* name;
  std::function<void(ModelBuilder&)> damage;
  const char* code;
  const char* subject;  // begins so
  const char* message;  // holds this
};

const std::vector<BadModel>& BadModels() {
  using M = ModelBuilder;
  static const std::vector<BadModel> models = {
      {"ShapeOverflowsTheReader",
       [](M& m) {
         m.tensor(0).shape = {1, 65536, 65536, 4};
       },
       "malformed_model", "subgraph 0, tensor 0 (image)", "has more than"},
      {"ShapeOverflows64Bits",
       [](M& m) {
         m.tensor(3).shape = {2147483647, 2147483647, 2147483647, 2147483647};
       },
       "malformed_model", "subgraph 0, tensor 3 (features)", "has more than"},
      {"NegativeDimension",
       [](M& m) {
         m.tensor(0).shape = {1, -4, 4, 1};
       },
       "malformed_model", "subgraph 0, tensor 0 (image)", "dimension -4 is negative"},
      {"ShapeThatTheOperatorContradicts",
       [](M& m) {
         m.tensor(3).shape = {1, 4, 5, 2};
       },
       "malformed_model", "operator 0 (CONV_2D)", ""},
      {"EmptyInput",
       [](M& m) {
         m.tensor(0).shape = {1, 0, 4, 1};
       },
       "unsupported_shape", "input 0, tensor 0 (image)", "every dimension must be at least 1"},
      {"EmptyTensorInside",
       [](M& m) {
         m.tensor(3).shape = {1, 4, 0, 2};
       },
       "unsupported_shape", "operator 0 (CONV_2D)", "every dimension must be at least 1"},
      {"ScaleZero", [](M& m) { m.tensor(0).quantization->scale = {0}; }, "malformed_model",
       "subgraph 0, tensor 0 (image)", "scale 0 is 0.000000"},
      {"ScaleNegative", [](M& m) { m.tensor(1).quantization->scale = {-0.5f}; }, "malformed_model",
       "subgraph 0, tensor 1 (filter)", "scale 0 is -0.500000"},
      {"ScaleInfinite",
       [](M& m) { m.tensor(3).quantization->scale = {std::numeric_limits<float>::infinity()}; },
       "malformed_model", "subgraph 0, tensor 3 (features)", "scale 0 is inf"},
      {"ScaleNotANumber", [](M& m) { m.tensor(3).quantization->scale = {std::nanf("")}; },
       "malformed_model", "subgraph 0, tensor 3 (features)", "scale 0 is nan"},
      {"QuantisationMissingOfAnInput", [](M& m) { m.tensor(0).quantization = nullptr; },
       "unsupported_quantization", "operator 0 (CONV_2D)", "(tensor 0, image) int8"},
      {"QuantisationMissingOfAFilter", [](M& m) { m.tensor(1).quantization = nullptr; },
       "unsupported_quantization", "operator 0 (CONV_2D)", "(tensor 1, filter) int8"},
      {"QuantisationMissingOfAnOutput",
       [](M& m) {
         m.tensor(3).quantization->scale = {}, m.tensor(3).quantization->zero_point = {};
       },
       "unsupported_quantization", "operator 0 (CONV_2D)", "(tensor 3, features) int8"},
      {"AxisOfConcatenationTooHigh",
       [](M& m) { m.op(1).builtin_options.AsConcatenationOptions()->axis = 4; }, "malformed_model",
       "operator 1 (CONCATENATION)", "axis 4 lies outside the rank 4"},
      {"AxisOfConcatenationTooLow",
       [](M& m) { m.op(1).builtin_options.AsConcatenationOptions()->axis = -5; }, "malformed_model",
       "operator 1 (CONCATENATION)", "axis -5 lies outside the rank 4"},
      {"AxisOfAReductionTooHigh", [](M& m) { ReduceAlong(m, 7); }, "unsupported_shape",
       "operator 1 (MEAN)", "an axis lies outside the input's 4 dimensions"},
      {"QuantisedDimensionOutOfRange",
       [](M& m) {
         m.tensor(1).quantization->scale = {0.1f, 0.2f};
         m.tensor(1).quantization->zero_point = {0, 0};
         m.tensor(1).quantization->quantized_dimension = 4;
       },
       "malformed_model", "subgraph 0, tensor 1 (filter)", "dimension 4 is outside the rank 4"},
      {"OperatorThatReadsItsOwnOutput", [](M& m) { m.op(0).inputs[0] = 3; }, "malformed_model",
       "subgraph 0, operator 0 (CONV_2D)", "is written only by operator 0"},
      {"OperatorsThatReadOneAnother", [](M& m) { m.op(0).inputs[0] = 4; }, "malformed_model",
       "subgraph 0, operator 0 (CONV_2D)",
       "is written only by operator 1, which does not come before"},
      {"ForwardReference", [](M& m) { std::swap(m.graph().operators[0], m.graph().operators[1]); },
       "malformed_model", "subgraph 0, operator 0 (CONCATENATION)", "which does not come before"},
      {"TensorThatDoesNotExist", [](M& m) { m.op(1).inputs[1] = 5; }, "malformed_model",
       "subgraph 0, operator 1 (CONCATENATION)", "input tensor 5 does not exist"},
      {"BufferOfAVariableAndAConstant",
       [](M& m) {
         m.tensor(m.Quantized("state", TensorType::INT8, {2, 3, 3, 1}, 0.1f, 0)).buffer = 1;
         m.tensor(5).is_variable = true;
       },
       "malformed_model", "subgraph 0, tensor 5 (state)", "is a variable and has constant data"},
      {"StringInput", [](M& m) { m.tensor(0).type = TensorType::STRING; }, "unsupported_dtype",
       "input 0, tensor 0 (image)", "is string"},
      {"StringInside", [](M& m) { m.tensor(3).type = TensorType::STRING; }, "unsupported_dtype",
       "operator 0 (CONV_2D)", "is of type string, which no kernel takes"},
      {"CustomOperator",
       [](M& m) {
         m.model.operator_codes[1]->builtin_code = BuiltinOperator::CUSTOM;
         m.model.operator_codes[1]->deprecated_builtin_code = 32;
         m.model.operator_codes[1]->custom_code = "Mystery";
       },
       "unsupported_operator", "operator 1 (CUSTOM Mystery)", ""},
      {"SparseFilter",
       [](M& m) { m.tensor(1).sparsity = std::make_unique<tflite::SparsityParametersT>(); },
       "unsupported_tensor", "operator 0 (CONV_2D)", "tensor 1 (filter) is sparse"},
  };
  return models;
}

TEST(GoodModel, IsBuilt) { EXPECT_TRUE(Refusals(GoodModel()).empty()); }

class BadModelTest : public testing::TestWithParam<size_t> {};

TEST_P(BadModelTest, IsRefusedWithThePlace) {
  const BadModel& bad = BadModels()[GetParam()];
  ModelBuilder builder = GoodModel();
  bad.damage(builder);
  const std::vector<Violation> violations = Refusals(builder);
  ASSERT_FALSE(violations.empty());
  std::string all;
  bool named = false;
  for (const Violation& v : violations) {
    all += v.code + " | " + v.subject + " | " + v.message + "\n";
    named = named || (v.code == bad.code && v.subject.starts_with(bad.subject) &&
                      v.message.find(bad.message) != std::string::npos);
  }
  EXPECT_TRUE(named) << all;
}

INSTANTIATE_TEST_SUITE_P(Models, BadModelTest, testing::Range(size_t{0}, BadModels().size()),
                         [](const testing::TestParamInfo<size_t>& info) {
                           return std::string(BadModels()[info.param].name);
                         });

}  // namespace
}  // namespace helx::engine

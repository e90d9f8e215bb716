// Operators in another order than the model's: a smaller arena, the same bytes.
#include "worker/engine/reorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "tests/unit/worker/engine/model_builder.h"

namespace helx::engine {
namespace {

using tflite::BuiltinOperator;
using tflite::TensorType;

constexpr int32_t kWide = 256;

// FULLY_CONNECTED with every weight the same.
int32_t Layer(ModelBuilder* builder, int32_t input, int32_t inputs, int32_t units, float weight,
              const std::string& name) {
  const int32_t weights =
      builder->Fill(builder->Tensor(name + "_weights", TensorType::FLOAT32, {units, inputs}),
                    std::vector<float>(static_cast<size_t>(units) * inputs, weight));
  const int32_t output = builder->Tensor(name, TensorType::FLOAT32, {1, units});
  builder->Operator(BuiltinOperator::FULLY_CONNECTED, {input, weights, -1}, {output},
                    tflite::FullyConnectedOptionsT());
  return output;
}

// Two branches from 4 values over 256 to 2; both wide layers come before either narrow one.
std::string TwoBranchesModel() {
  ModelBuilder builder;
  const int32_t input = builder.Tensor("input", TensorType::FLOAT32, {1, 4});
  builder.graph().inputs = {input};
  const int32_t left = Layer(&builder, input, 4, kWide, 1, "left_wide");
  const int32_t right = Layer(&builder, input, 4, kWide, 2, "right_wide");
  const int32_t a = Layer(&builder, left, kWide, 2, 1, "left");
  const int32_t b = Layer(&builder, right, kWide, 2, 1, "right");
  const int32_t sum = builder.Tensor("sum", TensorType::FLOAT32, {1, 2});
  builder.Operator(BuiltinOperator::ADD, {a, b}, {sum}, tflite::AddOptionsT());
  builder.graph().outputs = {sum};
  return builder.Bytes();
}

absl::StatusOr<GeneratedModel> Generate(std::string_view bytes, Purpose purpose) {
  return FindEngine("builtin")->Generate(AsBytes(bytes), HostBoard(), purpose);
}

int64_t Arena(const GeneratedModel& model) { return model.memory["arena_bytes"].get<int64_t>(); }

TEST(Reorder, OneBranchEndsBeforeTheOtherBegins) {
  const std::string bytes = TwoBranchesModel();
  const auto given = Generate(bytes, Purpose::kProbe);  // keeps the model's order
  const auto better = Generate(bytes, Purpose::kMeasure);
  ASSERT_TRUE(given.ok() && better.ok()) << given.status() << better.status();
  // Two wide tensors of 1024 bytes each, with the input's 16 or a narrow one's.
  EXPECT_EQ(Arena(*given), 1024 + 1024 + 16);
  // The right wide tensor lies where the left one lay; the input and the left narrow tensor are
  // alive beside it.
  EXPECT_EQ(Arena(*better), 1024 + 16 + 16);
  const std::string& code = better->files.at("model.c");
  const size_t invoke = code.find("static uint32_t invoke(void)");
  EXPECT_LT(code.find("&fully_connected_2_params", invoke),
            code.find("&fully_connected_1_params", invoke));
}

TEST(Reorder, ChangesNoByte) {
  const std::string bytes = TwoBranchesModel();
  const std::string folder = FreshFolder("reorder_case");
  const float values[4] = {1, 2, 3, 4};
  ASSERT_TRUE(
      WriteFile(folder + "/input-0.bin", {reinterpret_cast<const char*>(values), sizeof values})
          .ok());
  for (const Purpose purpose : {Purpose::kProbe, Purpose::kMeasure}) {
    const auto model = Generate(bytes, purpose);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto program =
        BuildForHost(*model, FreshFolder(purpose == Purpose::kProbe ? "given" : "better"));
    ASSERT_TRUE(program.ok()) << program.status();
    const auto outputs = RunOnHost(*program, {folder}, 1);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    float sums[2];
    ASSERT_EQ((*outputs)[0][0].size(), sizeof sums);
    std::memcpy(sums, (*outputs)[0][0].data(), sizeof sums);
    // 256 * (1 + 2 + 3 + 4) * (1 + 2)
    EXPECT_EQ(sums[0], 7680.0f);
    EXPECT_EQ(sums[1], 7680.0f);
  }
}

// What a variable holds depends on the order; nothing that touches one changes places with another.
TEST(Reorder, ReadsAndAssignmentsKeepTheirOrder) {
  ModelBuilder builder;
  const int32_t input = builder.Tensor("input", TensorType::FLOAT32, {1, 4});
  builder.graph().inputs = {input};
  const int32_t handle = builder.Tensor("handle", TensorType::RESOURCE, {});
  tflite::VarHandleOptionsT named;
  named.shared_name = "state";
  builder.Operator(BuiltinOperator::VAR_HANDLE, {}, {handle}, named);
  const int32_t wide = Layer(&builder, input, 4, kWide, 1, "wide");
  const int32_t before = builder.Tensor("before", TensorType::FLOAT32, {1, kWide});
  builder.Operator(BuiltinOperator::READ_VARIABLE, {handle}, {before});
  builder.Operator(BuiltinOperator::ASSIGN_VARIABLE, {handle, wide}, {});
  const int32_t narrow = Layer(&builder, before, kWide, 2, 1, "narrow");
  builder.graph().outputs = {narrow};
  const auto model = Generate(builder.Bytes(), Purpose::kMeasure);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> names;
  for (const Json& op : model->memory["operators"]) names.push_back(op["name"]);
  const auto at = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(at("READ_VARIABLE"), at("ASSIGN_VARIABLE"));
  EXPECT_LT(static_cast<size_t>(at("ASSIGN_VARIABLE")), names.size());
}

TEST(Reorder, NeverNeedsMoreOnRealModels) {
  HELX_SKIP_WITHOUT_MODELS();
  for (const std::string& name : ModelsWithGoldens()) {
    const std::string bytes = *RealModel(name);
    const auto given = Generate(bytes, Purpose::kProbe);
    const auto better = Generate(bytes, Purpose::kMeasure);
    if (!given.ok()) continue;
    ASSERT_TRUE(better.ok()) << name << better.status();
    EXPECT_LE(Arena(*better), Arena(*given)) << name;
  }
}

}  // namespace
}  // namespace helx::engine

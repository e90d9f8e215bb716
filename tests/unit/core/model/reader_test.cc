#include "core/model/reader.h"

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"

namespace helx::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A well-formed model of one CONV_2D: int8[1, 4, 4, 1] -> int8[1, 4, 4, 2], 3x3 filters, per-channel scales.
tflite::ModelT OneConvolution() {
  tflite::ModelT model;
  model.version = 3;
  auto code = std::make_unique<tflite::OperatorCodeT>();
  code->deprecated_builtin_code = 3;
  code->builtin_code = tflite::BuiltinOperator::CONV_2D;
  code->version = 3;
  model.operator_codes.push_back(std::move(code));
  for (size_t bytes : {0, 18, 8}) {
    auto buffer = std::make_unique<tflite::BufferT>();
    buffer->data.assign(bytes, 1);
    model.buffers.push_back(std::move(buffer));
  }
  auto graph = std::make_unique<tflite::SubGraphT>();
  auto add = [&](std::string name, tflite::TensorType type, std::vector<int32_t> shape,
                 uint32_t buffer, std::vector<float> scale, int32_t dimension) {
    auto tensor = std::make_unique<tflite::TensorT>();
    tensor->name = std::move(name);
    tensor->type = type;
    tensor->shape = std::move(shape);
    tensor->buffer = buffer;
    tensor->quantization = std::make_unique<tflite::QuantizationParametersT>();
    tensor->quantization->scale = scale;
    tensor->quantization->zero_point.assign(scale.size(), 0);
    tensor->quantization->quantized_dimension = dimension;
    graph->tensors.push_back(std::move(tensor));
  };
  add("image", tflite::TensorType::INT8, {1, 4, 4, 1}, 0, {0.5f}, 0);
  add("filter", tflite::TensorType::INT8, {2, 3, 3, 1}, 1, {0.1f, 0.2f}, 0);
  add("bias", tflite::TensorType::INT32, {2}, 2, {0.05f, 0.1f}, 0);
  add("features", tflite::TensorType::INT8, {1, 4, 4, 2}, 0, {0.25f}, 0);
  auto op = std::make_unique<tflite::OperatorT>();
  op->inputs = {0, 1, 2};
  op->outputs = {3};
  tflite::Conv2DOptionsT options;
  options.stride_h = 1;
  options.stride_w = 1;
  options.fused_activation_function = tflite::ActivationFunctionType::RELU6;
  op->builtin_options.Set(options);
  graph->operators.push_back(std::move(op));
  graph->inputs = {0};
  graph->outputs = {3};
  model.subgraphs.push_back(std::move(graph));
  return model;
}

std::string Serialise(const tflite::ModelT& model) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

std::string Refusal(const tflite::ModelT& model) {
  ReadError error;
  const absl::StatusOr<Model> read = ReadModel(AsBytes(Serialise(model)), &error);
  return read.ok() ? "read" : error.place + ": " + error.message;
}

TEST(ReadModel, ReadsEveryField) {
  const absl::StatusOr<Model> read = ReadModel(AsBytes(Serialise(OneConvolution())));
  ASSERT_TRUE(read.ok()) << read.status();
  const Subgraph& graph = read->primary();
  ASSERT_EQ(graph.tensors.size(), 4u);
  EXPECT_EQ(TensorText(graph.tensors[1]), "int8[2, 3, 3, 1]");
  EXPECT_EQ(graph.tensors[1].data.size(), 18u);
  EXPECT_TRUE(graph.tensors[1].is_constant);
  EXPECT_FALSE(graph.tensors[0].is_constant);
  EXPECT_THAT(graph.tensors[1].quantization.scale, ElementsAre(0.1f, 0.2f));
  ASSERT_EQ(graph.operators.size(), 1u);
  const Operator& op = graph.operators[0];
  EXPECT_EQ(OperatorText(op), "CONV_2D");
  EXPECT_THAT(op.inputs, ElementsAre(0, 1, 2));
  ASSERT_NE(op.options.AsConv2DOptions(), nullptr);
  EXPECT_EQ(op.options.AsConv2DOptions()->fused_activation_function,
            tflite::ActivationFunctionType::RELU6);
}

TEST(ReadModel, KeepsConstantsAliveAfterTheFileIsGone) {
  std::optional<Model> model;
  {
    std::string bytes = Serialise(OneConvolution());
    model = *ReadModel(AsBytes(bytes));
    std::fill(bytes.begin(), bytes.end(), '\x7f');
  }
  EXPECT_EQ(model->primary().tensors[1].data[17], 1);
}

TEST(ReadModel, NamesThePlaceOfEachFault) {
  struct Case {
    std::function<void(tflite::ModelT&)> change;
    std::string expected;
  };
  auto tensor = [](tflite::ModelT& m, int i) -> tflite::TensorT& { return *m.subgraphs[0]->tensors[i]; };
  auto op = [](tflite::ModelT& m) -> tflite::OperatorT& { return *m.subgraphs[0]->operators[0]; };
  const std::vector<Case> cases = {
      {[&](auto& m) { m.version = 4; }, "file: schema version 4"},
      {[&](auto& m) { m.subgraphs.clear(); }, "file: holds no subgraph"},
      {[&](auto& m) { tensor(m, 0).shape = {1, 65536, 65536, 4}; },
       "tensor 0 (image): shape int8[1, 65536, 65536, 4] has more than"},
      {[&](auto& m) { tensor(m, 0).shape = {1, -1, 4, 1}; }, "dimension -1 is negative"},
      {[&](auto& m) { tensor(m, 0).shape.assign(9, 1); }, "rank 9; at most 8"},
      {[&](auto& m) { tensor(m, 1).shape = {2, 3, 3, 2}; },
       "tensor 1 (filter): buffer 1 holds 18 bytes, but int8[2, 3, 3, 2] takes 36"},
      {[&](auto& m) { tensor(m, 1).buffer = 7; }, "buffer 7 does not exist; there are 3"},
      {[&](auto& m) { tensor(m, 1).is_variable = true; }, "is a variable and has constant data"},
      {[&](auto& m) { tensor(m, 0).quantization->scale = {0}; }, "scale 0 is 0.000000"},
      {[&](auto& m) { tensor(m, 0).quantization->scale = {-1}; }, "scale 0 is -1.000000"},
      {[&](auto& m) { tensor(m, 0).quantization->scale[0] = std::numeric_limits<float>::infinity(); },
       "scale 0 is inf"},
      {[&](auto& m) { tensor(m, 0).quantization->zero_point = {128}; },
       "zero point 128 is outside [-128, 127] of int8"},
      {[&](auto& m) { tensor(m, 1).quantization->quantized_dimension = 1; },
       "2 scales for dimension 1 of size 3"},
      {[&](auto& m) { tensor(m, 1).quantization->zero_point = {0}; }, "2 scales but 1 zero points"},
      {[&](auto& m) { op(m).inputs[1] = 9; },
       "subgraph 0, operator 0 (CONV_2D): input tensor 9 does not exist; there are 4"},
      {[&](auto& m) { op(m).inputs[0] = 3; },
       "input tensor 3 is written only by operator 0, which does not come before"},
      {[&](auto& m) { op(m).outputs = {2}; }, "output tensor 2 is a constant"},
      {[&](auto& m) { op(m).outputs = {0}; }, "output tensor 0 is an input of the subgraph"},
      {[&](auto& m) { op(m).outputs = {3, 3}; }, "already written by operator 0"},
      {[&](auto& m) { op(m).opcode_index = 4; }, "operator code 4 does not exist; there are 1"},
      {[&](auto& m) { m.subgraphs[0]->inputs = {0, 0}; }, "input 1: tensor 0 appears twice"},
      {[&](auto& m) { m.subgraphs[0]->inputs.clear(); },
       "operator 0 (CONV_2D): input tensor 0 is never written"},
      {[&](auto& m) { m.subgraphs[0]->operators.clear(); },
       "subgraph 0, output 0: tensor 3 is never written"},
      {[&](auto& m) { tensor(m, 0).name = "\xff\xfe"; }, "a name is not UTF-8"},
      {[&](auto& m) { m.operator_codes[0]->deprecated_builtin_code = -7; }, "operator number -7"},
  };
  for (const Case& c : cases) {
    tflite::ModelT model = OneConvolution();
    c.change(model);
    EXPECT_THAT(Refusal(model), HasSubstr(c.expected));
  }
}

TEST(ReadModel, RefusesEveryTruncation) {
  const std::string bytes = Serialise(OneConvolution());
  // FlatBuffers may end in padding that nothing refers to.
  for (size_t size = 0; size + 8 < bytes.size(); ++size) {
    EXPECT_FALSE(ReadModel(AsBytes(bytes.substr(0, size))).ok()) << size;
  }
}

TEST(ReadModel, SurvivesEverySingleByteChange) {
  const std::string bytes = Serialise(OneConvolution());
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      refused += ReadModel(AsBytes(changed)).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 0);
}

// Many tensors that share one name and one shape vector: legal FlatBuffers, but a decoder that copies would grow without
// bound. 50,000 tensor entries pointing at one table with a 1,000-byte name.
TEST(ReadModel, ChargesSharedObjectsEachTime) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(1000, 'n'));
  const auto tensor = tflite::CreateTensor(builder, 0, tflite::TensorType::INT8, 0, name);
  const std::vector<flatbuffers::Offset<tflite::Tensor>> tensors(50'000, tensor);
  const auto graph = tflite::CreateSubGraph(builder, builder.CreateVector(tensors));
  const auto graphs = builder.CreateVector(&graph, 1);
  tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, 3, 0, graphs));
  ReadError error;
  EXPECT_FALSE(ReadModel({builder.GetBufferPointer(), builder.GetSize()}, &error).ok());
  EXPECT_THAT(error.message, HasSubstr("shared"));
}

// The folder of real models, or empty: then the test is skipped unless HELX_REQUIRE_MODELS asks for it.
std::string ModelsFolder() {
  const char* folder = std::getenv("HELX_MODELS");
  return folder == nullptr ? "" : folder;
}

#define HELX_SKIP_WITHOUT_MODELS()                                              \
  do {                                                                          \
    if (ModelsFolder().empty()) {                                               \
      const char* required = std::getenv("HELX_REQUIRE_MODELS");                \
      if (required != nullptr && std::string(required) == "1") {                \
        FAIL() << "HELX_REQUIRE_MODELS=1, but HELX_MODELS is not set";          \
      }                                                                         \
      GTEST_SKIP() << "HELX_MODELS is not set";                                 \
    }                                                                           \
  } while (false)

TEST(RealModels, EveryModelWithGoldenOutputsIsRead) {
  HELX_SKIP_WITHOUT_MODELS();
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ModelsFolder())) {
    if (!std::filesystem::exists(entry.path() / "case0" / "output-0.bin")) continue;
    const absl::StatusOr<std::string> bytes = ReadFile((entry.path() / "model.tflite").string());
    ASSERT_TRUE(bytes.ok());
    const absl::StatusOr<Model> model = ReadModel(AsBytes(*bytes));
    EXPECT_TRUE(model.ok()) << entry.path() << ": " << model.status();
    ++read;
  }
  EXPECT_GT(read, 100);
}

TEST(RealModels, MalformedFilesAreRefusedUnlessWellFormed) {
  HELX_SKIP_WITHOUT_MODELS();
  // Well formed as far as the format goes: the operator table, the planner or the board refuses what cannot run.
  const std::set<std::string> well_formed = {
      "hello_world_int8__builtin_code_126", "hello_world_int8__input_dim_huge",
      "hello_world_int8__input_dim_zero",   "hello_world_int8__op_input_minus1",
      "hello_world_int8__op_inputs_len0",   "hello_world_int8__op_version_9999",
      "hello_world_int8__out_scale_len0",   "hello_world_int8__out_scale_tiny",
      "real_conv_huge_im2col",              "real_empty_model",
      "trained_lstm_int8__builtin_code_126", "trained_lstm_int8__flip4_0",
      "trained_lstm_int8__flip4_3",         "trained_lstm_int8__flip4_4",
      "trained_lstm_int8__input_dim_zero",  "trained_lstm_int8__op_input_minus1",
      "trained_lstm_int8__op_inputs_len0",  "trained_lstm_int8__out_scale_len0",
      "trained_lstm_int8__out_scale_tiny"};
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ModelsFolder() + "/_malformed")) {
    if (entry.path().extension() != ".tflite") continue;
    const absl::StatusOr<std::string> bytes = ReadFile(entry.path().string());
    ASSERT_TRUE(bytes.ok());
    ReadError error;
    const bool read = ReadModel(AsBytes(*bytes), &error).ok();
    EXPECT_EQ(read, well_formed.contains(entry.path().stem().string()))
        << entry.path() << ": " << error.place << ": " << error.message;
    ++files;
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace helx::model

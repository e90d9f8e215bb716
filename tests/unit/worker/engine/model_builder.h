// Small models by hand: tensors with or without constants, operators with options, in one subgraph.
#ifndef HELX_TESTS_UNIT_WORKER_ENGINE_MODEL_BUILDER_H_
#define HELX_TESTS_UNIT_WORKER_ENGINE_MODEL_BUILDER_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

class ModelBuilder {
 public:
  ModelBuilder() {
    model.version = 3;
    model.buffers.push_back(std::make_unique<tflite::BufferT>());
    model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>());
  }

  tflite::SubGraphT& graph() { return *model.subgraphs[0]; }
  tflite::TensorT& tensor(int32_t number) { return *graph().tensors[number]; }
  tflite::OperatorT& op(size_t number) { return *graph().operators[number]; }

  int32_t Tensor(std::string name, tflite::TensorType type, std::vector<int32_t> shape) {
    auto tensor = std::make_unique<tflite::TensorT>();
    tensor->name = std::move(name);
    tensor->type = type;
    tensor->shape = std::move(shape);
    graph().tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(graph().tensors.size()) - 1;
  }

  // int8, or int32 for a bias; one scale.
  int32_t Quantized(std::string name, tflite::TensorType type, std::vector<int32_t> shape,
                    float scale, int64_t zero_point) {
    const int32_t number = Tensor(std::move(name), type, std::move(shape));
    tensor(number).quantization = std::make_unique<tflite::QuantizationParametersT>();
    tensor(number).quantization->scale = {scale};
    tensor(number).quantization->zero_point = {zero_point};
    return number;
  }

  template <typename T>
  int32_t Fill(int32_t number, const std::vector<T>& values) {
    auto buffer = std::make_unique<tflite::BufferT>();
    buffer->data.resize(values.size() * sizeof(T));
    std::memcpy(buffer->data.data(), values.data(), buffer->data.size());
    tensor(number).buffer = static_cast<uint32_t>(model.buffers.size());
    model.buffers.push_back(std::move(buffer));
    return number;
  }

  template <typename Options>
  void Operator(tflite::BuiltinOperator code, std::vector<int32_t> inputs,
                std::vector<int32_t> outputs, Options options) {
    Operator(code, std::move(inputs), std::move(outputs));
    graph().operators.back()->builtin_options.Set(std::move(options));
  }

  void Operator(tflite::BuiltinOperator code, std::vector<int32_t> inputs,
                std::vector<int32_t> outputs) {
    auto op_code = std::make_unique<tflite::OperatorCodeT>();
    op_code->builtin_code = code;
    op_code->deprecated_builtin_code = static_cast<int8_t>(std::min(static_cast<int>(code), 127));
    op_code->version = 1;
    auto op = std::make_unique<tflite::OperatorT>();
    op->opcode_index = static_cast<uint32_t>(model.operator_codes.size());
    op->inputs = std::move(inputs);
    op->outputs = std::move(outputs);
    model.operator_codes.push_back(std::move(op_code));
    graph().operators.push_back(std::move(op));
  }

  std::string Bytes() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
    return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                       builder.GetSize());
  }

  tflite::ModelT model;
};

}  // namespace helx::engine

#endif  // HELX_TESTS_UNIT_WORKER_ENGINE_MODEL_BUILDER_H_

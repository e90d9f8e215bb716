// A TensorFlow Lite model as a plain value: what a .tflite file says, checked, without FlatBuffers' indirections.
//
// The reader (reader.h) is the only producer of a Model from bytes; tests and passes may also build one by hand. Whatever a
// Model holds has been range-checked: every index is in range, shapes do not overflow, constants have the length of their
// shape, quantisation parameters are usable, and operators stand in an order in which every input exists before it is read.
#ifndef HELX_CORE_MODEL_MODEL_H_
#define HELX_CORE_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/tflite_generated.h"
#include "core/tensor/dtype.h"

namespace helx::model {

using tflite::BuiltinOperator;
using tflite::TensorType;

// Affine quantisation, real = scale * (stored - zero_point). Empty `scale`: not quantised.
struct Quantization {
  std::vector<float> scale;         // 1, or one per slice along `dimension`; finite and > 0
  std::vector<int64_t> zero_point;  // as many as scales; within the storage type's range
  int32_t dimension = 0;            // in [0, rank)

  bool present() const { return !scale.empty(); }
  bool per_channel() const { return scale.size() > 1; }
};

struct Tensor {
  std::string name;  // UTF-8, may be empty
  TensorType type = TensorType::FLOAT32;
  std::vector<int32_t> shape;            // every dimension >= 0
  std::vector<int32_t> shape_signature;  // empty, or the rank of `shape`; -1: unknown when the model was converted
  Quantization quantization;
  uint32_t buffer = 0;
  std::span<const uint8_t> data;  // a constant's bytes: row-major, little-endian
  bool is_constant = false;       // has data, or has no elements and no producer
  bool is_variable = false;       // keeps its content between invocations
  bool is_sparse = false;         // `data` is in a sparse encoding
};

struct Operator {
  BuiltinOperator code = BuiltinOperator::CUSTOM;
  std::string custom_name;  // of a CUSTOM operator
  int32_t version = 1;
  std::vector<int32_t> inputs;   // tensor numbers; -1: an optional input that is absent
  std::vector<int32_t> outputs;  // tensor numbers
  std::vector<int32_t> intermediates;
  tflite::BuiltinOptionsUnion options;  // enumerators inside are as stored, not yet checked
  std::span<const uint8_t> custom_options;
};

struct Subgraph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<int32_t> inputs;   // tensor numbers
  std::vector<int32_t> outputs;  // tensor numbers
  std::vector<Operator> operators;
};

struct Signature {
  std::string key;
  int32_t subgraph = 0;
  std::vector<std::pair<std::string, int32_t>> inputs;  // name, tensor number
  std::vector<std::pair<std::string, int32_t>> outputs;
};

struct Model {
  std::vector<Subgraph> subgraphs;  // at least one; the first is the primary subgraph
  std::vector<Signature> signatures;
  std::string description;
  // Keeps the bytes alive that the spans refer to.
  std::shared_ptr<const std::vector<uint64_t>> storage;

  const Subgraph& primary() const { return subgraphs.front(); }
};

// "CONV_2D"; "CUSTOM" for an unknown number.
std::string_view OperatorName(BuiltinOperator code);
// "CONV_2D", or "CUSTOM fake-op-double".
std::string OperatorText(const Operator& op);

// "int8", "float32", ..., also for types that no kernel takes ("complex64").
std::string_view TensorTypeName(TensorType type);
// The storage type, when it is one that tensors may be exchanged in.
std::optional<DType> StorageType(TensorType type);
// Bits per element; empty for types without a fixed size (string, resource, variant).
std::optional<int> ElementBits(TensorType type);

// Elements of a checked shape (1 for a scalar).
int64_t ElementCount(const Tensor& tensor);
// Bytes of a tensor with a fixed-size type; 4-bit and 2-bit types are packed and rounded up.
int64_t ByteSize(const Tensor& tensor);

// "int8[1, 49, 10, 1]".
std::string TensorText(const Tensor& tensor);

}  // namespace helx::model

#endif  // HELX_CORE_MODEL_MODEL_H_

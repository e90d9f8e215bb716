#include "core/model/reader.h"

#include <bit>
#include <cstring>

#include "core/base/json.h"
#include "core/model/validate.h"

namespace helx::model {
namespace {

// Decodes one verified file. Every method returns false after filling in the error.
class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, const ReadLimits& limits, ReadError* error)
      : bytes_(bytes), limits_(limits), error_(error), budget_(4 * bytes.size() + (1u << 16)) {}

  bool Decode(const tflite::Model& root, Model* model) {
    if (root.version() != 3) {
      return Fail("file",
                  "schema version " + std::to_string(root.version()) + "; only version 3 is read");
    }
    if (root.subgraphs() == nullptr || root.subgraphs()->size() == 0) {
      return Fail("file", "holds no subgraph; at least one is needed");
    }
    if (!Spend("file", root.subgraphs()->size())) return false;
    if (!Text("description", root.description(), SIZE_MAX, &model->description)) return false;
    if (!Buffers(root)) return false;
    for (const tflite::SubGraph* graph : *root.subgraphs()) {
      Subgraph subgraph;
      if (graph == nullptr) return Fail("file", "holds an empty subgraph entry");
      if (!DecodeSubgraph(root, *graph, model->subgraphs.size(), &subgraph)) return false;
      model->subgraphs.push_back(std::move(subgraph));
    }
    return Signatures(root, model);
  }

 private:
  bool Fail(std::string place, std::string message) {
    *error_ = {std::move(place), std::move(message)};
    return false;
  }

  // Pays for copied elements, so that objects shared inside the file cannot multiply it.
  bool Spend(const std::string& place, size_t elements) {
    if (elements > budget_) {
      return Fail(place,
                  "objects are shared so often that the model would be much larger than the "
                  "file");
    }
    budget_ -= elements;
    return true;
  }

  bool Text(const std::string& place, const flatbuffers::String* text, size_t limit,
            std::string* out) {
    if (text == nullptr) return true;
    const std::string_view view(text->c_str(), text->size());
    if (!Spend(place, view.size())) return false;
    if (view.size() > limit) {
      return Fail(place, "a name of " + std::to_string(view.size()) + " bytes; at most " +
                             std::to_string(limit) + " are allowed");
    }
    if (!IsUtf8(view)) return Fail(place, "a name is not UTF-8 text");
    out->assign(view);
    return true;
  }

  template <typename T>
  bool Numbers(const std::string& place, const flatbuffers::Vector<T>* from, std::vector<T>* to) {
    if (from == nullptr) return true;
    if (!Spend(place, from->size())) return false;
    // Not through iterators: the verifier aligns a vector's length, not its 8-byte elements.
    static_assert(std::endian::native == std::endian::little);
    to->resize(from->size());
    if (!to->empty()) std::memcpy(to->data(), from->Data(), to->size() * sizeof(T));
    return true;
  }

  // A stretch of the file outside the FlatBuffer proper, as files beyond 2 GiB use it.
  bool Stretch(const std::string& place, uint64_t offset, uint64_t size,
               std::span<const uint8_t>* out) {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return Fail(place, "bytes [" + std::to_string(offset) + ", +" + std::to_string(size) +
                             ") lie outside the file of " + std::to_string(bytes_.size()));
    }
    *out = bytes_.subspan(offset, size);
    return true;
  }

  bool Buffers(const tflite::Model& root) {
    if (root.buffers() == nullptr) return true;
    if (root.buffers()->size() > limits_.objects) {
      return Fail("file", std::to_string(root.buffers()->size()) + " buffers; at most " +
                              std::to_string(limits_.objects) + " are allowed");
    }
    for (const tflite::Buffer* buffer : *root.buffers()) {
      std::span<const uint8_t> data;
      if (buffer != nullptr && buffer->data() != nullptr) {
        data = {buffer->data()->data(), buffer->data()->size()};
      } else if (buffer != nullptr && buffer->offset() > 1) {
        if (!Stretch("buffer " + std::to_string(buffers_.size()), buffer->offset(), buffer->size(),
                     &data)) {
          return false;
        }
      }
      buffers_.push_back(data);
    }
    return true;
  }

  bool DecodeSubgraph(const tflite::Model& root, const tflite::SubGraph& from, size_t number,
                      Subgraph* to) {
    const std::string place = "subgraph " + std::to_string(number);
    const size_t tensors = from.tensors() == nullptr ? 0 : from.tensors()->size();
    const size_t operators = from.operators() == nullptr ? 0 : from.operators()->size();
    objects_ += tensors + operators;
    if (tensors > limits_.objects || operators > limits_.objects || objects_ > limits_.objects) {
      return Fail(place, "more than " + std::to_string(limits_.objects) +
                             " tensors and operators in the model");
    }
    if (!Text(place, from.name(), limits_.name_bytes, &to->name) ||
        !Numbers(place, from.inputs(), &to->inputs) ||
        !Numbers(place, from.outputs(), &to->outputs)) {
      return false;
    }
    to->tensors.resize(tensors);
    for (size_t i = 0; i < tensors; ++i) {
      if (!DecodeTensor(number, i, from.tensors()->Get(i), &to->tensors[i])) return false;
    }
    to->operators.resize(operators);
    for (size_t i = 0; i < operators; ++i) {
      if (!DecodeOperator(root, number, i, from.operators()->Get(i), &to->operators[i])) {
        return false;
      }
    }
    if (std::optional<ReadError> problem = CheckDataFlow(number, *to)) {
      return Fail(problem->place, problem->message);
    }
    return true;
  }

  bool DecodeTensor(size_t subgraph, size_t number, const tflite::Tensor* from, Tensor* to) {
    const std::string unnamed = TensorPlace(subgraph, number, *to);
    if (from == nullptr) return Fail(unnamed, "is an empty entry");
    if (!Text(unnamed, from->name(), limits_.name_bytes, &to->name)) return false;
    const std::string place = TensorPlace(subgraph, number, *to);
    to->type = from->type();
    if (TensorTypeName(to->type) == "unknown") {
      return Fail(place, "type " + std::to_string(static_cast<int>(to->type)) +
                             " is not one of the format's");
    }
    to->is_variable = from->is_variable();
    to->is_sparse = from->sparsity() != nullptr;
    to->buffer = from->buffer();
    if (from->external_buffer() != 0) {
      return Fail(place, "keeps its data in another file; all data must be in the model");
    }
    if (to->buffer != 0 && to->buffer >= buffers_.size()) {
      return Fail(place, "buffer " + std::to_string(to->buffer) + " does not exist; there are " +
                             std::to_string(buffers_.size()));
    }
    if (to->buffer < buffers_.size()) to->data = buffers_[to->buffer];
    if (!Numbers(place, from->shape(), &to->shape) ||
        !Numbers(place, from->shape_signature(), &to->shape_signature) ||
        !DecodeQuantization(place, from->quantization(), to->shape.size(), &to->quantization)) {
      return false;
    }
    if (std::optional<std::string> problem = CheckTensor(*to, limits_)) {
      return Fail(place, *problem);
    }
    return true;
  }

  bool DecodeQuantization(const std::string& place, const tflite::QuantizationParameters* from,
                          size_t rank, Quantization* to) {
    if (from == nullptr) return true;
    if (from->details_type() != 0) {
      return Fail(place, "quantisation details of kind " + std::to_string(from->details_type()) +
                             "; only scales and zero points are read");
    }
    if (from->scale() == nullptr || from->scale()->size() == 0) return true;
    if (!Numbers(place, from->scale(), &to->scale) ||
        !Numbers(place, from->zero_point(), &to->zero_point)) {
      return false;
    }
    if (to->zero_point.empty()) to->zero_point.assign(to->scale.size(), 0);
    // Some converters gave a per-channel bias the dimension of its filter; a vector has only one.
    to->dimension = rank == 1 ? 0 : from->quantized_dimension();
    return true;
  }

  bool DecodeOperator(const tflite::Model& root, size_t subgraph, size_t number,
                      const tflite::Operator* from, Operator* to) {
    const std::string unnamed =
        "subgraph " + std::to_string(subgraph) + ", operator " + std::to_string(number);
    const size_t codes = root.operator_codes() == nullptr ? 0 : root.operator_codes()->size();
    if (from == nullptr) return Fail(unnamed, "is an empty entry");
    if (from->opcode_index() >= codes) {
      return Fail(unnamed, "operator code " + std::to_string(from->opcode_index()) +
                               " does not exist; there are " + std::to_string(codes));
    }
    const tflite::OperatorCode* code = root.operator_codes()->Get(from->opcode_index());
    if (code == nullptr) return Fail(unnamed, "operator code is an empty entry");
    // Before schema version 3a the number was a byte; newer files repeat it there when it fits, and
    // put 127 when not.
    const int32_t deprecated = code->deprecated_builtin_code();
    const int32_t current = static_cast<int32_t>(code->builtin_code());
    const int32_t builtin = std::max(deprecated, current);
    to->code = static_cast<BuiltinOperator>(builtin);
    if (deprecated < 0 || current < 0 || tflite::EnumNameBuiltinOperator(to->code)[0] == '\0') {
      return Fail(unnamed, "operator number " +
                               std::to_string(deprecated < 0 ? deprecated : builtin) +
                               " is not one of the format's");
    }
    to->version = code->version();
    if (!Text(unnamed, code->custom_code(), limits_.name_bytes, &to->custom_name) ||
        !Numbers(unnamed, from->inputs(), &to->inputs) ||
        !Numbers(unnamed, from->outputs(), &to->outputs) ||
        !Numbers(unnamed, from->intermediates(), &to->intermediates)) {
      return false;
    }
    if (from->custom_options() != nullptr) {
      to->custom_options = {from->custom_options()->data(), from->custom_options()->size()};
    } else if (from->large_custom_options_offset() > 1 &&
               !Stretch(unnamed, from->large_custom_options_offset(),
                        from->large_custom_options_size(), &to->custom_options)) {
      return false;
    }
    return DecodeOptions(OperatorPlace(subgraph, number, *to), *from, to);
  }

  bool DecodeOptions(const std::string& place, const tflite::Operator& from, Operator* to) {
    if (from.builtin_options() == nullptr) return true;
    // The options with a length of their own; the others are a few numbers.
    size_t elements = 16;
    if (const auto* reshape = from.builtin_options_as_ReshapeOptions()) {
      if (reshape->new_shape() != nullptr) elements = reshape->new_shape()->size();
    } else if (const auto* squeeze = from.builtin_options_as_SqueezeOptions()) {
      if (squeeze->squeeze_dims() != nullptr) elements = squeeze->squeeze_dims()->size();
    } else if (const auto* handle = from.builtin_options_as_VarHandleOptions()) {
      if (handle->container() != nullptr) elements += handle->container()->size();
      if (handle->shared_name() != nullptr) elements += handle->shared_name()->size();
    }
    if (!Spend(place, elements)) return false;
    to->options.type = from.builtin_options_type();
    to->options.value = tflite::BuiltinOptionsUnion::UnPack(from.builtin_options(),
                                                            from.builtin_options_type(), nullptr);
    if (to->options.value == nullptr) to->options.type = tflite::BuiltinOptions::NONE;
    return true;
  }

  bool TensorMaps(const std::string& place, const Subgraph& subgraph,
                  const flatbuffers::Vector<flatbuffers::Offset<tflite::TensorMap>>* from,
                  std::vector<std::pair<std::string, int32_t>>* to) {
    if (from == nullptr) return true;
    if (!Spend(place, from->size())) return false;
    for (const tflite::TensorMap* entry : *from) {
      std::string name;
      if (entry == nullptr) return Fail(place, "holds an empty entry");
      if (!Text(place, entry->name(), limits_.name_bytes, &name)) return false;
      if (entry->tensor_index() >= subgraph.tensors.size()) {
        return Fail(place, "tensor " + std::to_string(entry->tensor_index()) +
                               " does not exist; there are " +
                               std::to_string(subgraph.tensors.size()));
      }
      to->emplace_back(std::move(name), static_cast<int32_t>(entry->tensor_index()));
    }
    return true;
  }

  bool Signatures(const tflite::Model& root, Model* model) {
    if (root.signature_defs() == nullptr) return true;
    if (!Spend("signatures", root.signature_defs()->size())) return false;
    for (const tflite::SignatureDef* from : *root.signature_defs()) {
      const std::string place = "signature " + std::to_string(model->signatures.size());
      Signature to;
      if (from == nullptr) return Fail(place, "is an empty entry");
      if (from->subgraph_index() >= model->subgraphs.size()) {
        return Fail(place, "subgraph " + std::to_string(from->subgraph_index()) +
                               " does not exist; there are " +
                               std::to_string(model->subgraphs.size()));
      }
      to.subgraph = static_cast<int32_t>(from->subgraph_index());
      const Subgraph& subgraph = model->subgraphs[to.subgraph];
      if (!Text(place, from->signature_key(), limits_.name_bytes, &to.key) ||
          !TensorMaps(place, subgraph, from->inputs(), &to.inputs) ||
          !TensorMaps(place, subgraph, from->outputs(), &to.outputs)) {
        return false;
      }
      model->signatures.push_back(std::move(to));
    }
    return true;
  }

  std::span<const uint8_t> bytes_;
  const ReadLimits& limits_;
  ReadError* error_;
  size_t budget_;
  size_t objects_ = 0;
  std::vector<std::span<const uint8_t>> buffers_;
};

absl::Status Refuse(ReadError problem, ReadError* error) {
  const std::string text = problem.place + ": " + problem.message;
  if (error != nullptr) *error = std::move(problem);
  return InvalidArgument(text);
}

}  // namespace

absl::StatusOr<Model> ReadModel(std::span<const uint8_t> bytes, ReadError* error,
                                const ReadLimits& limits) {
  if (bytes.size() > limits.file_bytes) {
    return Refuse({"file", std::to_string(bytes.size()) + " bytes; at most " +
                               std::to_string(limits.file_bytes) + " are allowed"},
                  error);
  }
  if (bytes.size() < 8 || std::memcmp(bytes.data() + 4, "TFL3", 4) != 0) {
    return Refuse({"file", "is not a TensorFlow Lite model: bytes 4 to 7 must be \"TFL3\""}, error);
  }
  Model model;
  // FlatBuffers reads numbers in place, so the copy is aligned for the widest.
  auto storage = std::make_shared<std::vector<uint64_t>>((bytes.size() + 7) / 8, 0);
  std::memcpy(storage->data(), bytes.data(), bytes.size());
  const uint8_t* base = reinterpret_cast<const uint8_t*>(storage->data());
  model.storage = std::move(storage);

  flatbuffers::Verifier verifier(
      base, bytes.size(), /*max_depth=*/32,
      /*max_tables=*/static_cast<flatbuffers::uoffset_t>(4 * limits.objects));
  if (!tflite::VerifyModelBuffer(verifier)) {
    return Refuse({"file",
                   "is not a well-formed FlatBuffer: an offset or a length points outside "
                   "its " +
                       std::to_string(bytes.size()) + " bytes"},
                  error);
  }
  ReadError problem;
  Decoder decoder({base, bytes.size()}, limits, &problem);
  if (!decoder.Decode(*tflite::GetModel(base), &model)) return Refuse(std::move(problem), error);
  return model;
}

}  // namespace helx::model

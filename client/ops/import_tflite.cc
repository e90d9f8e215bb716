#include "client/ops/import_tflite.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include "client/ops/arguments.h"
#include "client/ops/files.h"
#include "core/model/reader.h"
#include "core/ops/json.h"

namespace helx::ops {
namespace {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using tflite::Padding;
using tflite::TensorType;

absl::Status Refuse(std::string what) { return absl::InvalidArgumentError(std::move(what)); }

// One operator as TFQ writes it.
struct TfqOpText {
  std::string act = "none";
  std::vector<int32_t> in;
  std::string opts = "{}";
};

std::string ActivationName(ActivationFunctionType act) {
  if (act == ActivationFunctionType::NONE) return "none";
  if (act == ActivationFunctionType::RELU) return "relu";
  if (act == ActivationFunctionType::RELU6) return "relu6";
  return "";
}

std::string WindowText(Padding padding, int64_t kh, int64_t kw, int64_t sh, int64_t sw, int64_t dh,
                       int64_t dw) {
  return JsonObject()
      .Integer("dh", dh)
      .Integer("dw", dw)
      .Integer("kh", kh)
      .Integer("kw", kw)
      .Text("pad", padding == Padding::SAME ? "same" : "valid")
      .Integer("sh", sh)
      .Integer("sw", sw)
      .Str();
}

int64_t LoadInt(std::span<const uint8_t> data, size_t at, int width) {
  uint64_t value = 0;
  for (int i = width - 1; i >= 0; --i) value = value << 8 | data[at + i];
  return width == 1 ? static_cast<int8_t>(value) : static_cast<int32_t>(value);
}

class Importer {
 public:
  Importer(const model::Subgraph& graph, const ImportOptions& options)
      : graph_(graph), options_(options) {}

  absl::StatusOr<std::string> Run() {
    if (options_.rounding != "double" && options_.rounding != "single") {
      return Refuse("rounding is \"double\" or \"single\"");
    }
    if (graph_.inputs.size() != 1) return Refuse("the model has several inputs; TFQ has one");
    if (!options_.out && graph_.outputs.size() != 1) {
      return Refuse("the model has several outputs: choose one tensor with --output");
    }
    in_ = options_.in.value_or(graph_.inputs[0]);
    out_ = options_.out.value_or(graph_.outputs[0]);
    const auto count = static_cast<int32_t>(graph_.tensors.size());
    for (const int32_t tensor : {in_, out_}) {
      if (tensor < 0 || tensor >= count) {
        return Refuse("the model has no tensor " + std::to_string(tensor) + " (0.." +
                      std::to_string(count - 1) + ")");
      }
    }
    if (absl::Status status = Choose(); !status.ok()) return status;
    std::vector<std::string> ops;
    for (const size_t index : chosen_) {
      absl::StatusOr<std::string> op = OpText(index);
      if (!op.ok()) return op.status();
      ops.push_back(*std::move(op));
    }
    std::vector<std::string> tensors;
    for (int32_t i = 0; i < count; ++i) {
      absl::StatusOr<std::string> tensor = TensorText(i);
      if (!tensor.ok()) return tensor.status();
      tensors.push_back(*std::move(tensor));
    }
    return JsonObject()
               .Text("form", "tfq")
               .Integer("in", in_)
               .Raw("ops", JsonArray(ops))
               .Integer("out", out_)
               .Text("rounding", options_.rounding)
               .Raw("tensors", JsonArray(tensors))
               .Str() +
           "\n";
  }

 private:
  std::string Where(size_t index) const {
    return "operator " + std::to_string(index) + " (" +
           model::OperatorText(graph_.operators[index]) + "): ";
  }

  // The operators between in and out, in file order: those that out needs, back to in.
  absl::Status Choose() {
    std::set<int32_t> needed = {out_};
    for (size_t i = graph_.operators.size(); i-- > 0;) {
      const model::Operator& op = graph_.operators[i];
      const bool writes = std::any_of(op.outputs.begin(), op.outputs.end(), [&](int32_t tensor) {
        return needed.count(tensor) == 1 && tensor != in_;
      });
      if (!writes) continue;
      chosen_.insert(chosen_.begin(), i);
      for (const int32_t tensor : op.inputs) {
        if (tensor >= 0 && !graph_.tensors[tensor].is_constant) needed.insert(tensor);
      }
    }
    std::set<int32_t> written = {in_};
    for (const size_t i : chosen_) {
      for (const int32_t tensor : graph_.operators[i].outputs) written.insert(tensor);
    }
    for (const int32_t tensor : needed) {
      if (written.count(tensor) == 0) {
        return Refuse("tensor " + std::to_string(tensor) +
                      " is needed and does not come from in (" + std::to_string(in_) + ")");
      }
    }
    if (chosen_.empty()) return Refuse("there is no operator between in and out");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> OpText(size_t index) {
    const model::Operator& op = graph_.operators[index];
    if (op.outputs.size() != 1 || op.inputs.empty()) {
      return Refuse(Where(index) + "TFQ writes operators of one output");
    }
    absl::StatusOr<TfqOpText> text = Describe(index, op);
    if (!text.ok()) return text.status();
    if (text->act.empty()) {
      return Refuse(Where(index) + "its activation function is not NONE, RELU or RELU6");
    }
    for (const int32_t tensor : text->in) used_.insert(tensor);
    used_.insert(op.outputs[0]);
    return JsonObject()
        .Text("act", text->act)
        .Raw("in", JsonIntegers(text->in))
        .Text("op", model::OperatorName(op.code))
        .Raw("opts", text->opts)
        .Integer("out", op.outputs[0])
        .Str();
  }

  // The inputs of a convolution or fully connected layer: an absent bias is left out.
  static std::vector<int32_t> Weighted(const model::Operator& op) {
    std::vector<int32_t> in = op.inputs;
    if (in.size() == 3 && in[2] < 0) in.pop_back();
    return in;
  }

  absl::StatusOr<TfqOpText> Describe(size_t index, const model::Operator& op) {
    TfqOpText text;
    text.in = {op.inputs[0]};
    switch (op.code) {
      case BuiltinOperator::CONV_2D:
      case BuiltinOperator::DEPTHWISE_CONV_2D:
        return Convolution(index, op);
      case BuiltinOperator::FULLY_CONNECTED: {
        const auto* options = op.options.AsFullyConnectedOptions();
        if (options == nullptr ||
            options->weights_format != tflite::FullyConnectedOptionsWeightsFormat::DEFAULT) {
          return Refuse(Where(index) + "its weights are not in the default format");
        }
        text.act = ActivationName(options->fused_activation_function);
        text.in = Weighted(op);
        return text;
      }
      case BuiltinOperator::ADD: {
        const auto* options = op.options.AsAddOptions();
        if (options != nullptr) text.act = ActivationName(options->fused_activation_function);
        text.in = op.inputs;
        return text;
      }
      case BuiltinOperator::AVERAGE_POOL_2D:
      case BuiltinOperator::MAX_POOL_2D: {
        const auto* options = op.options.AsPool2DOptions();
        if (options == nullptr) return Refuse(Where(index) + "it has no options");
        text.act = ActivationName(options->fused_activation_function);
        text.opts = WindowText(options->padding, options->filter_height, options->filter_width,
                               options->stride_h, options->stride_w, 1, 1);
        return text;
      }
      case BuiltinOperator::PAD:
        return Pad(index, op);
      case BuiltinOperator::RESHAPE:
        return text;
      default:
        return Refuse(Where(index) +
                      "not an operator of TFQ (section 13.6): choose an earlier tensor with "
                      "--output, or a later one with --input; its input is tensor " +
                      std::to_string(op.inputs[0]));
    }
  }

  absl::StatusOr<TfqOpText> Convolution(size_t index, const model::Operator& op) {
    TfqOpText text;
    text.in = Weighted(op);
    if (text.in.size() < 2 || graph_.tensors[text.in[1]].shape.size() != 4) {
      return Refuse(Where(index) + "its filter does not have four dims");
    }
    const std::vector<int32_t>& filter = graph_.tensors[text.in[1]].shape;
    if (const auto* options = op.options.AsConv2DOptions()) {
      text.act = ActivationName(options->fused_activation_function);
      text.opts =
          WindowText(options->padding, filter[1], filter[2], options->stride_h, options->stride_w,
                     options->dilation_h_factor, options->dilation_w_factor);
      return text;
    }
    if (const auto* options = op.options.AsDepthwiseConv2DOptions()) {
      depthwise_filters_.insert(text.in[1]);
      text.act = ActivationName(options->fused_activation_function);
      text.opts =
          WindowText(options->padding, filter[1], filter[2], options->stride_h, options->stride_w,
                     options->dilation_h_factor, options->dilation_w_factor);
      return text;
    }
    return Refuse(Where(index) + "it has no options");
  }

  absl::StatusOr<TfqOpText> Pad(size_t index, const model::Operator& op) {
    TfqOpText text;
    text.in = {op.inputs[0]};
    const model::Tensor* pads = op.inputs.size() == 2 ? &graph_.tensors[op.inputs[1]] : nullptr;
    if (pads == nullptr || pads->type != TensorType::INT32 || pads->data.size() != 8 * 4) {
      return Refuse(Where(index) + "its paddings are not eight constant int32");
    }
    int64_t values[8];
    for (size_t i = 0; i < 8; ++i) values[i] = LoadInt(pads->data, 4 * i, 4);
    if (values[0] != 0 || values[1] != 0 || values[6] != 0 || values[7] != 0) {
      return Refuse(Where(index) + "it pads the batch or the channels");
    }
    text.opts = JsonObject()
                    .Integer("pb", values[3])
                    .Integer("pl", values[4])
                    .Integer("pr", values[5])
                    .Integer("pt", values[2])
                    .Str();
    return text;
  }

  absl::StatusOr<std::string> TensorText(int32_t index) const {
    const model::Tensor& tensor = graph_.tensors[index];
    if (used_.count(index) == 0) {
      return std::string("{\"data\":null,\"scale\":[],\"shape\":[1],\"type\":\"int8\",\"zp\":0}");
    }
    const std::string where = "tensor " + std::to_string(index) + " (" + tensor.name + "): ";
    if (tensor.type != TensorType::INT8 && tensor.type != TensorType::INT32) {
      return Refuse(where + "its type is " + std::string(model::TensorTypeName(tensor.type)) +
                    "; TFQ has int8 and int32");
    }
    if (tensor.is_sparse || tensor.is_variable) return Refuse(where + "sparse or a variable");
    const model::Quantization& quantization = tensor.quantization;
    const int32_t dimension = depthwise_filters_.count(index) == 1 ? 3 : 0;
    if (quantization.per_channel() && quantization.dimension != dimension) {
      return Refuse(where + "its quantised dimension is not " + std::to_string(dimension));
    }
    const std::vector<int64_t>& zeros = quantization.zero_point;
    if (std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) != zeros.end()) {
      return Refuse(where + "its zero points differ");
    }
    std::vector<uint32_t> scale;
    for (const float value : quantization.scale) scale.push_back(std::bit_cast<uint32_t>(value));
    std::string data = "null";
    if (tensor.is_constant) {
      const int width = tensor.type == TensorType::INT8 ? 1 : 4;
      std::vector<int64_t> values;
      for (size_t at = 0; at < tensor.data.size(); at += width) {
        values.push_back(LoadInt(tensor.data, at, width));
      }
      data = JsonIntegers(values);
    }
    return JsonObject()
        .Raw("data", data)
        .Raw("scale", JsonIntegers(scale))
        .Raw("shape", JsonIntegers(tensor.shape))
        .Text("type", tensor.type == TensorType::INT8 ? "int8" : "int32")
        .Integer("zp", zeros.empty() ? 0 : zeros.front())
        .Str();
  }

  const model::Subgraph& graph_;
  const ImportOptions& options_;
  int32_t in_ = 0;
  int32_t out_ = 0;
  std::vector<size_t> chosen_;
  std::set<int32_t> used_;
  std::set<int32_t> depthwise_filters_;
};

bool ReadTensorNumber(const Arguments& arguments, std::string_view name,
                      std::optional<int32_t>* number) {
  if (!arguments.Has(name)) return true;
  const std::string text = arguments.Get(name, "");
  const bool digits = !text.empty() && text.size() <= 9 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) *number = std::atoi(text.c_str());
  return digits;
}

}  // namespace

absl::StatusOr<std::string> ImportTfq(const model::Model& model, const ImportOptions& options) {
  if (model.subgraphs.size() != 1) return Refuse("the model has several subgraphs; TFQ has one");
  return Importer(model.primary(), options).Run();
}

int ImportCommand(const Words& words) {
  std::string error;
  const auto arguments = ParseArguments(words, {"rounding", "input", "output", "out"}, {}, &error);
  if (!arguments) return Complain(error, kUsage);
  ImportOptions options;
  options.rounding = arguments->Get("rounding", "");
  if (arguments->words.size() != 1 || !arguments->Has("out") || options.rounding.empty()) {
    return Complain("import takes MODEL.tflite, --rounding double|single and --out FILE", kUsage);
  }
  if (options.rounding != "double" && options.rounding != "single") {
    return Complain("--rounding is double or single, not \"" + options.rounding + "\"", kUsage);
  }
  if (!ReadTensorNumber(*arguments, "input", &options.in) ||
      !ReadTensorNumber(*arguments, "output", &options.out)) {
    return Complain("--input and --output are tensor numbers", kUsage);
  }
  const auto bytes = ReadFile(arguments->words[0], &error);
  if (!bytes) return Complain(error, kUsage);
  const auto model =
      model::ReadModel({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
  if (!model.ok()) {
    return Complain(arguments->words[0] + ": " + std::string(model.status().message()), kMalformed);
  }
  const auto tfq = ImportTfq(*model, options);
  if (!tfq.ok()) {
    return Complain(arguments->words[0] + ": " + std::string(tfq.status().message()),
                    kLoweringRefuses);
  }
  if (!WriteFile(arguments->Get("out", ""), *tfq, &error)) return Complain(error, kUsage);
  std::printf("%s: %zu bytes\n", arguments->Get("out", "").c_str(), tfq->size());
  return kMet;
}

}  // namespace helx::ops

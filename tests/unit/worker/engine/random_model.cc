#include "tests/unit/worker/engine/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/splitmix64.h"
#include "core/model/model.h"

namespace helx::engine {
namespace {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using tflite::Padding;
using tflite::TensorType;

using Shape = std::vector<int32_t>;

int64_t Elements(const Shape& shape) {
  int64_t count = 1;
  for (int32_t size : shape) count *= size;
  return count;
}

int32_t Positions(Padding padding, int32_t input, int32_t taps, int32_t stride, int32_t dilation) {
  const int32_t reach = (taps - 1) * dilation + 1;
  return padding == Padding::SAME ? (input + stride - 1) / stride
                                  : (input - reach + stride) / stride;
}

class Builder {
 public:
  explicit Builder(uint64_t seed) : random_(seed) {
    model_.version = 3;
    model_.buffers.push_back(std::make_unique<tflite::BufferT>());
    graph_ = std::make_unique<tflite::SubGraphT>();
  }

  int32_t In(int32_t lowest, int32_t highest) {
    return lowest +
           static_cast<int32_t>(random_.Next() % (static_cast<uint64_t>(highest - lowest) + 1));
  }
  bool Chance(int32_t one_in) { return In(1, one_in) == 1; }
  float Scale(double lowest, double highest) {
    const double u = static_cast<double>(random_.Next() >> 11) / 9007199254740992.0;
    return static_cast<float>(lowest * std::pow(highest / lowest, u));
  }
  int8_t Int8() {
    const uint64_t bits = random_.Next();
    if (bits % 12 == 0) return -128;
    if (bits % 12 == 1) return 127;
    return static_cast<int8_t>(bits >> 32);
  }
  int32_t ZeroPoint() { return Chance(3) ? -128 : Chance(4) ? 127 : In(-128, 127); }
  ActivationFunctionType Activation() {
    static constexpr ActivationFunctionType kinds[] = {
        ActivationFunctionType::NONE, ActivationFunctionType::RELU, ActivationFunctionType::RELU6,
        ActivationFunctionType::RELU_N1_TO_1};
    return kinds[In(0, 3)];
  }

  int32_t Tensor(TensorType type, Shape shape, std::vector<float> scale,
                 std::vector<int64_t> zero_point, int32_t dimension = 0) {
    auto tensor = std::make_unique<tflite::TensorT>();
    tensor->type = type;
    tensor->shape = std::move(shape);
    tensor->quantization = std::make_unique<tflite::QuantizationParametersT>();
    tensor->quantization->scale = std::move(scale);
    tensor->quantization->zero_point = std::move(zero_point);
    tensor->quantization->quantized_dimension = dimension;
    graph_->tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(graph_->tensors.size()) - 1;
  }
  int32_t Activations(Shape shape, float scale, int32_t zero_point) {
    return Tensor(TensorType::INT8, std::move(shape), {scale}, {zero_point});
  }
  void Fill(int32_t tensor, const void* data, size_t bytes) {
    auto buffer = std::make_unique<tflite::BufferT>();
    buffer->data.resize(bytes);
    std::memcpy(buffer->data.data(), data, bytes);
    graph_->tensors[tensor]->buffer = static_cast<uint32_t>(model_.buffers.size());
    model_.buffers.push_back(std::move(buffer));
  }

  // Filters of `count` channels along `dimension`, a bias, and the output's scale for which sums
  // neither vanish nor all saturate.
  struct Filters {
    int32_t weights, bias;
    float output_scale;
  };
  Filters AddFilters(Shape shape, int32_t dimension, int32_t depth, float input_scale,
                     bool with_zeros) {
    const int32_t count = shape[dimension];
    const bool per_channel = !Chance(4);
    std::vector<float> scales(per_channel ? count : 1);
    for (float& scale : scales) scale = Scale(0.001, 0.05);
    std::vector<int8_t> weights(Elements(shape));
    for (int8_t& w : weights) w = Int8();
    const int64_t inner = dimension == 3 ? 1 : static_cast<int64_t>(weights.size()) / count;
    for (int32_t c = 0; c < count; ++c) {
      const bool zero = with_zeros && Chance(3), lowest = Chance(10);
      for (int64_t i = 0; i < static_cast<int64_t>(weights.size()); ++i) {
        if (i / inner % count == c && zero) weights[i] = 0;
        if (i / inner % count == c && lowest && !with_zeros) weights[i] = -128;
      }
    }
    std::vector<int32_t> bias(count);
    for (int32_t& b : bias) b = Chance(8) ? In(-2000000, 2000000) : In(-5000, 5000);
    // The ratio of scales is between 2^-13 and a little above 1, as left shifts need it.
    const double size = std::sqrt(static_cast<double>(depth)) * 70;
    const float output_scale = Chance(6) ? input_scale * Scale(0.0005, 0.02)
                                         : static_cast<float>(input_scale * 0.01 * size);
    Filters f{};
    f.weights = Tensor(TensorType::INT8, std::move(shape), scales,
                       std::vector<int64_t>(scales.size(), 0), dimension);
    Fill(f.weights, weights.data(), weights.size());
    f.bias = -1;
    if (!Chance(8)) {
      f.bias = Tensor(TensorType::INT32, {count}, {}, {});
      Fill(f.bias, bias.data(), bias.size() * sizeof(int32_t));
    }
    f.output_scale = output_scale;
    return f;
  }

  template <typename Options>
  void Operator(BuiltinOperator code, int32_t version, std::vector<int32_t> inputs,
                std::vector<int32_t> outputs, Options options) {
    auto op_code = std::make_unique<tflite::OperatorCodeT>();
    op_code->deprecated_builtin_code = static_cast<int8_t>(code);
    op_code->builtin_code = code;
    op_code->version = version;
    auto op = std::make_unique<tflite::OperatorT>();
    op->opcode_index = static_cast<uint32_t>(model_.operator_codes.size());
    op->inputs = std::move(inputs);
    op->outputs = std::move(outputs);
    op->builtin_options.Set(std::move(options));
    model_.operator_codes.push_back(std::move(op_code));
    graph_->operators.push_back(std::move(op));
  }

  struct Size {
    int32_t taps, stride, dilation;
  };
  Size RandomSize() {
    const int32_t taps = Chance(2) ? 3 : Chance(3) ? 1 : In(1, 5);
    const int32_t stride = Chance(2) ? 1 : In(1, 3);
    return {taps, stride, Chance(5) ? 2 : 1};
  }
  int32_t InputSize(const Size& s) { return (s.taps - 1) * s.dilation + 1 + In(0, 9); }

  // Adds a convolution over `image` (or a fresh input, -1) and returns its output.
  int32_t Convolution(bool depthwise, int32_t image, int32_t out_c, bool with_zeros) {
    Size h = RandomSize(), w = Chance(2) ? h : RandomSize();
    if (Chance(4)) h = w = {1, 1, 1};
    Shape in;
    float input_scale = Scale(0.005, 0.2);
    if (image < 0) {
      const int32_t channels = Chance(3) ? 16 * In(1, 3) : Chance(4) ? 1 : In(1, 37);
      in = {Chance(5) ? 2 : 1, InputSize(h), InputSize(w), channels};
      image = Activations(in, input_scale, ZeroPoint());
      graph_->inputs.push_back(image);
    } else {
      in = graph_->tensors[image]->shape;
      input_scale = graph_->tensors[image]->quantization->scale[0];
      if ((h.taps - 1) * h.dilation >= in[1]) h = {1, 1, 1};
      if ((w.taps - 1) * w.dilation >= in[2]) w = {1, 1, 1};
    }
    const Padding padding = Chance(2) ? Padding::SAME : Padding::VALID;
    const int32_t out_h = Positions(padding, in[1], h.taps, h.stride, h.dilation);
    const int32_t out_w = Positions(padding, in[2], w.taps, w.stride, w.dilation);
    const int32_t multiplier = depthwise && !with_zeros && Chance(4) ? In(2, 8) : 1;
    int32_t depth = in[3];
    if (depthwise) {
      out_c = in[3] * multiplier;
    } else if (!with_zeros && depth % 2 == 0 && Chance(8)) {
      depth /= 2;  // two groups
      out_c += out_c % 2;
    }
    const Shape filter =
        depthwise ? Shape{1, h.taps, w.taps, out_c} : Shape{out_c, h.taps, w.taps, depth};
    const Filters f =
        AddFilters(filter, depthwise ? 3 : 0, h.taps * w.taps * (depthwise ? 1 : depth),
                   input_scale, with_zeros);
    const int32_t output = Activations({in[0], out_h, out_w, out_c}, f.output_scale, ZeroPoint());
    auto set = [&](auto& options) {
      options.padding = padding;
      options.stride_h = h.stride;
      options.stride_w = w.stride;
      options.dilation_h_factor = h.dilation;
      options.dilation_w_factor = w.dilation;
      options.fused_activation_function = Activation();
    };
    std::vector<int32_t> inputs = {image, f.weights};
    if (f.bias >= 0) inputs.push_back(f.bias);
    if (depthwise) {
      tflite::DepthwiseConv2DOptionsT options;
      set(options);
      options.depth_multiplier = multiplier;
      Operator(BuiltinOperator::DEPTHWISE_CONV_2D, 3, inputs, {output}, options);
    } else {
      tflite::Conv2DOptionsT options;
      set(options);
      Operator(BuiltinOperator::CONV_2D, 3, inputs, {output}, options);
    }
    return output;
  }

  // Over the last dimension of `input`, or of a fresh one.
  int32_t FullyConnected(int32_t input = -1) {
    int32_t depth = 0;
    if (input >= 0) {
      depth = graph_->tensors[input]->shape.back();
    } else {
      depth = Chance(3) ? 16 * In(1, 6) : In(1, 100);
    }
    const int32_t units = In(1, 21);
    float scale = 0;
    if (input >= 0) {
      scale = graph_->tensors[input]->quantization->scale[0];
    } else {
      scale = Scale(0.005, 0.2);
      input = Activations({In(1, 3), depth}, scale, ZeroPoint());
      graph_->inputs.push_back(input);
    }
    const Filters f = AddFilters({units, depth}, 0, depth, scale, false);
    const int32_t output =
        Activations({graph_->tensors[input]->shape[0], units}, f.output_scale, ZeroPoint());
    tflite::FullyConnectedOptionsT options;
    options.fused_activation_function = Activation();
    Operator(BuiltinOperator::FULLY_CONNECTED, 4, {input, f.weights, f.bias}, {output}, options);
    return output;
  }

  int32_t Add() {
    const Shape shape = {1, In(1, 4), In(1, 4), In(1, 40)};
    const float scale = Scale(0.005, 0.2);
    const int32_t a = Activations(shape, scale, ZeroPoint());
    const int32_t b = Activations(shape, Chance(4) ? scale : Scale(0.005, 0.2), ZeroPoint());
    graph_->inputs.insert(graph_->inputs.end(), {a, b});
    const int32_t output = Activations(shape, Scale(0.01, 0.4), ZeroPoint());
    tflite::AddOptionsT options;
    options.fused_activation_function = Activation();
    Operator(BuiltinOperator::ADD, 2, {a, b}, {output}, options);
    return output;
  }

  // Every position's channels in a row of a matrix.
  int32_t Reshape(int32_t input) {
    const tflite::TensorT& from = *graph_->tensors[input];
    const int32_t channels = from.shape.back();
    const Shape shape = {static_cast<int32_t>(Elements(from.shape)) / channels, channels};
    const int32_t output = Activations(shape, from.quantization->scale[0],
                                       static_cast<int32_t>(from.quantization->zero_point[0]));
    tflite::ReshapeOptionsT options;
    options.new_shape = shape;
    Operator(BuiltinOperator::RESHAPE, 1, {input}, {output}, options);
    return output;
  }

  // Of `input`, or of a fresh one.
  int32_t Pool(int32_t input = -1, BuiltinOperator code = BuiltinOperator::AVERAGE_POOL_2D) {
    Size h = RandomSize(), w = RandomSize();
    h.dilation = w.dilation = 1;
    Shape in;
    float scale = 0;
    int32_t zero_point = 0;
    if (input >= 0) {
      const tflite::TensorT& from = *graph_->tensors[input];
      in = from.shape;
      scale = from.quantization->scale[0];
      zero_point = static_cast<int32_t>(from.quantization->zero_point[0]);
      h.taps = std::min(h.taps, in[1]);
      w.taps = std::min(w.taps, in[2]);
    } else {
      in = {1, InputSize(h), InputSize(w), In(1, 21)};
      scale = Scale(0.005, 0.2);
      zero_point = ZeroPoint();
      input = Activations(in, scale, zero_point);
      graph_->inputs.push_back(input);
    }
    tflite::Pool2DOptionsT options;
    options.padding = Chance(2) ? Padding::SAME : Padding::VALID;
    options.filter_height = h.taps;
    options.filter_width = w.taps;
    options.stride_h = h.stride;
    options.stride_w = w.stride;
    options.fused_activation_function = Activation();
    const int32_t output =
        Activations({in[0], Positions(options.padding, in[1], h.taps, h.stride, 1),
                     Positions(options.padding, in[2], w.taps, w.stride, 1), in[3]},
                    scale, zero_point);
    Operator(code, 2, {input}, {output}, options);
    return output;
  }

  int32_t Variable(TensorType type, Shape shape, float scale, int32_t zero_point) {
    const int32_t tensor = Tensor(type, std::move(shape), {scale}, {zero_point});
    graph_->tensors[tensor]->is_variable = true;
    return tensor;
  }

  template <typename T>
  int32_t Weights(TensorType type, Shape shape, float scale) {
    std::vector<T> values(Elements(shape));
    for (T& value : values) {
      value = sizeof(T) == 1 ? static_cast<T>(Int8()) : static_cast<T>(Int8() * 256 + In(0, 255));
    }
    const int32_t tensor = Tensor(type, std::move(shape), {scale}, {0});
    Fill(tensor, values.data(), values.size() * sizeof(T));
    return tensor;
  }

  template <typename T>
  int32_t Bias(TensorType type, int32_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = Chance(8) ? In(-2000000, 2000000) : In(-5000, 5000);
    const int32_t tensor = Tensor(type, {count}, {}, {});
    Fill(tensor, values.data(), values.size() * sizeof(T));
    return tensor;
  }

  int32_t Lstm(bool wide) {
    const TensorType type = wide ? TensorType::INT16 : TensorType::INT8;
    const bool time_major = Chance(3);
    const int32_t batches = Chance(4) ? 2 : 1, steps = In(1, 4);
    const int32_t depth = Chance(3) ? 16 : In(1, 37), cells = Chance(3) ? 16 : In(1, 29);
    const auto shape = [&](int32_t last) {
      return time_major ? Shape{steps, batches, last} : Shape{batches, steps, last};
    };
    const float unit = wide ? 1.0f / 32768 : 1.0f / 128;
    const float input_scale = unit * Scale(0.5, 4), hidden_scale = unit * Scale(0.8, 1.2);
    const int32_t input_zero = wide ? 0 : ZeroPoint(), hidden_zero = wide ? 0 : ZeroPoint();
    std::vector<int32_t> inputs(24, -1);
    inputs[0] = Tensor(type, shape(depth), {input_scale}, {input_zero});
    graph_->inputs.push_back(inputs[0]);
    for (int gate = 0; gate < 4; ++gate) {
      inputs[1 + gate] = Weights<int8_t>(TensorType::INT8, {cells, depth}, Scale(0.001, 0.05));
      inputs[5 + gate] = Weights<int8_t>(TensorType::INT8, {cells, cells}, Scale(0.001, 0.05));
      if (Chance(8)) continue;
      inputs[12 + gate] =
          wide ? Bias<int64_t>(TensorType::INT64, cells) : Bias<int32_t>(TensorType::INT32, cells);
    }
    inputs[18] = Variable(type, {batches, cells}, hidden_scale, hidden_zero);
    inputs[19] = Variable(TensorType::INT16, {batches, cells}, std::ldexp(1.0f, -In(9, 15)), 0);
    const int32_t output = Tensor(type, shape(cells), {hidden_scale}, {hidden_zero});
    tflite::UnidirectionalSequenceLSTMOptionsT options;
    options.fused_activation_function = ActivationFunctionType::TANH;
    options.time_major = time_major;
    options.cell_clip = Chance(3) ? Scale(0.05, 8) : 0;
    Operator(BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, 3, inputs, {output}, options);
    return output;
  }

  int32_t Svdf(bool wide_state) {
    const int32_t depth = Chance(3) ? 16 : In(1, 50), memory = Chance(3) ? 8 : In(1, 13);
    const int32_t rank = In(1, 3), units = In(1, 19), batches = Chance(4) ? 2 : 1;
    const TensorType state_type = wide_state ? TensorType::INT16 : TensorType::INT8;
    const float input_scale = Scale(0.005, 0.2);
    const float state_scale = input_scale * (wide_state ? 0.001f : 0.3f);
    const int32_t input = Activations({batches, depth}, input_scale, ZeroPoint());
    graph_->inputs.push_back(input);
    const int32_t feature =
        Weights<int8_t>(TensorType::INT8, {units * rank, depth}, Scale(0.003, 0.03));
    const Shape time = {units * rank, memory};
    const int32_t weights = wide_state ? Weights<int16_t>(state_type, time, Scale(0.00003, 0.0003))
                                       : Weights<int8_t>(state_type, time, Scale(0.003, 0.03));
    const int32_t bias = Chance(4) ? -1 : Bias<int32_t>(TensorType::INT32, units);
    const int32_t state = Variable(state_type, {batches, memory * units * rank}, state_scale, 0);
    const int32_t output =
        Activations({batches, units}, state_scale * (wide_state ? 30.0f : 1.0f), ZeroPoint());
    tflite::SVDFOptionsT options;
    options.rank = rank;
    options.fused_activation_function =
        Chance(2) ? ActivationFunctionType::RELU : ActivationFunctionType::NONE;
    Operator(BuiltinOperator::SVDF, 3, {input, feature, weights, bias, state}, {output}, options);
    return output;
  }

  void Output(int32_t tensor) { graph_->outputs.push_back(tensor); }

  std::string Finish() {
    model_.subgraphs.push_back(std::move(graph_));
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model_));
    return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                       builder.GetSize());
  }

 private:
  SplitMix64 random_;
  tflite::ModelT model_;
  std::unique_ptr<tflite::SubGraphT> graph_;
};

}  // namespace

std::string RandomLayers(uint64_t seed, int layers) {
  Builder builder(seed);
  for (int i = 0; i < layers; ++i) {
    int32_t output = -1;
    switch (i % 8) {
      case 0:
      case 1:
      case 2:
        output = builder.Convolution(
            false, -1, builder.Chance(2) ? 4 * builder.In(1, 6) : builder.In(1, 21), false);
        break;
      case 3:
      case 4:
        output = builder.Convolution(true, -1, 0, false);
        break;
      case 5:
        output = builder.FullyConnected();
        break;
      case 6:
        output = builder.Add();
        break;
      default:
        output = builder.Pool();
        break;
    }
    builder.Output(output);
  }
  return builder.Finish();
}

std::string RandomRecurrentLayers(uint64_t seed, int layers) {
  Builder builder(seed);
  for (int i = 0; i < layers; ++i) {
    builder.Output(i % 4 < 2 ? builder.Lstm(i % 4 == 1) : builder.Svdf(i % 4 == 3));
  }
  return builder.Finish();
}

std::string RandomChain(uint64_t seed, bool open) {
  Builder builder(seed);
  int32_t tensor = -1;
  for (int i = 0; i < 7; ++i) {
    tensor = builder.Convolution(i % 2 == 1, tensor, builder.In(3, 20), true);
    if (open) builder.Output(tensor);
  }
  tensor = builder.Pool(tensor, builder.Chance(3) ? BuiltinOperator::MAX_POOL_2D
                                                  : BuiltinOperator::AVERAGE_POOL_2D);
  if (open) builder.Output(tensor);
  tensor = builder.Reshape(tensor);
  if (open) builder.Output(tensor);
  builder.Output(builder.FullyConnected(tensor));
  return builder.Finish();
}

}  // namespace helx::engine

#include "worker/engine/dead_channels.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "worker/engine/ops/conv_shape.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;
using model::Model;
using model::Operator;
using model::Subgraph;

using Channels = std::vector<bool>;

// One operator that computes channels from channels, with its filters as numbers. A FULLY_CONNECTED
// layer is a CONV_2D of one tap over the last dimension of its input. Pooling and RESHAPE (of a
// last dimension that stays) pass each channel on: what holds one value holds it behind them,
// within the activation's range.
struct Layer {
  enum class Kind { kConv, kDepthwise, kFullyConnected, kPass };
  size_t op;
  Kind kind;
  int32_t input, output;  // tensor numbers
  int32_t in_channels, out_channels;
  int32_t taps;
  int32_t input_zero_point;
  bool padded;  // windows may hang over the image, where taps read the zero point
  // Of all windows: the different sets of taps that lie in the image, by row and by column. Of a
  // depthwise layer only; empty when there are too many.
  std::vector<std::vector<int32_t>> row_taps, column_taps;
  int32_t columns;              // taps per row
  std::vector<int8_t> weights;  // CONV_2D [out][tap][in], DEPTHWISE_CONV_2D [tap][channel]
  std::vector<int32_t> bias;
  std::vector<FixedMultiplier> scales;
  int32_t output_zero_point;
  IntegerRange range;
  // CONV_2D [out][in]: whether what an input channel adds to an output channel depends on the
  // model's input.
  Channels open;

  bool depthwise() const { return kind == Kind::kDepthwise; }
  bool pass() const { return kind == Kind::kPass; }
  // Whether output channel c is made of input channel c alone.
  bool channelwise() const { return depthwise() || pass(); }
  int8_t Weight(int32_t out, int32_t tap, int32_t in) const {
    return depthwise() ? weights[static_cast<size_t>(tap) * out_channels + out]
                       : weights[(static_cast<size_t>(out) * taps + tap) * in_channels + in];
  }
  // Whether output channel `out` has no use for input channel `in`.
  bool Ignores(int32_t out, int32_t in) const {
    for (int32_t tap = 0; tap < taps; ++tap) {
      if (Weight(out, tap, in) != 0) return false;
    }
    return true;
  }
  int64_t WeightSum(int32_t out, int32_t in) const {
    int64_t sum = 0;
    for (int32_t tap = 0; tap < taps; ++tap) sum += Weight(out, tap, in);
    return sum;
  }
  // Whether an input channel that always holds `value` adds the same to every output position.
  bool AddsEverywhere(int32_t value) const { return !padded || value == input_zero_point; }
};

bool IsPadded(const Window& w) {
  return w.padding > 0 ||
         int64_t{w.output - 1} * w.stride + int64_t{w.taps - 1} * w.dilation >= w.input;
}

// Beyond these no channel is searched for one value.
constexpr int32_t kMaxPositions = 4096;
constexpr int32_t kMaxTaps = 64;

// The different sets of taps that windows have in the image.
std::vector<std::vector<int32_t>> TapsInside(const Window& w) {
  if (w.output > kMaxPositions || w.taps > kMaxTaps) return {};
  std::set<std::vector<int32_t>> sets;
  for (int64_t position = 0; position < w.output; ++position) {
    std::vector<int32_t> inside;
    for (int32_t tap = 0; tap < w.taps; ++tap) {
      const int64_t at = position * w.stride - w.padding + int64_t{tap} * w.dilation;
      if (at >= 0 && at < w.input) inside.push_back(tap);
    }
    sets.insert(std::move(inside));
  }
  return {sets.begin(), sets.end()};
}

std::optional<Layer> ReadConvolution(const OperatorView& view) {
  const ConvGeometry g = GeometryOf(view);
  Layer layer;
  const bool depthwise = view.op().code == BuiltinOperator::DEPTHWISE_CONV_2D;
  layer.kind = depthwise ? Layer::Kind::kDepthwise : Layer::Kind::kConv;
  layer.in_channels = g.input->shape[3];
  layer.out_channels = g.out_channels;
  if (depthwise ? g.multiplier != 1 : g.groups != 1) return std::nullopt;
  layer.taps = g.rows.taps * g.columns.taps;
  layer.padded = IsPadded(g.rows) || IsPadded(g.columns);
  if (depthwise) {
    layer.row_taps = TapsInside(g.rows);
    layer.column_taps = TapsInside(g.columns);
  }
  layer.columns = g.columns.taps;
  layer.weights = Int8Values(*g.filter);
  layer.bias = g.bias == nullptr ? std::vector<int32_t>(g.out_channels, 0) : Int32Values(*g.bias);
  for (int32_t c = 0; c < g.out_channels; ++c) {
    layer.scales.push_back(*QuantizeMultiplier(ChannelRatio(view, g, c)));
  }
  layer.range = *ActivationRange(g.activation, view.output());
  return layer;
}

std::optional<Layer> ReadFullyConnected(const OperatorView& view) {
  const Tensor& filter = *view.input(1);
  Layer layer;
  layer.kind = Layer::Kind::kFullyConnected;
  layer.in_channels = filter.shape[1];
  layer.out_channels = filter.shape[0];
  // Otherwise an input of the layer is a channel at one place only.
  if (view.input(0)->type != TensorType::INT8 || filter.type != TensorType::INT8 ||
      view.input(0)->shape.back() != layer.in_channels) {
    return std::nullopt;
  }
  layer.taps = 1;
  layer.padded = false;
  layer.columns = 1;
  layer.weights = Int8Values(filter);
  layer.bias = view.input(2) == nullptr ? std::vector<int32_t>(layer.out_channels, 0)
                                        : Int32Values(*view.input(2));
  return layer;
}

std::optional<Layer> ReadPass(const OperatorView& view) {
  Layer layer;
  layer.kind = Layer::Kind::kPass;
  if (view.input(0)->shape.empty() || view.output().shape.empty()) return std::nullopt;
  layer.in_channels = view.input(0)->shape.back();
  layer.out_channels = view.output().shape.back();
  if (layer.in_channels != layer.out_channels) return std::nullopt;
  const auto* pool = view.op().options.AsPool2DOptions();
  layer.range = pool == nullptr ? IntegerRange{std::numeric_limits<int8_t>::min(),
                                               std::numeric_limits<int8_t>::max()}
                                : *ActivationRange(pool->fused_activation_function, view.output());
  return layer;
}

// A layer that this file understands.
std::optional<Layer> ReadLayer(const OperatorView& view) {
  if (view.op().outputs.size() != 1 || view.output().type != TensorType::INT8) return std::nullopt;
  std::optional<Layer> layer;
  switch (view.op().code) {
    case BuiltinOperator::CONV_2D:
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      layer = ReadConvolution(view);
      break;
    case BuiltinOperator::FULLY_CONNECTED:
      layer = ReadFullyConnected(view);
      break;
    case BuiltinOperator::AVERAGE_POOL_2D:
    case BuiltinOperator::MAX_POOL_2D:
    case BuiltinOperator::RESHAPE:
      layer = ReadPass(view);
      break;
    default:
      break;
  }
  if (!layer) return std::nullopt;
  layer->op = view.index();
  layer->input = view.input_number(0);
  layer->output = view.output_number(0);
  layer->input_zero_point = ZeroPoint(*view.input(0));
  layer->output_zero_point = ZeroPoint(view.output());
  return layer;
}

class Remover {
 public:
  Remover(Model& model, size_t subgraph, const std::vector<bool>& folded, int32_t unit,
          std::deque<std::vector<uint8_t>>* storage)
      : graph_(model.subgraphs[subgraph]), unit_(unit), storage_(storage) {
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
      if (folded[i]) continue;
      std::optional<Layer> layer = ReadLayer(OperatorView(model, subgraph, i));
      if (layer) layers_.push_back(*std::move(layer));
    }
  }

  void Run() {
    FindConstants();
    FindShrinkable();
    if (needed_.empty()) return;
    for (Layer& layer : layers_) FindOpen(layer);
    while (Spread()) {
    }
    // Channels that only fill up a unit are computed, but nothing is computed from them.
    const std::map<int32_t, Channels> read = needed_;
    do {
      for (auto& [tensor, channels] : needed_) FillUp(channels);
    } while (Spread());
    for (const Layer& layer : layers_) Rewrite(layer, read);
    for (const auto& [tensor, channels] : needed_) {
      graph_.tensors[tensor].shape.back() = Count(channels);
    }
  }

 private:
  static int32_t Count(const Channels& channels) {
    return static_cast<int32_t>(std::count(channels.begin(), channels.end(), true));
  }

  // The one value of a channel of a tensor, if it has only one.
  std::optional<int8_t> Constant(int32_t tensor, int32_t channel) const {
    const auto it = constants_.find(tensor);
    return it == constants_.end() ? std::nullopt : it->second[channel];
  }

  // What an input channel adds to every sum of an output channel, if that is the same everywhere.
  std::optional<int64_t> Contribution(const Layer& layer, int32_t out, int32_t in) const {
    if (layer.Ignores(out, in)) return 0;
    const std::optional<int8_t> value = Constant(layer.input, in);
    if (!value || !layer.AddsEverywhere(*value)) return std::nullopt;
    return (*value - layer.input_zero_point) * layer.WeightSum(out, in);
  }

  static int8_t Output(const Layer& layer, int32_t out, int64_t sum) {
    const int64_t y =
        int64_t{Requantize(WrapToInt32(sum), layer.scales[out])} + layer.output_zero_point;
    return static_cast<int8_t>(std::clamp<int64_t>(y, layer.range.lowest, layer.range.highest));
  }

  std::optional<int8_t> ConstantOutput(const Layer& layer, int32_t out) const {
    switch (layer.kind) {
      case Layer::Kind::kDepthwise:
        return ConstantDepthwiseOutput(layer, out);
      case Layer::Kind::kFullyConnected:
        return std::nullopt;  // that nothing reads: not worth its own requantisation here
      case Layer::Kind::kPass: {
        const std::optional<int8_t> value = Constant(layer.input, out);
        if (!value) return std::nullopt;
        return static_cast<int8_t>(
            std::clamp<int32_t>(*value, layer.range.lowest, layer.range.highest));
      }
      case Layer::Kind::kConv:
        break;
    }
    int64_t sum = layer.bias[out];
    for (int32_t in = 0; in < layer.in_channels; ++in) {
      const std::optional<int64_t> more = Contribution(layer, out, in);
      if (!more) return std::nullopt;
      sum += *more;
    }
    return Output(layer, out, sum);
  }

  // At the borders sums have fewer terms; what comes out may be the same all the same.
  std::optional<int8_t> ConstantDepthwiseOutput(const Layer& layer, int32_t channel) const {
    if (layer.Ignores(channel, channel)) return Output(layer, channel, layer.bias[channel]);
    const std::optional<int8_t> value = Constant(layer.input, channel);
    if (!value) return std::nullopt;
    std::optional<int8_t> output;
    for (const std::vector<int32_t>& rows : layer.row_taps) {
      for (const std::vector<int32_t>& columns : layer.column_taps) {
        int64_t sum = layer.bias[channel];
        for (int32_t row : rows) {
          for (int32_t column : columns) {
            sum += int64_t{layer.Weight(channel, row * layer.columns + column, channel)} *
                   (*value - layer.input_zero_point);
          }
        }
        const int8_t here = Output(layer, channel, sum);
        if (output && *output != here) return std::nullopt;
        output = here;
      }
    }
    return output;
  }

  void FindConstants() {
    for (const Layer& layer : layers_) {
      std::vector<std::optional<int8_t>>& values = constants_[layer.output];
      for (int32_t out = 0; out < layer.out_channels; ++out) {
        values.push_back(ConstantOutput(layer, out));
      }
    }
  }

  void FindOpen(Layer& layer) const {
    for (int32_t out = 0; !layer.channelwise() && out < layer.out_channels; ++out) {
      for (int32_t in = 0; in < layer.in_channels; ++in) {
        layer.open.push_back(!Contribution(layer, out, in).has_value());
      }
    }
  }

  // Tensors that only layers touch: one writes them, others read them as their image.
  void FindShrinkable() {
    for (const Layer& layer : layers_) {
      needed_.emplace(layer.output, Channels(layer.out_channels, false));
    }
    auto keep = [&](int32_t tensor) { needed_.erase(tensor); };
    for (int32_t tensor : graph_.inputs) keep(tensor);
    for (int32_t tensor : graph_.outputs) keep(tensor);
    std::map<size_t, const Layer*> by_op;
    for (const Layer& layer : layers_) by_op[layer.op] = &layer;
    std::map<int32_t, bool> read;
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
      const std::vector<int32_t>& inputs = graph_.operators[i].inputs;
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (k > 0 || !by_op.contains(i)) keep(inputs[k]);
        read[inputs[k]] = true;
      }
    }
    // What works channel by channel has as many of them as its image.
    for (const Layer& layer : layers_) {
      if (graph_.tensors[layer.output].is_variable || !read[layer.output] ||
          (layer.channelwise() && !needed_.contains(layer.input))) {
        keep(layer.output);
      }
    }
  }

  bool Needs(int32_t tensor, int32_t channel) const {
    const auto it = needed_.find(tensor);
    return it == needed_.end() || it->second[channel];
  }

  bool Mark(int32_t tensor, int32_t channel) {
    const auto it = needed_.find(tensor);
    if (it == needed_.end() || it->second[channel]) return false;
    it->second[channel] = true;
    return true;
  }

  // Marks what marked channels are computed from; whether there was anything new.
  bool Spread() {
    bool changed = false;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      for (int32_t out = 0; out < layer->out_channels; ++out) {
        if (layer->channelwise()) {
          const bool both = needed_.contains(layer->output);
          if (Needs(layer->output, out)) changed |= Mark(layer->input, out);
          if (both && Needs(layer->input, out)) changed |= Mark(layer->output, out);
        } else if (Needs(layer->output, out)) {
          for (int32_t in = 0; in < layer->in_channels; ++in) {
            if (layer->open[static_cast<size_t>(out) * layer->in_channels + in]) {
              changed |= Mark(layer->input, in);
            }
          }
        }
      }
    }
    return changed;
  }

  void FillUp(Channels& channels) const {
    int32_t missing = (unit_ - Count(channels) % unit_) % unit_;
    if (Count(channels) == 0) missing = unit_;
    for (size_t c = 0; c < channels.size() && missing > 0; ++c) {
      if (channels[c]) continue;
      channels[c] = true;
      --missing;
    }
  }

  // The numbers of the channels of a tensor that stay.
  std::vector<int32_t> Kept(int32_t tensor, int32_t count) const {
    std::vector<int32_t> kept;
    for (int32_t c = 0; c < count; ++c) {
      if (Needs(tensor, c)) kept.push_back(c);
    }
    return kept;
  }

  void Rewrite(const Layer& layer, const std::map<int32_t, Channels>& read) {
    if (layer.pass()) return;
    const std::vector<int32_t> ins = Kept(layer.input, layer.in_channels);
    const std::vector<int32_t> outs = Kept(layer.output, layer.out_channels);
    const auto read_in = read.find(layer.input);
    auto is_read = [&](int32_t in) { return read_in == read.end() || read_in->second[in]; };
    std::vector<int8_t> weights;
    std::vector<int32_t> bias;
    for (int32_t out : outs) {
      int64_t sum = layer.bias[out];
      for (int32_t in = 0; !layer.depthwise() && in < layer.in_channels; ++in) {
        // Nothing reads the outputs for which this is open.
        if (!is_read(in)) sum += Contribution(layer, out, in).value_or(0);
      }
      bias.push_back(WrapToInt32(sum));
    }
    if (layer.depthwise()) {
      for (int32_t tap = 0; tap < layer.taps; ++tap) {
        for (int32_t out : outs) weights.push_back(layer.Weight(out, tap, out));
      }
    } else {
      for (int32_t out : outs) {
        for (int32_t tap = 0; tap < layer.taps; ++tap) {
          for (int32_t in : ins) weights.push_back(is_read(in) ? layer.Weight(out, tap, in) : 0);
        }
      }
    }
    if (weights == layer.weights && bias == layer.bias) return;
    Operator& op = graph_.operators[layer.op];
    op.inputs.resize(3, -1);
    op.inputs[1] = NewFilter(layer, op.inputs[1], ins, outs, weights);
    op.inputs[2] = NewBias(bias);
  }

  int32_t NewFilter(const Layer& layer, int32_t old, const std::vector<int32_t>& ins,
                    const std::vector<int32_t>& outs, const std::vector<int8_t>& weights) {
    Tensor filter = graph_.tensors[old];
    filter.shape[layer.depthwise() ? 3 : 0] = static_cast<int32_t>(outs.size());
    if (!layer.depthwise()) filter.shape.back() = static_cast<int32_t>(ins.size());
    model::Quantization& q = filter.quantization;
    if (q.per_channel()) {
      for (size_t i = 0; i < outs.size(); ++i) {
        q.scale[i] = q.scale[outs[i]];
        q.zero_point[i] = q.zero_point[outs[i]];
      }
      q.scale.resize(outs.size());
      q.zero_point.resize(outs.size());
    }
    filter.data = Store(weights);
    graph_.tensors.push_back(std::move(filter));
    return static_cast<int32_t>(graph_.tensors.size()) - 1;
  }

  int32_t NewBias(const std::vector<int32_t>& values) {
    Tensor bias;
    bias.type = TensorType::INT32;
    bias.shape = {static_cast<int32_t>(values.size())};
    bias.is_constant = true;
    bias.data = Store(values);
    graph_.tensors.push_back(std::move(bias));
    return static_cast<int32_t>(graph_.tensors.size()) - 1;
  }

  template <typename T>
  std::span<const uint8_t> Store(const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    storage_->push_back(std::move(bytes));
    return storage_->back();
  }

  Subgraph& graph_;
  const int32_t unit_;
  std::deque<std::vector<uint8_t>>* storage_;
  std::vector<Layer> layers_;
  std::map<int32_t, std::vector<std::optional<int8_t>>> constants_;  // by tensor and channel
  std::map<int32_t, Channels> needed_;                               // of shrinkable tensors
};

}  // namespace

void RemoveDeadChannels(Model& model, size_t subgraph, const std::vector<bool>& folded,
                        int32_t unit, std::deque<std::vector<uint8_t>>* storage) {
  Remover(model, subgraph, folded, unit, storage).Run();
}

}  // namespace helx::engine

#include "worker/engine/ops/conv_shape.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

// What the three operators' options have in common.
struct Strides {
  tflite::Padding padding;
  int32_t h, w, dilation_h, dilation_w;
  tflite::ActivationFunctionType activation;
};

std::optional<Strides> ReadStrides(Preflight& preflight) {
  const tflite::BuiltinOptionsUnion& options = preflight.view().op().options;
  switch (preflight.view().op().code) {
    case BuiltinOperator::CONV_2D:
      if (const auto* o = CheckOptions(preflight, options.AsConv2DOptions()); o != nullptr) {
        return Strides{o->padding, o->stride_h, o->stride_w, o->dilation_h_factor,
                       o->dilation_w_factor, o->fused_activation_function};
      }
      return std::nullopt;
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      if (const auto* o = CheckOptions(preflight, options.AsDepthwiseConv2DOptions());
          o != nullptr) {
        return Strides{o->padding, o->stride_h, o->stride_w, o->dilation_h_factor,
                       o->dilation_w_factor, o->fused_activation_function};
      }
      return std::nullopt;
    default:
      if (const auto* o = CheckOptions(preflight, options.AsTransposeConvOptions());
          o != nullptr) {
        return Strides{o->padding, o->stride_h, o->stride_w, 1, 1, o->fused_activation_function};
      }
      return std::nullopt;
  }
}

// How channels of input, filter and output fit together.
bool CheckChannels(Preflight& preflight, ConvGeometry* g) {
  const BuiltinOperator code = preflight.view().op().code;
  const int32_t in = g->input->shape[3];
  const int32_t depth = g->filter->shape[3];
  bool good = true;
  if (code == BuiltinOperator::DEPTHWISE_CONV_2D) {
    g->out_channels = depth;
    good = g->filter->shape[0] == 1 && depth % in == 0;
    g->multiplier = depth / in;
    g->depth = 1;
  } else {
    g->out_channels = g->filter->shape[0];
    g->depth = depth;
    good = code == BuiltinOperator::TRANSPOSE_CONV ? depth == in : in % depth == 0;
    if (good) g->groups = in / depth;
    good = good && g->out_channels % g->groups == 0;
  }
  if (good) return true;
  return preflight.Refuse("malformed_model", "filter " + model::TensorText(*g->filter) +
                                                 " does not fit the channels of " +
                                                 model::TensorText(*g->input));
}

bool CheckWindows(Preflight& preflight, const Strides& strides, ConvGeometry* g) {
  const OperatorView& view = preflight.view();
  const bool transposed = view.op().code == BuiltinOperator::TRANSPOSE_CONV;
  const std::vector<int32_t>& image = transposed ? view.output().shape : g->input->shape;
  const auto rows = MakeWindow(strides.padding, image[1], g->filter->shape[1], strides.h,
                               strides.dilation_h);
  const auto columns = MakeWindow(strides.padding, image[2], g->filter->shape[2], strides.w,
                                  strides.dilation_w);
  if (!rows || !columns) {
    return preflight.Refuse("malformed_model",
                            "padding, strides and filter leave no position over " +
                                model::TensorText(transposed ? view.output() : *g->input));
  }
  g->rows = *rows;
  g->columns = *columns;
  if (transposed) {
    // Whatever output size the model asks for, taps that fall outside are dropped.
    return CheckShape(preflight, "output", view.output(),
                      {g->input->shape[0], image[1], image[2], g->out_channels});
  }
  return CheckShape(preflight, "output", view.output(),
                    {g->input->shape[0], rows->output, columns->output, g->out_channels});
}

}  // namespace

int64_t ConvGeometry::macs(const Tensor& output) const {
  return model::ElementCount(output) * rows.taps * columns.taps * depth;
}

std::optional<ConvGeometry> CheckConv(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const bool transposed = view.op().code == BuiltinOperator::TRANSPOSE_CONV;
  // TRANSPOSE_CONV(output shape, filter, input, bias).
  const size_t first = transposed ? 1 : 0;
  if (!CheckArity(preflight, 2 + first, 3 + first, 1)) return std::nullopt;
  const std::optional<Strides> strides = ReadStrides(preflight);
  if (!strides) return std::nullopt;
  ConvGeometry g;
  const size_t input = transposed ? 2 : 0;
  const size_t filter = 1;
  const size_t bias = transposed ? 3 : 2;
  g.input = view.input(input);
  g.filter = view.input(filter);
  g.bias = view.input(bias);
  g.input_number = view.input_number(input);
  g.filter_number = view.input_number(filter);
  g.bias_number = view.input_number(bias);
  g.activation = strides->activation;
  if (!CheckRank(preflight, "input", *g.input, 4) || !CheckRank(preflight, "filter", *g.filter, 4) ||
      !CheckRank(preflight, "output", view.output(), 4) || !CheckChannels(preflight, &g) ||
      !CheckWindows(preflight, *strides, &g)) {
    return std::nullopt;
  }
  if (g.bias != nullptr && model::ElementCount(*g.bias) != g.out_channels) {
    preflight.Refuse("malformed_model", Describe(preflight, "bias", *g.bias) + " must have " +
                                            std::to_string(g.out_channels) + " elements");
    return std::nullopt;
  }
  return g;
}

ConvGeometry GeometryOf(const OperatorView& view) {
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  return *CheckConv(preflight);
}

std::vector<std::string> ConvShapeFields(const OperatorView& view, const ConvGeometry& g) {
  return {
      Field("batches", g.input->shape[0]),
      Field("in_h", g.input->shape[1]),
      Field("in_w", g.input->shape[2]),
      Field("in_c", g.input->shape[3]),
      Field("out_h", view.output().shape[1]),
      Field("out_w", view.output().shape[2]),
      Field("out_c", g.out_channels),
      Field("filter_h", g.rows.taps),
      Field("filter_w", g.columns.taps),
      Field("stride_h", g.rows.stride),
      Field("stride_w", g.columns.stride),
      Field("dilation_h", g.rows.dilation),
      Field("dilation_w", g.columns.dilation),
      Field("pad_h", g.rows.padding),
      Field("pad_w", g.columns.padding),
      Field("groups", g.groups),
      Field("multiplier", g.multiplier),
  };
}

std::string ConvShapeInitialiser(const OperatorView& view, const ConvGeometry& g) {
  std::string text = "{";
  for (const std::string& field : ConvShapeFields(view, g)) text += (text.size() > 1 ? ", " : "") + field;
  return text + "}";
}

size_t ChannelDimension(const OperatorView& view) {
  return view.op().code == BuiltinOperator::DEPTHWISE_CONV_2D ? 3 : 0;
}

float FilterScale(const Tensor& filter, int32_t c) {
  return filter.quantization.per_channel() ? filter.quantization.scale[c] : Scale(filter);
}

bool CheckFilterQuantization(Preflight& preflight, const ConvGeometry& g, bool symmetric) {
  const model::Quantization& q = g.filter->quantization;
  if (!q.present()) {
    return preflight.Refuse("unsupported_quantization", Describe(preflight, "filter", *g.filter) +
                                                            " has no quantisation parameters");
  }
  if (q.per_channel() &&
      static_cast<size_t>(q.dimension) != ChannelDimension(preflight.view())) {
    return preflight.Refuse("unsupported_quantization",
                            "filter quantised along dimension " + std::to_string(q.dimension) +
                                "; only output channels may have their own scales");
  }
  for (int64_t zero_point : q.zero_point) {
    if (symmetric && zero_point != 0) {
      return preflight.Refuse("unsupported_quantization",
                              "filter zero point " + std::to_string(zero_point) +
                                  "; int8 filters are symmetric (0)");
    }
  }
  return true;
}

double ChannelRatio(const OperatorView& view, const ConvGeometry& g, int32_t c) {
  return static_cast<double>(Scale(*g.input)) * static_cast<double>(FilterScale(*g.filter, c)) /
         static_cast<double>(Scale(view.output()));
}

}  // namespace helx::engine

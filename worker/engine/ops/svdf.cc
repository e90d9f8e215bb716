// SVDF: int8 with int8 or int16 state, and float32.
#include <utility>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

// SVDF(input, feature weights, time weights, bias, state).
struct Svdf {
  const Tensor* input;
  const Tensor* feature;
  const Tensor* time;
  const Tensor* bias;  // or nullptr
  const Tensor* state;
  int64_t rank;
};

Svdf ViewSvdf(const OperatorView& view) {
  return {view.input(0), view.input(1), view.input(2),
          view.input(3), view.input(4), view.op().options.AsSVDFOptions()->rank};
}

bool CheckSvdfShapes(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckOptions(preflight, view.op().options.AsSVDFOptions()) == nullptr ||
      !CheckArity(preflight, 3, 5, 1)) {
    return false;
  }
  const Svdf s = ViewSvdf(view);
  if (s.state == nullptr || !s.state->is_variable) {
    return preflight.Refuse("malformed_model", "input 4, the state, must be a variable");
  }
  if (!CheckRank(preflight, "input", *s.input, 2) ||
      !CheckRank(preflight, "feature weights", *s.feature, 2) ||
      !CheckRank(preflight, "time weights", *s.time, 2)) {
    return false;
  }
  const int64_t filters = s.feature->shape[0];
  if (s.rank < 1 || filters % s.rank != 0) {
    return preflight.Refuse("malformed_model", "rank " + std::to_string(s.rank) +
                                                   " does not divide the " +
                                                   std::to_string(filters) + " filters");
  }
  const int32_t units = static_cast<int32_t>(filters / s.rank);
  const int64_t memory = s.time->shape[1];
  if (s.feature->shape[1] != s.input->shape[1] || s.time->shape[0] != s.feature->shape[0] ||
      model::ElementCount(*s.state) != s.input->shape[0] * filters * memory ||
      (s.bias != nullptr && model::ElementCount(*s.bias) != units)) {
    return preflight.Refuse("malformed_model", "weights, bias and state do not fit one another");
  }
  return CheckShape(preflight, "output", view.output(), {s.input->shape[0], units}) &&
         CheckConstant(preflight, "feature weights", *s.feature) &&
         CheckConstant(preflight, "time weights", *s.time) &&
         (s.bias == nullptr || CheckConstant(preflight, "bias", *s.bias));
}

// svdf_common.cc: products of scales in single precision.
double InputRatio(const Svdf& s) {
  return static_cast<double>(Scale(*s.input) * Scale(*s.feature) / Scale(*s.state));
}

double OutputRatio(const Svdf& s, const Tensor& output) {
  return static_cast<double>(Scale(*s.state) * Scale(*s.time) / Scale(output));
}

void CheckSvdfInt8(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckSvdfShapes(preflight)) return;
  const Svdf s = ViewSvdf(view);
  const auto activation = view.op().options.AsSVDFOptions()->fused_activation_function;
  if (activation != tflite::ActivationFunctionType::RELU &&
      activation != tflite::ActivationFunctionType::NONE) {
    preflight.Refuse("unsupported_activation", "a fused activation other than NONE and RELU");
    return;
  }
  if (!CheckType(preflight, "feature weights", *s.feature, {TensorType::INT8}) ||
      !CheckType(preflight, "state", *s.state, {TensorType::INT8, TensorType::INT16}) ||
      !CheckType(preflight, "time weights", *s.time, {s.state->type}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::INT8}) ||
      (s.bias != nullptr && !CheckType(preflight, "bias", *s.bias, {TensorType::INT32}))) {
    return;
  }
  for (const auto& [role, tensor] : {std::pair<const char*, const Tensor*>{"input", s.input},
                                     {"feature weights", s.feature},
                                     {"time weights", s.time},
                                     {"state", s.state},
                                     {"output", &view.output()}}) {
    if (!CheckPerTensor(preflight, role, *tensor)) return;
  }
  if (ZeroPoint(*s.feature) != 0 || ZeroPoint(*s.time) != 0) {
    preflight.Refuse("unsupported_quantization", "weights must be symmetric (zero point 0)");
    return;
  }
  if (CheckMultiplier(preflight, "state", InputRatio(s))) {
    CheckMultiplier(preflight, "output", OutputRatio(s, view.output()));
  }
}

std::vector<std::string> SvdfShapeParams(const Svdf& s) {
  return {
      Field("batches", s.input->shape[0]),
      Field("in_depth", s.input->shape[1]),
      Field("filters", s.feature->shape[0]),
      Field("memory", s.time->shape[1]),
      Field("rank", s.rank),
  };
}

std::vector<Argument> SvdfArguments(const OperatorView& view) {
  return {Argument::Tensor(view.input_number(0)), Argument::Tensor(view.input_number(4)),
          Argument::Tensor(view.output_number(0))};
}

int64_t SvdfMacs(const Svdf& s) {
  return static_cast<int64_t>(s.input->shape[0]) * s.feature->shape[0] *
         (static_cast<int64_t>(s.input->shape[1]) + s.time->shape[1]);
}

// -zero_point * the sum of every `depth` weights, added to `bias`.
std::vector<int32_t> SvdfFoldedBias(const std::vector<int64_t>& weights, int64_t depth,
                                    int32_t zero_point, std::vector<int32_t> bias) {
  bias.resize(weights.size() / depth, 0);
  for (size_t i = 0; i < bias.size(); ++i) {
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += weights[i * depth + k];
    bias[i] = WrapToInt32(bias[i] - zero_point * sum);
  }
  return bias;
}

Lowering LowerSvdfInt8(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Svdf s = ViewSvdf(view);
  const FixedMultiplier in = *QuantizeMultiplier(InputRatio(s));
  const FixedMultiplier out = *QuantizeMultiplier(OutputRatio(s, view.output()));
  Lowering lowering;
  lowering.function = s.state->type == TensorType::INT16 ? "helx_svdf_s8_s16" : "helx_svdf_s8_s8";
  lowering.params_type = "helx_svdf_params";
  lowering.params = SvdfShapeParams(s);
  lowering.params.insert(
      lowering.params.end(),
      {
          Field("state_zero_point", ZeroPoint(*s.state)),
          Field("output_zero_point", ZeroPoint(view.output())),
          Field("multiplier_in", in.multiplier),
          Field("shift_in", in.shift),
          Field("multiplier_out", out.multiplier),
          Field("shift_out", out.shift),
          Field("feature_weights", context.ConstantBytes("int8_t", s.feature->data)),
          Field("feature_bias",
                context.ConstantArray("int32_t",
                                      SvdfFoldedBias(IntegerValues(*s.feature), s.input->shape[1],
                                                     ZeroPoint(*s.input), {}))),
          Field("time_weights", context.ConstantBytes("void", s.time->data)),
          Field("bias", context.ConstantArray(
                            "int32_t",
                            SvdfFoldedBias(IntegerValues(*s.time),
                                           int64_t{s.rank} * s.time->shape[1], ZeroPoint(*s.state),
                                           s.bias == nullptr ? std::vector<int32_t>{}
                                                             : Int32Values(*s.bias)))),
      });
  lowering.arguments = SvdfArguments(view);
  lowering.macs = SvdfMacs(s);
  return lowering;
}

void CheckSvdfFloat(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckSvdfShapes(preflight) ||
      !CheckFloatActivation(preflight,
                            view.op().options.AsSVDFOptions()->fused_activation_function)) {
    return;
  }
  const Svdf s = ViewSvdf(view);
  for (const auto& [role, tensor] :
       {std::pair<const char*, const Tensor*>{"feature weights", s.feature},
        {"time weights", s.time},
        {"state", s.state},
        {"output", &view.output()}}) {
    if (!CheckType(preflight, role, *tensor, {TensorType::FLOAT32})) return;
  }
  if (s.bias != nullptr) CheckType(preflight, "bias", *s.bias, {TensorType::FLOAT32});
}

Lowering LowerSvdfFloat(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Svdf s = ViewSvdf(view);
  const FloatRange range =
      *FloatActivationRange(view.op().options.AsSVDFOptions()->fused_activation_function);
  Lowering lowering;
  lowering.function = "helx_svdf_f32";
  lowering.params_type = "helx_svdf_f32_params";
  lowering.params = SvdfShapeParams(s);
  lowering.params.insert(
      lowering.params.end(),
      {
          FloatField("lowest", range.lowest),
          FloatField("highest", range.highest),
          Field("feature_weights", context.ConstantBytes("float", s.feature->data)),
          Field("time_weights", context.ConstantBytes("float", s.time->data)),
          Field("bias", s.bias == nullptr ? "0" : context.ConstantBytes("float", s.bias->data)),
      });
  lowering.arguments = SvdfArguments(view);
  lowering.macs = SvdfMacs(s);
  return lowering;
}

}  // namespace

const OperatorEntry kSvdfFloat = {model::BuiltinOperator::SVDF,
                                  4,
                                  "float32, constant weights; NONE, RELU, RELU_N1_TO_1, RELU6",
                                  CheckSvdfFloat,
                                  LowerSvdfFloat,
                                  FirstInputIs<TensorType::FLOAT32>};
const OperatorEntry kSvdf = {
    model::BuiltinOperator::SVDF,
    4,
    "int8 with int8 or int16 state, constant symmetric weights, int32 bias; NONE, RELU",
    CheckSvdfInt8,
    LowerSvdfInt8,
    FirstInputIs<TensorType::INT8>};

}  // namespace helx::engine

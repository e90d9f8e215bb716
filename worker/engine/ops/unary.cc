// Functions of one element: activations and elementwise mathematics.
#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/lookup.h"
#include "worker/engine/ops/move.h"
#include "worker/engine/ops/sigmoid.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

struct UnaryKind {
  BuiltinOperator code;
  std::string_view name;       // of the kernels: helx_<name>_<type>
  std::string_view types;      // without scaling
  std::string_view quantized;  // with scaling
};

constexpr UnaryKind kUnaryKinds[] = {
    {BuiltinOperator::ABS, "abs", "f32 i16 i32 ", "s8 u8 s16 "},
    {BuiltinOperator::NEG, "neg", "f32 i32 i64 ", ""},
    {BuiltinOperator::SQRT, "sqrt", "f32 ", ""},
    {BuiltinOperator::RSQRT, "rsqrt", "f32 ", "s8 "},
    {BuiltinOperator::SQUARE, "square", "f32 ", ""},
    {BuiltinOperator::EXP, "exp", "f32 ", "s8 "},
    {BuiltinOperator::LOG, "log", "f32 ", "s8 "},
    {BuiltinOperator::SIN, "sin", "f32 ", ""},
    {BuiltinOperator::COS, "cos", "f32 ", ""},
    {BuiltinOperator::CEIL, "ceil", "f32 ", ""},
    {BuiltinOperator::FLOOR, "floor", "f32 ", ""},
    {BuiltinOperator::ROUND, "round", "f32 ", ""},
    {BuiltinOperator::SIGN, "sign", "f32 i32 ", ""},
    {BuiltinOperator::TANH, "tanh", "f32 ", "s8 u8 s16 "},
    {BuiltinOperator::LOGISTIC, "logistic", "f32 ", "s8 u8 s16 "},
    {BuiltinOperator::ELU, "elu", "f32 ", "s8 u8 "},
    {BuiltinOperator::HARD_SWISH, "hard_swish", "f32 ", "s8 u8 "},
    {BuiltinOperator::LEAKY_RELU, "leaky_relu", "f32 ", "s8 u8 s16 "},
    {BuiltinOperator::GELU, "gelu", "f32 ", "s8 u8 "},
    {BuiltinOperator::RELU, "clamp", "f32 ", "s8 u8 s16 "},
    {BuiltinOperator::RELU6, "clamp", "f32 ", "s8 u8 s16 "},
    {BuiltinOperator::RELU_N1_TO_1, "clamp", "f32 ", "s8 u8 "},
    {BuiltinOperator::RELU_0_TO_1, "clamp", "f32 ", "s8 u8 "},
    {BuiltinOperator::LOGICAL_NOT, "logical_not", "bool ", ""},
};

const UnaryKind& UnaryKindOf(const OperatorView& view) {
  return *std::find_if(std::begin(kUnaryKinds), std::end(kUnaryKinds),
                       [&](const UnaryKind& kind) { return kind.code == view.op().code; });
}

std::string UnarySuffix(TensorType type, bool scaled) {
  switch (type) {
    case TensorType::FLOAT32:
      return "f32";
    case TensorType::INT8:
      return scaled ? "s8" : "i8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return scaled ? "s16" : "i16";
    case TensorType::INT32:
      return "i32";
    case TensorType::INT64:
      return "i64";
    case TensorType::BOOL:
      return "bool";
    default:
      return "none";
  }
}

bool ListsUnary(std::string_view types, const std::string& suffix) {
  return types.find(suffix + " ") != std::string_view::npos;
}

bool IsScaledUnary(const OperatorView& view) {
  const Tensor& input = *view.input(0);
  return ListsUnary(UnaryKindOf(view).quantized, UnarySuffix(input.type, true)) &&
         (input.type != TensorType::INT16 || input.quantization.present());
}

float Alpha(const OperatorView& view) {
  const auto* options = view.op().options.AsLeakyReluOptions();
  return options == nullptr ? 0.0f : options->alpha;
}

bool Approximate(const OperatorView& view) {
  const auto* options = view.op().options.AsGeluOptions();
  return options != nullptr && options->approximate;
}

// Scales are divided in single precision here (leaky_relu_common.cc, activations_common.cc,
// elementwise.cc).
double UnaryRatio(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0)) / Scale(view.output()));
}

double AlphaRatio(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0)) * std::fabs(Alpha(view)) / Scale(view.output()));
}

// The interval of a clamping activation.
FloatRange ClampRange(BuiltinOperator code) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (code) {
    case BuiltinOperator::RELU6:
      return {0.0f, 6.0f};
    case BuiltinOperator::RELU_N1_TO_1:
      return {-1.0f, 1.0f};
    case BuiltinOperator::RELU_0_TO_1:
      return {0.0f, 1.0f};
    default:
      return {0.0f, kInfinity};
  }
}

// TFLite's quantised RELU6 compares with 6 on the input's scale and does not rescale
// (activations.cc).
bool ComparesOnInputScale(const OperatorView& view) {
  return view.op().code == BuiltinOperator::RELU6;
}

IntegerRange QuantizedClamp(const OperatorView& view) {
  const Tensor& reference = ComparesOnInputScale(view) ? *view.input(0) : view.output();
  const FloatRange range = ClampRange(view.op().code);
  const IntegerRange storage = *StorageRange(reference.type);
  auto quantised = [&](float value) {
    const float steps = std::round(value / Scale(reference));
    return static_cast<int32_t>(std::clamp<double>(
        static_cast<double>(steps) + ZeroPoint(reference), storage.lowest, storage.highest));
  };
  return {quantised(range.lowest),
          std::isinf(range.highest) ? storage.highest : quantised(range.highest)};
}

bool IsClamp(const OperatorView& view) { return UnaryKindOf(view).name == "clamp"; }

bool CheckUnaryScaling(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckPerTensor(preflight, "input", input) || !CheckPerTensor(preflight, "output", output)) {
    return false;
  }
  if (input.type == TensorType::INT16 && (ZeroPoint(input) != 0 || ZeroPoint(output) != 0)) {
    return preflight.Refuse("unsupported_quantization",
                            "int16 input and output must have zero point 0");
  }
  switch (view.op().code) {
    case BuiltinOperator::TANH:
    case BuiltinOperator::LOGISTIC:
      return CheckSigmoid(preflight);
    case BuiltinOperator::LEAKY_RELU:
      return CheckMultiplier(preflight, "output", UnaryRatio(view)) &&
             CheckMultiplier(preflight, "negative output", AlphaRatio(view));
    case BuiltinOperator::RSQRT:
      return CheckMultiplier(preflight, "output",
                             1.0 / static_cast<double>(std::sqrt(Scale(input)) * Scale(output)));
    default:
      return CheckMultiplier(preflight, "output", UnaryRatio(view));
  }
}

void CheckUnary(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const Tensor& input = *view.input(0);
  if (!CheckLike(preflight, input, view.output())) return;
  const UnaryKind& kind = UnaryKindOf(view);
  if (IsScaledUnary(view)) {
    CheckUnaryScaling(preflight);
  } else if (!ListsUnary(kind.types, UnarySuffix(input.type, false))) {
    preflight.Refuse("unsupported_dtype",
                     Describe(preflight, "input", input) + " is not supported; kernels are " +
                         std::string(kind.types) + std::string(kind.quantized));
  } else if (view.op().code == BuiltinOperator::LEAKY_RELU) {
    CheckOptions(preflight, view.op().options.AsLeakyReluOptions());
  }
}

// A function of the real value, tabulated as PopulateLookupTable (elu.cc) does it.
int32_t Tabulated(const OperatorView& view, int32_t x, float (*function)(float)) {
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const IntegerRange range = *StorageRange(output.type);
  const float inverse = 1 / Scale(output);
  const float y =
      std::round(function(Scale(input) * static_cast<float>(x - ZeroPoint(input))) * inverse);
  if (std::isnan(y)) return range.lowest;
  return static_cast<int32_t>(std::clamp<double>(
      static_cast<double>(y + static_cast<float>(ZeroPoint(output))), range.lowest, range.highest));
}

int16_t HighMul16(int16_t a, int16_t b) {
  if (a == INT16_MIN && b == INT16_MIN) return INT16_MAX;
  return static_cast<int16_t>((static_cast<int32_t>(a) * b + (1 << 14)) >> 15);
}

int16_t Saturated16(int64_t x) {
  return static_cast<int16_t>(std::clamp<int64_t>(x, INT16_MIN, INT16_MAX));
}

int16_t Multiplier16(int32_t multiplier) {
  if (multiplier >= INT32_MAX - (1 << 15)) return INT16_MAX;
  return static_cast<int16_t>((multiplier + (1 << 15)) >> 16);
}

// In 16-bit fixed point, on the input's scale times 128 (hard_swish.h).
int32_t HardSwish(const OperatorView& view, int32_t x) {
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const float fine_scale = 1.0f / 128.0f * Scale(input);
  const FixedMultiplier to_output =
      *QuantizeMultiplier(static_cast<double>(fine_scale / Scale(output)));
  const FixedMultiplier to_gate =
      *QuantizeMultiplier(static_cast<double>(fine_scale / (3.0f / 32768.0f)));
  const auto fine = static_cast<int16_t>((x - ZeroPoint(input)) * 128);
  const int16_t scaled = HighMul16(fine, Multiplier16(to_output.multiplier));
  int16_t gate = fine;
  if (to_gate.shift > 0) gate = Saturated16(static_cast<int64_t>(gate) << (to_gate.shift - 1));
  gate = HighMul16(gate, Multiplier16(to_gate.multiplier));
  if (to_gate.shift > 0) gate = Saturated16(static_cast<int64_t>(gate) * 2);
  if (to_gate.shift < 0) gate = static_cast<int16_t>(RoundShift(gate, -to_gate.shift));
  gate = static_cast<int16_t>((gate + (1 << 15)) >> 1);
  // Truncates towards zero.
  const auto product = static_cast<int16_t>(static_cast<int32_t>(gate) * scaled / (1 << 15));
  const int32_t y = RoundShift(product, -to_output.shift) + ZeroPoint(output);
  const IntegerRange range = *StorageRange(output.type);
  return std::clamp(static_cast<int32_t>(static_cast<int16_t>(y)), range.lowest, range.highest);
}

int32_t LeakyRelu(const OperatorView& view, int32_t x) {
  const int32_t value = x - ZeroPoint(*view.input(0));
  int32_t y = 0;
  if (value >= 0) {
    y = Requantize(value, *QuantizeMultiplier(UnaryRatio(view)));
  } else {
    y = Requantize(value, *QuantizeMultiplier(AlphaRatio(view)));
    if (Alpha(view) < 0) y = -y;
  }
  const IntegerRange range = *StorageRange(view.output().type);
  return std::clamp(y + ZeroPoint(view.output()), range.lowest, range.highest);
}

int32_t Abs(const OperatorView& view, int32_t x) {
  const int32_t value = std::abs(x - ZeroPoint(*view.input(0)));
  const IntegerRange range = *StorageRange(view.output().type);
  const int32_t y = Scale(*view.input(0)) == Scale(view.output())
                        ? value
                        : Requantize(value, *QuantizeMultiplier(UnaryRatio(view)));
  return std::clamp(y + ZeroPoint(view.output()), range.lowest, range.highest);
}

// Rsqrt is only defined above the zero point; at and below it the largest value stands for
// infinity.
int32_t Rsqrt(const OperatorView& view, int32_t x) {
  constexpr int kShift = 20;
  const int32_t value = x - ZeroPoint(*view.input(0));
  if (value <= 0) return 127;
  const FixedMultiplier root = InverseSquareRoot(value);
  const FixedMultiplier fixed = *QuantizeMultiplier(
      1.0 / static_cast<double>(std::sqrt(Scale(*view.input(0))) * Scale(view.output())));
  const int32_t data = Requantize(1, {root.multiplier, root.shift + kShift});
  if (fixed.shift - kShift < -31) return ZeroPoint(view.output());
  const int32_t y = Requantize(data, {fixed.multiplier, fixed.shift - kShift});
  return std::clamp(y + ZeroPoint(view.output()), -128, 127);
}

int32_t Clamp(const OperatorView& view, int32_t x) {
  const IntegerRange range = QuantizedClamp(view);
  if (ComparesOnInputScale(view)) return std::clamp(x, range.lowest, range.highest);
  const int32_t y =
      Requantize(x - ZeroPoint(*view.input(0)), *QuantizeMultiplier(UnaryRatio(view)));
  return std::clamp(y + ZeroPoint(view.output()), range.lowest, range.highest);
}

int32_t EightBit(const OperatorView& view, int32_t x) {
  switch (view.op().code) {
    case BuiltinOperator::ABS:
      return Abs(view, x);
    case BuiltinOperator::RSQRT:
      return Rsqrt(view, x);
    case BuiltinOperator::TANH:
    case BuiltinOperator::LOGISTIC:
      return EightBitSigmoid(view, x);
    case BuiltinOperator::HARD_SWISH:
      return HardSwish(view, x);
    case BuiltinOperator::LEAKY_RELU:
      return LeakyRelu(view, x);
    case BuiltinOperator::EXP:
      return Tabulated(view, x, [](float v) { return std::exp(v); });
    case BuiltinOperator::LOG:
      return Tabulated(view, x, [](float v) { return std::log(v); });
    case BuiltinOperator::ELU:
      return Tabulated(view, x, [](float v) { return v < 0.0f ? std::exp(v) - 1.0f : v; });
    case BuiltinOperator::GELU:
      return Approximate(view) ? Tabulated(view, x,
                                           [](float v) {
                                             return 0.5f * v *
                                                    (1.0f + std::tanh(0.7978845608028654f *
                                                                      (v + 0.044715f * v * v * v)));
                                           })
                               : Tabulated(view, x, [](float v) {
                                   return 0.5f * v * std::erfc(v * -0.70710678118654752440f);
                                 });
    default:
      return Clamp(view, x);
  }
}

// LEAKY_RELU, ABS and the clamps of int16.
Call SixteenBit(const OperatorView& view) {
  const FixedMultiplier fixed =
      *QuantizeMultiplier(ComparesOnInputScale(view) ? 1.0 : UnaryRatio(view));
  FixedMultiplier negative = fixed;
  IntegerRange range = *StorageRange(TensorType::INT16);
  if (view.op().code == BuiltinOperator::LEAKY_RELU) {
    negative = *QuantizeMultiplier(AlphaRatio(view));
  } else if (IsClamp(view)) {
    range = QuantizedClamp(view);
  }
  Call call;
  call.function = view.op().code == BuiltinOperator::ABS ? "helx_abs_s16" : "helx_slopes_s16";
  call.params_type = "helx_slopes_params";
  call.params = {
      Field("count", model::ElementCount(view.output())),
      Field("input_zero_point", 0),
      Field("output_zero_point", 0),
      Field("multiplier", fixed.multiplier),
      Field("shift", fixed.shift),
      Field("negative_multiplier", negative.multiplier),
      Field("negative_shift", negative.shift),
      Field("negative_sign", Alpha(view) < 0 ? -1 : 1),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
  };
  return call;
}

Lowering LowerUnary(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const Argument from = Argument::Tensor(view.input_number(0));
  const Argument to = Argument::Tensor(view.output_number(0));
  Call call;
  if (IsScaledUnary(view) && ElementBytes(input) == 1) {
    call = LookupCall(
        context, input, [&](int32_t x) { return EightBit(view, x); }, from, to);
  } else if (IsScaledUnary(view)) {
    const bool sigmoid =
        view.op().code == BuiltinOperator::TANH || view.op().code == BuiltinOperator::LOGISTIC;
    call = sigmoid ? SixteenBitSigmoid(context) : SixteenBit(view);
  } else {
    const UnaryKind& kind = UnaryKindOf(view);
    call.function = "helx_" + std::string(kind.name);
    if (input.type != TensorType::BOOL) call.function += "_" + UnarySuffix(input.type, false);
    call.params_type = "helx_count_params";
    call.params = {Field("count", model::ElementCount(input))};
    if (input.type == TensorType::FLOAT32) {
      const FloatRange range = ClampRange(view.op().code);
      call.params_type = "helx_unary_f32_params";
      call.params.push_back(FloatField("alpha", view.op().code == BuiltinOperator::GELU
                                                    ? (Approximate(view) ? 1.0f : 0.0f)
                                                    : Alpha(view)));
      call.params.push_back(FloatField("lowest", range.lowest));
      call.params.push_back(FloatField("highest", std::isinf(range.highest)
                                                      ? std::numeric_limits<float>::max()
                                                      : range.highest));
    }
  }
  call.arguments = {from, to};
  Lowering lowering = InOrder({call});
  lowering.aliases = {InPlace(view)};
  return lowering;
}

}  // namespace

#define HELX_UNARY_ENTRY(ENTRY, CODE, VERSION, SUPPORT) \
  const OperatorEntry ENTRY = {BuiltinOperator::CODE, VERSION, SUPPORT, CheckUnary, LowerUnary};

HELX_UNARY_ENTRY(kAbs, ABS, 5, "float32, int16, int32; int8, uint8, int16 per tensor")
HELX_UNARY_ENTRY(kNeg, NEG, 1, "float32, int32, int64")
HELX_UNARY_ENTRY(kSqrt, SQRT, 1, "float32")
HELX_UNARY_ENTRY(kRsqrt, RSQRT, 3, "float32; int8 per tensor")
HELX_UNARY_ENTRY(kSquare, SQUARE, 1, "float32")
HELX_UNARY_ENTRY(kExp, EXP, 2, "float32; int8 per tensor")
HELX_UNARY_ENTRY(kLog, LOG, 2, "float32; int8 per tensor")
HELX_UNARY_ENTRY(kSin, SIN, 1, "float32")
HELX_UNARY_ENTRY(kCos, COS, 1, "float32")
HELX_UNARY_ENTRY(kCeil, CEIL, 1, "float32")
HELX_UNARY_ENTRY(kFloor, FLOOR, 1, "float32")
HELX_UNARY_ENTRY(kRound, ROUND, 1, "float32")
HELX_UNARY_ENTRY(kSign, SIGN, 2, "float32, int32")
HELX_UNARY_ENTRY(kTanh, TANH, 3, "float32; int8, uint8, int16 per tensor")
HELX_UNARY_ENTRY(kLogistic, LOGISTIC, 3, "float32; int8, uint8, int16 per tensor")
HELX_UNARY_ENTRY(kElu, ELU, 1, "float32; int8, uint8 per tensor")
HELX_UNARY_ENTRY(kHardSwish, HARD_SWISH, 1, "float32; int8, uint8 per tensor")
HELX_UNARY_ENTRY(kLeakyRelu, LEAKY_RELU, 2, "float32; int8, uint8, int16 per tensor")
HELX_UNARY_ENTRY(kGelu, GELU, 2, "float32; int8, uint8 per tensor")
HELX_UNARY_ENTRY(kRelu, RELU, 3, "float32; int8, uint8, int16 per tensor")
HELX_UNARY_ENTRY(kRelu6, RELU6, 3, "float32; int8, uint8, int16 per tensor, of one scale")
HELX_UNARY_ENTRY(kReluN1To1, RELU_N1_TO_1, 2, "float32; int8, uint8 per tensor")
HELX_UNARY_ENTRY(kRelu0To1, RELU_0_TO_1, 1, "float32; int8, uint8 per tensor")
HELX_UNARY_ENTRY(kLogicalNot, LOGICAL_NOT, 1, "bool")
#undef HELX_UNARY_ENTRY

}  // namespace helx::engine

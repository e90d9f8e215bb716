// Arithmetic on two operands: floats, plain integers and quantised integers, with broadcasting.
#include <algorithm>
#include <limits>
#include <optional>

#include "worker/engine/ops/add_equal.h"
#include "worker/engine/ops/broadcast.h"
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

// What an operator is called in kernel names, and which kernels there are.
struct BinaryKind {
  BuiltinOperator code;
  std::string_view name;
  std::string_view types;      // suffixes of kernels without scaling, each followed by a space
  std::string_view quantized;  // suffixes of kernels with scaling
};

constexpr BinaryKind kBinaryKinds[] = {
    {BuiltinOperator::ADD, "add", "f32 i32 i64 i16 ", "s8 u8 s16 "},
    {BuiltinOperator::SUB, "sub", "f32 i32 i64 ", "s8 u8 s16 "},
    {BuiltinOperator::MUL, "mul", "f32 i32 i64 i16 ", "s8 u8 s16 "},
    {BuiltinOperator::DIV, "div", "f32 i32 i64 ", ""},
    {BuiltinOperator::MAXIMUM, "maximum", "f32 i32 i64 i16 i8 u8 ", ""},
    {BuiltinOperator::MINIMUM, "minimum", "f32 i32 i64 i16 i8 u8 ", ""},
    {BuiltinOperator::SQUARED_DIFFERENCE, "squared_difference", "f32 i32 ", "s8 s16 "},
    {BuiltinOperator::FLOOR_DIV, "floor_div", "f32 i32 i64 i16 i8 ", ""},
    {BuiltinOperator::FLOOR_MOD, "floor_mod", "f32 i32 i64 i16 i8 ", ""},
    {BuiltinOperator::POW, "pow", "f32 i32 ", ""},
    {BuiltinOperator::ATAN2, "atan2", "f32 ", ""},
    {BuiltinOperator::LOGICAL_AND, "logical_and", "bool ", ""},
    {BuiltinOperator::LOGICAL_OR, "logical_or", "bool ", ""},
    {BuiltinOperator::BITWISE_XOR, "bitwise_xor", "i8 u8 i16 i32 bool ", ""},
    {BuiltinOperator::RIGHT_SHIFT, "right_shift", "i8 u8 i16 i32 ", ""},
    {BuiltinOperator::EQUAL, "equal", "f32 i32 i64 i16 bool ", "s8 u8 "},
    {BuiltinOperator::NOT_EQUAL, "not_equal", "f32 i32 i64 i16 bool ", "s8 u8 "},
    {BuiltinOperator::GREATER, "greater", "f32 i32 i64 i16 ", "s8 u8 "},
    {BuiltinOperator::GREATER_EQUAL, "greater_equal", "f32 i32 i64 i16 ", "s8 u8 "},
    {BuiltinOperator::LESS, "less", "f32 i32 i64 i16 ", "s8 u8 "},
    {BuiltinOperator::LESS_EQUAL, "less_equal", "f32 i32 i64 i16 ", "s8 u8 "},
};

const BinaryKind& BinaryKindOf(const OperatorView& view) {
  return *std::find_if(std::begin(kBinaryKinds), std::end(kBinaryKinds),
                       [&](const BinaryKind& kind) { return kind.code == view.op().code; });
}

bool IsComparison(const OperatorView& view) {
  switch (view.op().code) {
    case BuiltinOperator::EQUAL:
    case BuiltinOperator::NOT_EQUAL:
    case BuiltinOperator::GREATER:
    case BuiltinOperator::GREATER_EQUAL:
    case BuiltinOperator::LESS:
    case BuiltinOperator::LESS_EQUAL:
      return true;
    default:
      return false;
  }
}

std::string_view PlainSuffix(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
      return "f32";
    case TensorType::INT8:
      return "i8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return "i16";
    case TensorType::INT32:
      return "i32";
    case TensorType::INT64:
      return "i64";
    case TensorType::BOOL:
      return "bool";
    default:
      return "";
  }
}

std::string_view QuantizedSuffix(TensorType type) {
  switch (type) {
    case TensorType::INT8:
      return "s8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return "s16";
    default:
      return "";
  }
}

bool ListsBinary(std::string_view types, std::string_view suffix) {
  return !suffix.empty() && types.find(std::string(suffix) + " ") != std::string_view::npos;
}

// Integers of 8 bits are quantised; those of 16 bits are when they say so.
bool IsScaledBinary(const OperatorView& view) {
  const BinaryKind& kind = BinaryKindOf(view);
  const Tensor& a = *view.input(0);
  return ListsBinary(kind.quantized, QuantizedSuffix(a.type)) &&
         (a.type != TensorType::INT16 || a.quantization.present());
}

std::optional<tflite::ActivationFunctionType> ActivationOf(const OperatorView& view) {
  const tflite::BuiltinOptionsUnion& options = view.op().options;
  if (options.type == tflite::BuiltinOptions::NONE) return tflite::ActivationFunctionType::NONE;
  switch (view.op().code) {
    case BuiltinOperator::ADD:
      if (options.AsAddOptions()) return options.AsAddOptions()->fused_activation_function;
      return std::nullopt;
    case BuiltinOperator::SUB:
      if (options.AsSubOptions()) return options.AsSubOptions()->fused_activation_function;
      return std::nullopt;
    case BuiltinOperator::MUL:
      if (options.AsMulOptions()) return options.AsMulOptions()->fused_activation_function;
      return std::nullopt;
    case BuiltinOperator::DIV:
      if (options.AsDivOptions()) return options.AsDivOptions()->fused_activation_function;
      return std::nullopt;
    default:
      return tflite::ActivationFunctionType::NONE;
  }
}

// The rescalings of sums (add_common.cc, sub_common.cc), squared differences
// (squared_difference.cc) and comparisons (comparisons.cc).
struct SumScaling {
  int left_shift;
  double a, b, output;
};

SumScaling SumScalingOf(const OperatorView& view) {
  const double a = static_cast<double>(Scale(*view.input(0)));
  const double b = static_cast<double>(Scale(*view.input(1)));
  const bool wide = view.input(0)->type == TensorType::INT16;
  if (IsComparison(view)) return {8, a, b, 1.0};
  const double twice_largest = 2 * std::max(a, b);
  const double output = static_cast<double>(Scale(view.output()));
  if (view.op().code == BuiltinOperator::SQUARED_DIFFERENCE) {
    const int left_shift = wide ? 0 : 7;
    return {left_shift, a / twice_largest, b / twice_largest,
            twice_largest * twice_largest / (static_cast<double>(1 << 2 * left_shift) * output)};
  }
  const int left_shift = wide ? 15 : 20;
  if (view.op().code == BuiltinOperator::SUB && view.output().type != TensorType::UINT8) {
    // In single precision, unlike ADD.
    const float x = Scale(*view.input(0)), y = Scale(*view.input(1));
    const float twice = 2 * std::max(x, y);
    return {
        left_shift, static_cast<double>(x / twice), static_cast<double>(y / twice),
        static_cast<double>(twice / (static_cast<float>(1 << left_shift) * Scale(view.output())))};
  }
  return {left_shift, a / twice_largest, b / twice_largest,
          twice_largest / (static_cast<double>(1 << left_shift) * output)};
}

double ProductScale(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0))) * static_cast<double>(Scale(*view.input(1))) /
         static_cast<double>(Scale(view.output()));
}

bool CheckNotAboveOne(Preflight& preflight, const char* what, double real) {
  const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(real);
  if (fixed && fixed->shift <= 0) return true;
  return preflight.Refuse("unsupported_quantization",
                          std::string(what) + " is " + std::to_string(real) +
                              "; the operator's arithmetic holds ratios below 1");
}

bool CheckBinaryScaling(Preflight& preflight, tflite::ActivationFunctionType activation) {
  const OperatorView& view = preflight.view();
  if (!CheckPerTensor(preflight, "input 0", *view.input(0)) ||
      !CheckPerTensor(preflight, "input 1", *view.input(1))) {
    return false;
  }
  if (IsComparison(view)) {
    const SumScaling s = SumScalingOf(view);
    return CheckNotAboveOne(preflight, "the scale of input 0", s.a) &&
           CheckNotAboveOne(preflight, "the scale of input 1", s.b);
  }
  if (!CheckPerTensor(preflight, "output", view.output()) ||
      !CheckActivation(preflight, activation, view.output())) {
    return false;
  }
  if (view.input(0)->type == TensorType::INT16) {
    for (const Tensor* t : {view.input(0), view.input(1), &view.output()}) {
      if (ZeroPoint(*t) != 0) {
        return preflight.Refuse("unsupported_quantization",
                                "int16 operands and output must have zero point 0");
      }
    }
  }
  if (view.op().code == BuiltinOperator::MUL) {
    return CheckMultiplier(preflight, "product", ProductScale(view));
  }
  const double output = SumScalingOf(view).output;
  return view.op().code == BuiltinOperator::SQUARED_DIFFERENCE
             ? CheckMultiplier(preflight, "output", output)
             : CheckNotAboveOne(preflight, "the ratio of the inputs' sum to the output", output);
}

void CheckBinary(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const std::optional<tflite::ActivationFunctionType> activation = ActivationOf(view);
  if (!activation) {
    preflight.Refuse("malformed_model", "its options are of another operator");
    return;
  }
  const Tensor& a = *view.input(0);
  const Tensor& b = *view.input(1);
  const Tensor& output = view.output();
  const BinaryKind& kind = BinaryKindOf(view);
  const bool scaled = IsScaledBinary(view);
  if (!scaled && !ListsBinary(kind.types, PlainSuffix(a.type))) {
    preflight.Refuse("unsupported_dtype",
                     Describe(preflight, "input 0", a) + " is not supported; kernels are " +
                         std::string(kind.types) + std::string(kind.quantized));
    return;
  }
  if (!CheckType(preflight, "input 1", b, {a.type}) ||
      !CheckType(preflight, "output", output, {IsComparison(view) ? TensorType::BOOL : a.type})) {
    return;
  }
  const std::optional<BroadcastShape> shape = Broadcast(a.shape, b.shape);
  if (!shape) {
    preflight.Refuse("unsupported_shape", model::TensorText(a) + " and " + model::TensorText(b) +
                                              " do not broadcast within 6 dimensions");
    return;
  }
  if (!CheckShape(preflight, "output", output, shape->output)) return;
  if (scaled) {
    CheckBinaryScaling(preflight, *activation);
  } else {
    CheckFloatActivation(preflight, *activation);
  }
}

void AddSumParams(const OperatorView& view, std::vector<std::string>* params) {
  const SumScaling s = SumScalingOf(view);
  const FixedMultiplier a = *QuantizeMultiplier(s.a);
  const FixedMultiplier b = *QuantizeMultiplier(s.b);
  params->insert(params->end(), {
                                    Field("left_shift", s.left_shift),
                                    Field("a_zero_point", ZeroPoint(*view.input(0))),
                                    Field("a_multiplier", a.multiplier),
                                    Field("a_shift", a.shift),
                                    Field("b_zero_point", ZeroPoint(*view.input(1))),
                                    Field("b_multiplier", b.multiplier),
                                    Field("b_shift", b.shift),
                                });
  if (IsComparison(view)) return;
  const FixedMultiplier output = *QuantizeMultiplier(s.output);
  params->insert(params->end(), {
                                    Field("output_zero_point", ZeroPoint(view.output())),
                                    Field("output_multiplier", output.multiplier),
                                    Field("output_shift", output.shift),
                                });
}

void AddProductParams(const OperatorView& view, std::vector<std::string>* params) {
  const FixedMultiplier fixed = *QuantizeMultiplier(ProductScale(view));
  params->insert(params->end(), {
                                    Field("a_zero_point", ZeroPoint(*view.input(0))),
                                    Field("b_zero_point", ZeroPoint(*view.input(1))),
                                    Field("output_zero_point", ZeroPoint(view.output())),
                                    Field("multiplier", fixed.multiplier),
                                    Field("shift", fixed.shift),
                                });
}

// The activation of plain integers: 6 and 1 are the numbers themselves.
void AddIntegerRange(tflite::ActivationFunctionType activation, TensorType type,
                     std::vector<std::string>* params) {
  using Activation = tflite::ActivationFunctionType;
  int64_t lowest = std::numeric_limits<int64_t>::min(), highest = -(lowest + 1);
  if (type == TensorType::INT32) {
    lowest = std::numeric_limits<int32_t>::min();
    highest = std::numeric_limits<int32_t>::max();
  }
  if (activation == Activation::RELU || activation == Activation::RELU6) lowest = 0;
  if (activation == Activation::RELU6) highest = 6;
  if (activation == Activation::RELU_N1_TO_1) {
    lowest = -1;
    highest = 1;
  }
  auto text = [](int64_t v) {
    return v == std::numeric_limits<int64_t>::min() ? std::string("-0x7fffffffffffffff - 1")
                                                    : std::to_string(v);
  };
  params->push_back(Field("lowest", text(lowest)));
  params->push_back(Field("highest", text(highest)));
}

// BITWISE_XOR and the logical operators look at bits only.
std::string BinaryKernelName(const OperatorView& view) {
  const BinaryKind& kind = BinaryKindOf(view);
  std::string name = "helx_" + std::string(kind.name);
  const TensorType type = view.input(0)->type;
  if (IsScaledBinary(view)) return name + "_" + std::string(QuantizedSuffix(type));
  switch (view.op().code) {
    case BuiltinOperator::LOGICAL_AND:
    case BuiltinOperator::LOGICAL_OR:
      return name;
    case BuiltinOperator::BITWISE_XOR:
      return name + "_" + std::to_string(8 * ElementBytes(*view.input(0)));
    default:
      return name + "_" + std::string(PlainSuffix(type));
  }
}

// Two operands of one shape, for cores that have more than the portable kernels.
std::optional<Lowering> LowerForIsa(const LowerContext& context,
                                    tflite::ActivationFunctionType activation) {
  const OperatorView& view = context.view;
  if (view.op().code != BuiltinOperator::ADD || view.output().type != TensorType::INT8) {
    return std::nullopt;
  }
  const SumScaling s = SumScalingOf(view);
  return LowerAddEqual(
      context, {*QuantizeMultiplier(s.a), *QuantizeMultiplier(s.b), *QuantizeMultiplier(s.output)},
      *ActivationRange(activation, view.output()));
}

Lowering LowerPortableBinary(const LowerContext& context,
                             tflite::ActivationFunctionType activation) {
  const OperatorView& view = context.view;
  const Tensor& output = view.output();
  Lowering lowering;
  lowering.function = BinaryKernelName(view);
  lowering.params = {
      Field("shape", BroadcastInitialiser(*Broadcast(view.input(0)->shape, view.input(1)->shape)))};
  if (IsScaledBinary(view)) {
    const bool product = view.op().code == BuiltinOperator::MUL;
    lowering.params_type = product ? "helx_mul_params" : "helx_sum_params";
    product ? AddProductParams(view, &lowering.params) : AddSumParams(view, &lowering.params);
    if (!IsComparison(view)) {
      const IntegerRange range = *ActivationRange(activation, output);
      lowering.params.push_back(Field("lowest", range.lowest));
      lowering.params.push_back(Field("highest", range.highest));
    }
  } else if (view.input(0)->type == TensorType::FLOAT32) {
    const FloatRange range = *FloatActivationRange(activation);
    lowering.params_type = "helx_binary_f32_params";
    lowering.params.push_back(FloatField("lowest", range.lowest));
    lowering.params.push_back(FloatField("highest", range.highest));
  } else {
    lowering.params_type = "helx_binary_int_params";
    AddIntegerRange(activation, view.input(0)->type, &lowering.params);
  }
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

Lowering LowerBinary(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& output = view.output();
  const tflite::ActivationFunctionType activation = *ActivationOf(view);
  std::optional<Lowering> special = LowerForIsa(context, activation);
  Lowering lowering = special ? *std::move(special) : LowerPortableBinary(context, activation);
  for (size_t i = 0; i < 2; ++i) {
    // An operand that is not repeated is read just before its place is written.
    if (view.input(i)->shape == output.shape && view.input(i)->type == output.type) {
      lowering.aliases.push_back(InPlace(view, i));
    }
  }
  return lowering;
}

// PRELU: the slope is an operand.
double PreluScale(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0))) / static_cast<double>(Scale(view.output()));
}

void CheckPrelu(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& alpha = *view.input(1);
  if (!CheckType(preflight, "input", input,
                 {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16}) ||
      !CheckLike(preflight, input, view.output()) ||
      !CheckType(preflight, "alpha", alpha,
                 {input.type == TensorType::INT16 ? TensorType::INT8 : input.type})) {
    return;
  }
  const std::optional<BroadcastShape> shape = Broadcast(input.shape, alpha.shape);
  if (!shape || shape->output != input.shape) {
    preflight.Refuse("malformed_model", model::TensorText(alpha) + " does not broadcast to " +
                                            model::TensorText(input));
    return;
  }
  if (input.type == TensorType::FLOAT32) return;
  if (CheckPerTensor(preflight, "input", input) && CheckPerTensor(preflight, "alpha", alpha) &&
      CheckPerTensor(preflight, "output", view.output()) &&
      CheckMultiplier(preflight, "output", PreluScale(view))) {
    CheckMultiplier(preflight, "negative output", ProductScale(view));
  }
}

Lowering LowerPrelu(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  Lowering lowering;
  lowering.params = {
      Field("shape", BroadcastInitialiser(*Broadcast(input.shape, view.input(1)->shape)))};
  if (input.type == TensorType::FLOAT32) {
    lowering.function = "helx_prelu_f32";
    lowering.params_type = "helx_binary_f32_params";
  } else {
    const FixedMultiplier fixed = *QuantizeMultiplier(PreluScale(view));
    const FixedMultiplier negative = *QuantizeMultiplier(ProductScale(view));
    lowering.function = "helx_prelu_" + std::string(QuantizedSuffix(input.type));
    lowering.params_type = "helx_prelu_params";
    lowering.params.insert(lowering.params.end(),
                           {
                               Field("a_zero_point", ZeroPoint(input)),
                               Field("b_zero_point", ZeroPoint(*view.input(1))),
                               Field("output_zero_point", ZeroPoint(view.output())),
                               Field("multiplier", fixed.multiplier),
                               Field("shift", fixed.shift),
                               Field("alpha_multiplier", negative.multiplier),
                               Field("alpha_shift", negative.shift),
                           });
  }
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.aliases = {InPlace(view)};
  return lowering;
}

}  // namespace

#define HELX_BINARY_ENTRY(ENTRY, CODE, VERSION, SUPPORT) \
  const OperatorEntry ENTRY = {BuiltinOperator::CODE, VERSION, SUPPORT, CheckBinary, LowerBinary};

#define HELX_RANGES "NONE, RELU, RELU_N1_TO_1, RELU6"
HELX_BINARY_ENTRY(kAdd, ADD, 5,
                  "float32, int32, int64; int8, uint8, int16 per tensor; broadcast within 6 "
                  "dimensions; " HELX_RANGES)
HELX_BINARY_ENTRY(kSub, SUB, 5,
                  "float32, int32, int64; int8, uint8, int16 per tensor; broadcast within 6 "
                  "dimensions; " HELX_RANGES)
HELX_BINARY_ENTRY(kMul, MUL, 7,
                  "float32, int32, int64; int8, uint8, int16 per tensor; broadcast within 6 "
                  "dimensions; " HELX_RANGES)
HELX_BINARY_ENTRY(kDiv, DIV, 2,
                  "float32, int32, int64; broadcast within 6 dimensions; " HELX_RANGES)
HELX_BINARY_ENTRY(kMaximum, MAXIMUM, 4,
                  "float32, int8, uint8, int16, int32, int64 of one scale; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kMinimum, MINIMUM, 4,
                  "float32, int8, uint8, int16, int32, int64 of one scale; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kSquaredDifference, SQUARED_DIFFERENCE, 3,
                  "float32, int32; int8, int16 per tensor; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kFloorDiv, FLOOR_DIV, 3,
                  "float32, int8, int16, int32, int64; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kFloorMod, FLOOR_MOD, 2,
                  "float32, int8, int16, int32, int64; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kPow, POW, 1, "float32, int32; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kAtan2, ATAN2, 1, "float32; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kLogicalAnd, LOGICAL_AND, 1, "bool; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kLogicalOr, LOGICAL_OR, 1, "bool; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kBitwiseXor, BITWISE_XOR, 1,
                  "bool, int8, uint8, int16, int32; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kRightShift, RIGHT_SHIFT, 1,
                  "int8, uint8, int16, int32; broadcast within 6 dimensions")
HELX_BINARY_ENTRY(kEqual, EQUAL, 4,
                  "float32, int16, int32, int64, bool; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kNotEqual, NOT_EQUAL, 4,
                  "float32, int16, int32, int64, bool; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kGreater, GREATER, 3,
                  "float32, int16, int32, int64; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kGreaterEqual, GREATER_EQUAL, 4,
                  "float32, int16, int32, int64; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kLess, LESS, 4,
                  "float32, int16, int32, int64; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
HELX_BINARY_ENTRY(kLessEqual, LESS_EQUAL, 3,
                  "float32, int16, int32, int64; int8, uint8 per tensor; broadcast within 6 "
                  "dimensions")
const OperatorEntry kPrelu = {BuiltinOperator::PRELU, 2,
                              "float32; int8, uint8, int16 (int8 slopes) per tensor; slopes "
                              "broadcast within 6 dimensions",
                              CheckPrelu, LowerPrelu};
#undef HELX_RANGES
#undef HELX_BINARY_ENTRY

}  // namespace helx::engine

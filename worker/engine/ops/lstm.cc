// UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM (its full kernel, one step).
//
// Inputs: 0 input; 1-4 input weights and 5-8 recurrent weights of the input, forget, cell and
// output gates; 9-11 peepholes of the input, forget and output gates; 12-15 biases; 16, 17
// projection; 18 hidden state; 19 cell state; 20-23 layer normalisation. Intermediate tensors give
// the scales before layer normalisation and of the hidden value before projection.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/wide_channels.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

enum GateNumber { kInputGate, kForgetGate, kCellGate, kOutputGate };
constexpr const char* kGateNames[] = {"input", "forget", "cell", "output"};

// One gate's tensors; nullptr where the model has none.
struct Gate {
  const Tensor* input_weights;
  const Tensor* recurrent_weights;
  const Tensor* peephole;
  const Tensor* bias;
  const Tensor* norm;
};

struct Lstm {
  const Tensor* input;
  std::array<Gate, 4> gates;
  const Tensor* projection;
  const Tensor* projection_bias;
  const Tensor* hidden;
  const Tensor* cell;
  int64_t batches, steps, in_depth, cells, out_depth;
  bool time_major;
  float cell_clip, projection_clip;
  tflite::ActivationFunctionType activation;
};

// Absent inputs may also be tensors without elements.
const Tensor* Present(const OperatorView& view, size_t i) {
  const Tensor* tensor = view.input(i);
  return tensor == nullptr || model::ElementCount(*tensor) == 0 ? nullptr : tensor;
}

Lstm ViewLstm(const OperatorView& view) {
  Lstm l{};
  l.input = view.input(0);
  for (size_t g = 0; g < 4; ++g) {
    l.gates[g] = {Present(view, 1 + g), Present(view, 5 + g), nullptr, Present(view, 12 + g),
                  Present(view, 20 + g)};
  }
  l.gates[kInputGate].peephole = Present(view, 9);
  l.gates[kForgetGate].peephole = Present(view, 10);
  l.gates[kOutputGate].peephole = Present(view, 11);
  l.projection = Present(view, 16);
  l.projection_bias = Present(view, 17);
  l.hidden = view.input(18);
  l.cell = view.input(19);
  if (const auto* o = view.op().options.AsUnidirectionalSequenceLSTMOptions(); o != nullptr) {
    l.time_major = o->time_major;
    l.cell_clip = o->cell_clip;
    l.projection_clip = o->proj_clip;
    l.activation = o->fused_activation_function;
  } else if (const auto* p = view.op().options.AsLSTMOptions(); p != nullptr) {
    l.cell_clip = p->cell_clip;
    l.projection_clip = p->proj_clip;
    l.activation = p->fused_activation_function;
  }
  const std::vector<int32_t>& shape = l.input->shape;
  const bool sequence = view.op().code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM;
  l.steps = !sequence ? 1 : shape.empty() ? 0 : shape[l.time_major || shape.size() < 2 ? 0 : 1];
  l.in_depth = shape.empty() ? 0 : shape.back();
  l.batches = shape.empty() ? 0 : shape[l.time_major && shape.size() > 1 ? 1 : 0];
  const Gate& out = l.gates[kOutputGate];
  l.cells = out.input_weights == nullptr || out.input_weights->shape.empty()
                ? 0
                : out.input_weights->shape[0];
  l.out_depth =
      l.projection == nullptr || l.projection->shape.empty() ? l.cells : l.projection->shape[0];
  return l;
}

bool Coupled(const Lstm& l) { return l.gates[kInputGate].input_weights == nullptr; }

bool Normalized(const Lstm& l) { return l.gates[kForgetGate].norm != nullptr; }

// What only the full kernel does.
bool IsFull(const Lstm& l) {
  bool full = Coupled(l) || Normalized(l) || l.projection != nullptr;
  for (const Gate& gate : l.gates) full = full || gate.peephole != nullptr;
  return full;
}

bool CheckMatrix(Preflight& preflight, const std::string& role, const Tensor* tensor, int64_t rows,
                 int64_t columns, TensorType type) {
  if (tensor == nullptr) return preflight.Refuse("malformed_model", role + " are absent");
  return CheckType(preflight, role, *tensor, {type}) &&
         CheckShape(preflight, role, *tensor,
                    {static_cast<int32_t>(rows), static_cast<int32_t>(columns)}) &&
         CheckConstant(preflight, role, *tensor);
}

bool CheckVector(Preflight& preflight, const std::string& role, const Tensor* tensor, int64_t size,
                 TensorType type) {
  if (tensor == nullptr) return true;
  if (!CheckType(preflight, role, *tensor, {type}) || !CheckConstant(preflight, role, *tensor)) {
    return false;
  }
  if (model::ElementCount(*tensor) == size) return true;
  return preflight.Refuse("malformed_model", Describe(preflight, role, *tensor) + " must have " +
                                                 std::to_string(size) + " elements");
}

struct Types {
  TensorType weights, bias, cell, peephole, norm, projection_bias;
};

bool CheckGate(Preflight& preflight, const Lstm& l, size_t number, const Types& types) {
  const Gate& gate = l.gates[number];
  const std::string name = std::string(kGateNames[number]) + " gate's ";
  if (number == kInputGate && Coupled(l)) {
    if (gate.recurrent_weights == nullptr && gate.peephole == nullptr && gate.norm == nullptr) {
      return true;
    }
    return preflight.Refuse("malformed_model", "the input gate has some weights but not all");
  }
  if (Normalized(l) != (gate.norm != nullptr)) {
    return preflight.Refuse("malformed_model",
                            "layer normalisation is given for some gates but not all");
  }
  if ((gate.bias == nullptr) && gate.norm != nullptr) {
    return preflight.Refuse("malformed_model", name + "bias is absent");
  }
  return CheckMatrix(preflight, name + "input weights", gate.input_weights, l.cells, l.in_depth,
                     types.weights) &&
         CheckMatrix(preflight, name + "recurrent weights", gate.recurrent_weights, l.cells,
                     l.out_depth, types.weights) &&
         CheckVector(preflight, name + "peephole", gate.peephole, l.cells, types.peephole) &&
         CheckVector(preflight, name + "bias", gate.bias, l.cells, types.bias) &&
         CheckVector(preflight, name + "normalisation", gate.norm, l.cells, types.norm);
}

bool CheckState(Preflight& preflight, const char* role, const Tensor* state, int64_t elements,
                TensorType type) {
  if (state == nullptr || !state->is_variable) {
    return preflight.Refuse("malformed_model", std::string(role) + " must be a variable");
  }
  if (!CheckType(preflight, role, *state, {type})) return false;
  if (model::ElementCount(*state) == elements) return true;
  return preflight.Refuse("malformed_model", Describe(preflight, role, *state) + " must have " +
                                                 std::to_string(elements) + " elements");
}

bool CheckOptionsOf(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (view.op().code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM) {
    return CheckOptions(preflight, view.op().options.AsUnidirectionalSequenceLSTMOptions()) !=
           nullptr;
  }
  const auto* options = CheckOptions(preflight, view.op().options.AsLSTMOptions());
  if (options == nullptr) return false;
  if (options->kernel_type == tflite::LSTMKernelType::FULL) return true;
  return preflight.Refuse("unsupported_operator", "the basic kernel; only the full one is known");
}

// Everything but scales.
std::optional<Lstm> CheckTensors(Preflight& preflight, const Types& types) {
  const OperatorView& view = preflight.view();
  if (!CheckOptionsOf(preflight)) return std::nullopt;
  if (view.input_count() != 20 && view.input_count() != 24) {
    preflight.Refuse("malformed_model",
                     std::to_string(view.input_count()) + " inputs; 20 or 24 are needed");
    return std::nullopt;
  }
  if (view.output_count() != 1 || view.input(0) == nullptr) {
    preflight.Refuse("malformed_model", "an input and one output are needed");
    return std::nullopt;
  }
  const Lstm l = ViewLstm(view);
  const bool sequence = view.op().code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM;
  if (!CheckRank(preflight, "input", *l.input, sequence ? 3 : 2)) return std::nullopt;
  if (l.activation != tflite::ActivationFunctionType::TANH) {
    preflight.Refuse("unsupported_activation", "the cell's activation must be TANH");
    return std::nullopt;
  }
  if (l.cells < 1 || !(l.cell_clip >= 0) || !(l.projection_clip >= 0)) {
    preflight.Refuse("malformed_model", "the output gate has no weights, or a clip is below 0");
    return std::nullopt;
  }
  for (size_t g = 0; g < 4; ++g) {
    if (!CheckGate(preflight, l, g, types)) return std::nullopt;
  }
  if (l.projection != nullptr && !CheckMatrix(preflight, "projection weights", l.projection,
                                              l.out_depth, l.cells, types.weights)) {
    return std::nullopt;
  }
  std::vector<int32_t> expected = l.input->shape;
  expected.back() = static_cast<int32_t>(l.out_depth);
  if (!CheckVector(preflight, "projection bias", l.projection_bias, l.out_depth,
                   types.projection_bias) ||
      !CheckState(preflight, "the hidden state", l.hidden, l.batches * l.out_depth,
                  l.input->type) ||
      !CheckState(preflight, "the cell state", l.cell, l.batches * l.cells, types.cell) ||
      !CheckType(preflight, "output", view.output(), {l.input->type}) ||
      !CheckShape(preflight, "output", view.output(), expected)) {
    return std::nullopt;
  }
  return l;
}

std::string ShapeField(const Lstm& l) {
  return Field("shape", "{" + Field("batches", l.batches) + ", " + Field("steps", l.steps) + ", " +
                            Field("time_major", l.time_major ? 1 : 0) + ", " +
                            Field("in_depth", l.in_depth) + ", " + Field("cells", l.cells) + ", " +
                            Field("out_depth", l.out_depth) + "}");
}

std::string Braced(const std::vector<std::string>& fields) {
  std::string text = "{";
  for (const std::string& field : fields) text += (text.size() > 1 ? ", " : "") + field;
  return text + "}";
}

std::string Bytes(const LowerContext& context, const char* type, const Tensor* tensor) {
  return tensor == nullptr ? "0" : context.ConstantBytes(type, tensor->data);
}

std::vector<Argument> LstmArguments(const OperatorView& view) {
  return {Argument::Tensor(view.input_number(0)), Argument::Tensor(view.input_number(18)),
          Argument::Tensor(view.input_number(19)), Argument::Scratch(),
          Argument::Tensor(view.output_number(0))};
}

int64_t LstmMacs(const Lstm& l) {
  const int64_t gates = Coupled(l) ? 3 : 4;
  return l.batches * l.steps *
         (gates * l.cells * (l.in_depth + l.out_depth) +
          (l.projection == nullptr ? 0 : l.cells * l.out_depth));
}

// Float.

void CheckLstmFloat(Preflight& preflight) {
  using T = TensorType;
  CheckTensors(preflight, {T::FLOAT32, T::FLOAT32, T::FLOAT32, T::FLOAT32, T::FLOAT32, T::FLOAT32});
}

Lowering LowerLstmFloat(const LowerContext& context) {
  const Lstm l = ViewLstm(context.view);
  Lowering lowering;
  lowering.function = "helx_lstm_f32";
  lowering.params_type = "helx_lstm_f32_params";
  lowering.params = {ShapeField(l)};
  for (size_t g = 0; g < 4; ++g) {
    const Gate& gate = l.gates[g];
    lowering.params.push_back(
        Field(kGateNames[g],
              Braced({
                  Field("input_weights", Bytes(context, "float", gate.input_weights)),
                  Field("recurrent_weights", Bytes(context, "float", gate.recurrent_weights)),
                  Field("cell_weights", Bytes(context, "float", gate.peephole)),
                  Field("norm_weights", Bytes(context, "float", gate.norm)),
                  Field("bias", Bytes(context, "float", gate.bias)),
              })));
  }
  lowering.params.insert(lowering.params.end(),
                         {
                             FloatField("cell_clip", l.cell_clip),
                             Field("projection_weights", Bytes(context, "float", l.projection)),
                             Field("projection_bias", Bytes(context, "float", l.projection_bias)),
                             FloatField("projection_clip", l.projection_clip),
                         });
  lowering.arguments = LstmArguments(context.view);
  lowering.scratch_bytes = 16 * l.cells;
  lowering.macs = LstmMacs(l);
  return lowering;
}

// Integers.

bool CheckScales(Preflight& preflight, const Lstm& l) {
  std::vector<std::pair<std::string, const Tensor*>> symmetric;
  for (size_t g = 0; g < 4; ++g) {
    const std::string name = std::string(kGateNames[g]) + " gate's ";
    symmetric.emplace_back(name + "input weights", l.gates[g].input_weights);
    symmetric.emplace_back(name + "recurrent weights", l.gates[g].recurrent_weights);
    symmetric.emplace_back(name + "peephole", l.gates[g].peephole);
    symmetric.emplace_back(name + "normalisation", l.gates[g].norm);
  }
  symmetric.emplace_back("projection weights", l.projection);
  symmetric.emplace_back("the cell state", l.cell);
  for (const auto& [role, tensor] : symmetric) {
    if (tensor == nullptr) continue;
    if (!CheckPerTensor(preflight, role, *tensor)) return false;
    if (ZeroPoint(*tensor) != 0) {
      return preflight.Refuse("unsupported_quantization", role + ": the zero point must be 0");
    }
  }
  return CheckPerTensor(preflight, "input", *l.input) &&
         CheckPerTensor(preflight, "the hidden state", *l.hidden) &&
         CheckPerTensor(preflight, "output", preflight.view().output());
}

// log2 of the cell's scale, which must be a power of two.
std::optional<int> CellPower(const Lstm& l) {
  const float exact = std::log(Scale(*l.cell)) * (1.0f / std::log(2.0f));
  const float rounded = std::round(exact);
  if (!(std::fabs(exact - rounded) < 1e-3f)) return std::nullopt;
  return static_cast<int>(rounded);
}

int32_t CellClip(const Lstm& l) {
  const double steps = static_cast<double>(l.cell_clip) / static_cast<double>(Scale(*l.cell));
  return static_cast<int32_t>(std::min(std::max(steps, -32768.0), 32767.0));
}

constexpr float kGateScale = 1.0f / 4096;       // of a gate's argument
constexpr float kSquashedScale = 1.0f / 32768;  // of a gate's value

// GetQuantizedConvolutionMultipler: input and weight scale multiply in single precision.
double GateRatio(const Tensor& values, const Tensor& weights) {
  return static_cast<double>(Scale(values) * Scale(weights)) / static_cast<double>(kGateScale);
}

// CreateInterGateMulParams.
double ProductRatio(float a, float b, float output) {
  return static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(output);
}

bool CheckBasicScales(Preflight& preflight, const Lstm& l) {
  const std::optional<int> power = CellPower(l);
  if (!power || *power < -15 || *power > -9) {
    return preflight.Refuse("unsupported_quantization",
                            "the cell state's scale must be a power of two from 2^-15 to 2^-9");
  }
  const bool narrow = l.input->type == TensorType::INT8;
  for (const Gate& gate : l.gates) {
    if (!CheckWideMultiplier(preflight, GateRatio(*l.input, *gate.input_weights), narrow) ||
        !CheckWideMultiplier(preflight, GateRatio(*l.hidden, *gate.recurrent_weights), narrow)) {
      return false;
    }
  }
  const float cell = Scale(*l.cell);
  return CheckMultiplier(preflight, "the cell state",
                         ProductRatio(kSquashedScale, kSquashedScale, cell)) &&
         CheckMultiplier(preflight, "the hidden state",
                         ProductRatio(kSquashedScale, kSquashedScale, Scale(*l.hidden)));
}

// Sum of each row of weights times -zero_point, plus the bias.
std::vector<int64_t> LstmFoldedBias(const Tensor& weights, int32_t zero_point, const Tensor* bias) {
  const std::vector<int8_t> values = Int8Values(weights);
  std::vector<int64_t> folded =
      bias == nullptr ? std::vector<int64_t>(weights.shape[0], 0) : IntegerValues(*bias);
  for (size_t row = 0; row < folded.size(); ++row) {
    int64_t sum = 0;
    for (int32_t k = 0; k < weights.shape[1]; ++k) sum += values[row * weights.shape[1] + k];
    folded[row] -= zero_point * sum;
  }
  return folded;
}

FixedMultiplier GateMultiplier(const Lstm& l, double ratio) {
  const FixedMultiplier fixed = *QuantizeMultiplier(ratio);
  if (l.input->type == TensorType::INT8) return fixed;
  const WideMultiplier wide = Widened(fixed);
  return {wide.multiplier, wide.shift};
}

bool UsesDsp(const LowerContext& context, const Lstm& l) {
  return context.board.isa == target::Isa::kDsp && l.input->type == TensorType::INT16;
}

// Weights in the order that the kernel for the board's core reads them in (helx_state.h).
std::string GateWeights(const LowerContext& context, const Lstm& l, const Tensor& weights) {
  std::vector<int8_t> values = Int8Values(weights);
  const size_t depth = static_cast<size_t>(weights.shape[1]);
  for (size_t row = 0; UsesDsp(context, l) && row < values.size(); row += depth) {
    for (size_t k = 0; k + 4 <= depth; k += 4) {
      std::swap(values[row + k + 1], values[row + k + 2]);
    }
  }
  return context.ConstantArray("int8_t", values);
}

std::string BasicGate(const LowerContext& context, const Lstm& l, const Gate& gate) {
  const FixedMultiplier in = GateMultiplier(l, GateRatio(*l.input, *gate.input_weights));
  const FixedMultiplier back = GateMultiplier(l, GateRatio(*l.hidden, *gate.recurrent_weights));
  return Braced({
      Field("input_weights", GateWeights(context, l, *gate.input_weights)),
      Field("recurrent_weights", GateWeights(context, l, *gate.recurrent_weights)),
      Field("input_bias",
            context.ConstantArray(
                "int64_t", LstmFoldedBias(*gate.input_weights, ZeroPoint(*l.input), gate.bias))),
      Field("recurrent_bias",
            context.ConstantArray(
                "int64_t", LstmFoldedBias(*gate.recurrent_weights, ZeroPoint(*l.hidden), nullptr))),
      Field("input_multiplier", in.multiplier),
      Field("input_shift", in.shift),
      Field("recurrent_multiplier", back.multiplier),
      Field("recurrent_shift", back.shift),
  });
}

Lowering LowerBasic(const LowerContext& context, const Lstm& l) {
  const float cell = Scale(*l.cell);
  const FixedMultiplier forget = *QuantizeMultiplier(ProductRatio(kSquashedScale, cell, cell));
  const FixedMultiplier in =
      *QuantizeMultiplier(ProductRatio(kSquashedScale, kSquashedScale, cell));
  const FixedMultiplier out =
      *QuantizeMultiplier(ProductRatio(kSquashedScale, kSquashedScale, Scale(*l.hidden)));
  // The argument of tanh in steps of a third of 2^-12 (lstm_eval.cc, Tanh).
  const int left_shift = 12 + *CellPower(l);
  Lowering lowering;
  lowering.function = l.input->type == TensorType::INT8 ? "helx_lstm_s8"
                      : UsesDsp(context, l)             ? "helx_dsp_lstm_s16"
                                                        : "helx_lstm_s16";
  lowering.params_type = "helx_lstm_params";
  lowering.params = {ShapeField(l)};
  for (size_t g = 0; g < 4; ++g) {
    lowering.params.push_back(Field(kGateNames[g], BasicGate(context, l, l.gates[g])));
  }
  lowering.params.insert(lowering.params.end(),
                         {
                             Field("tanh_multiplier", left_shift < 0 ? 3 : 3 << left_shift),
                             Field("tanh_shift", left_shift < 0 ? -left_shift : 0),
                             Field("forget_multiplier", forget.multiplier),
                             Field("forget_shift", forget.shift),
                             Field("input_multiplier", in.multiplier),
                             Field("input_shift", in.shift),
                             Field("output_multiplier", out.multiplier),
                             Field("output_shift", out.shift),
                             Field("output_zero_point", ZeroPoint(*l.hidden)),
                             Field("cell_clip", CellClip(l)),
                             Field("table", context.ConstantArray("uint16_t", LogisticTable())),
                         });
  lowering.arguments = LstmArguments(context.view);
  lowering.scratch_bytes = 4 * sizeof(int16_t) * ((l.cells + 3) / 4 * 4);
  if (l.input->type == TensorType::INT8 && context.board.isa == target::Isa::kDsp) {
    lowering.scratch_bytes += sizeof(int16_t) * (l.in_depth + l.out_depth);
  }
  lowering.macs = LstmMacs(l);
  return lowering;
}

// The full form (TFLite's lstm.cc, PopulateQuantizedLstmParams8x8_16): ratios in single precision.
struct FullScales {
  std::array<float, 4> gate;  // of a gate's argument before normalisation
  float hidden;
  int32_t hidden_zero_point;
};

std::optional<FullScales> ReadFullScales(const OperatorView& view, const Lstm& l) {
  const std::vector<int32_t>& numbers = view.op().intermediates;
  auto scale = [&](size_t i) -> const model::Quantization* {
    if (i >= numbers.size() || numbers[i] < 0) return nullptr;
    const model::Quantization& q = view.graph().tensors[numbers[i]].quantization;
    return q.scale.size() == 1 ? &q : nullptr;
  };
  FullScales scales;
  for (size_t g = 0; g < 4; ++g) {
    scales.gate[g] = kGateScale;
    if (!Normalized(l) || (g == kInputGate && Coupled(l))) continue;
    if (scale(g) == nullptr) return std::nullopt;
    scales.gate[g] = scale(g)->scale[0];
  }
  if (scale(4) == nullptr) return std::nullopt;
  scales.hidden = scale(4)->scale[0];
  scales.hidden_zero_point = static_cast<int32_t>(scale(4)->zero_point[0]);
  return scales;
}

struct FullRatios {
  double input, recurrent, peephole, norm;
};

FullRatios RatiosOf(const Lstm& l, const Gate& gate, float scale) {
  FullRatios r{};
  r.input = static_cast<double>(Scale(*gate.input_weights) * Scale(*l.input) / scale);
  r.recurrent = static_cast<double>(Scale(*gate.recurrent_weights) * Scale(*l.hidden) / scale);
  if (gate.peephole != nullptr) {
    r.peephole = static_cast<double>(std::pow(2.0f, static_cast<float>(*CellPower(l))) *
                                     Scale(*gate.peephole) / scale);
  }
  if (gate.norm != nullptr) r.norm = static_cast<double>(Scale(*gate.norm));
  return r;
}

double HiddenRatio(const FullScales& scales) {
  return static_cast<double>(std::pow(2.0f, -15.0f) / scales.hidden * std::pow(2.0f, -15.0f));
}

double ProjectionRatio(const Lstm& l, const FullScales& scales) {
  return static_cast<double>(Scale(*l.projection) * scales.hidden / Scale(*l.hidden));
}

bool CheckFullScales(Preflight& preflight, const Lstm& l) {
  if (l.input->type != TensorType::INT8) {
    return preflight.Refuse("unsupported_dtype",
                            "layer normalisation, projection, peepholes and coupled gates are "
                            "supported for int8 and float32");
  }
  const std::optional<int> power = CellPower(l);
  if (!power || *power < -15 || *power > -9) {
    return preflight.Refuse("unsupported_quantization",
                            "the cell state's scale must be a power of two from 2^-15 to 2^-9");
  }
  const std::optional<FullScales> scales = ReadFullScales(preflight.view(), l);
  if (!scales) {
    return preflight.Refuse("malformed_model",
                            "intermediate tensors 0 to 4 must have one scale each");
  }
  for (size_t g = 0; g < 4; ++g) {
    if (l.gates[g].input_weights == nullptr) continue;
    const FullRatios r = RatiosOf(l, l.gates[g], scales->gate[g]);
    for (double ratio : {r.input, r.recurrent, r.peephole, r.norm * 4096}) {
      if (!CheckMultiplier(preflight, kGateNames[g], ratio)) return false;
    }
  }
  return CheckMultiplier(preflight, "hidden", HiddenRatio(*scales)) &&
         (l.projection == nullptr ||
          CheckMultiplier(preflight, "projection", ProjectionRatio(l, *scales)));
}

std::vector<int32_t> Narrowed(const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow;
  for (int64_t value : values) narrow.push_back(WrapToInt32(value));
  return narrow;
}

std::string FullGate(const LowerContext& context, const Lstm& l, const Gate& gate, float scale) {
  if (gate.input_weights == nullptr) return "{0}";
  const FullRatios r = RatiosOf(l, gate, scale);
  const FixedMultiplier in = *QuantizeMultiplier(r.input);
  const FixedMultiplier back = *QuantizeMultiplier(r.recurrent);
  const FixedMultiplier peephole = *QuantizeMultiplier(r.peephole);
  const FixedMultiplier norm = *QuantizeMultiplier(r.norm);
  // With normalisation the bias is added after it.
  const Tensor* bias = gate.norm == nullptr ? gate.bias : nullptr;
  const int32_t limit = std::max(1, static_cast<int32_t>(10000 * r.norm));
  return Braced({
      Field("input_weights", Bytes(context, "int8_t", gate.input_weights)),
      Field("recurrent_weights", Bytes(context, "int8_t", gate.recurrent_weights)),
      Field("cell_weights", Bytes(context, "int16_t", gate.peephole)),
      Field("norm_weights", Bytes(context, "int16_t", gate.norm)),
      Field("norm_bias", Bytes(context, "int32_t", gate.norm == nullptr ? nullptr : gate.bias)),
      Field("input_bias",
            context.ConstantArray("int32_t", Narrowed(LstmFoldedBias(*gate.input_weights,
                                                                     ZeroPoint(*l.input), bias)))),
      Field("recurrent_bias",
            context.ConstantArray(
                "int32_t",
                Narrowed(LstmFoldedBias(*gate.recurrent_weights, ZeroPoint(*l.hidden), nullptr)))),
      Field("input_multiplier", in.multiplier),
      Field("input_shift", in.shift),
      Field("recurrent_multiplier", back.multiplier),
      Field("recurrent_shift", back.shift),
      Field("cell_multiplier", peephole.multiplier),
      Field("cell_shift", peephole.shift),
      Field("norm_multiplier", norm.multiplier),
      Field("norm_shift", norm.shift + 12),
      Field("variance_limit", limit),
  });
}

Lowering LowerFull(const LowerContext& context, const Lstm& l) {
  const FullScales scales = *ReadFullScales(context.view, l);
  const FixedMultiplier hidden = *QuantizeMultiplier(HiddenRatio(scales));
  Lowering lowering;
  lowering.function = "helx_lstm_full_s8";
  lowering.params_type = "helx_lstm_full_params";
  lowering.params = {ShapeField(l)};
  for (size_t g = 0; g < 4; ++g) {
    lowering.params.push_back(
        Field(kGateNames[g], FullGate(context, l, l.gates[g], scales.gate[g])));
  }
  lowering.params.insert(lowering.params.end(),
                         {
                             Field("cell_integer_bits", 15 + *CellPower(l)),
                             Field("cell_clip", CellClip(l)),
                             Field("hidden_multiplier", hidden.multiplier),
                             Field("hidden_shift", hidden.shift),
                             Field("hidden_zero_point", scales.hidden_zero_point),
                             Field("output_zero_point", ZeroPoint(*l.hidden)),
                         });
  if (l.projection != nullptr) {
    const FixedMultiplier fixed = *QuantizeMultiplier(ProjectionRatio(l, scales));
    const float steps = l.projection_clip / Scale(context.view.output());
    lowering.params.insert(
        lowering.params.end(),
        {
            Field("projection_weights", Bytes(context, "int8_t", l.projection)),
            Field("projection_bias",
                  context.ConstantArray(
                      "int32_t", Narrowed(LstmFoldedBias(*l.projection, scales.hidden_zero_point,
                                                         l.projection_bias)))),
            Field("projection_multiplier", fixed.multiplier),
            Field("projection_shift", fixed.shift),
            Field("projection_clip", static_cast<int32_t>(std::min(steps, 127.0f))),
        });
  }
  lowering.arguments = LstmArguments(context.view);
  lowering.scratch_bytes = 9 * l.cells;
  lowering.macs = LstmMacs(l);
  return lowering;
}

void CheckInteger(Preflight& preflight) {
  using T = TensorType;
  const Tensor* input = preflight.view().input(0);
  const bool narrow = input != nullptr && input->type == T::INT8;
  const std::optional<Lstm> l = CheckTensors(
      preflight, {T::INT8, narrow ? T::INT32 : T::INT64, T::INT16, T::INT16, T::INT16, T::INT32});
  if (!l || !CheckScales(preflight, *l)) return;
  IsFull(*l) ? CheckFullScales(preflight, *l) : CheckBasicScales(preflight, *l);
}

Lowering LowerInteger(const LowerContext& context) {
  const Lstm l = ViewLstm(context.view);
  return IsFull(l) ? LowerFull(context, l) : LowerBasic(context, l);
}

bool TakesInteger(const OperatorView& view) {
  return FirstInputIs<TensorType::INT8>(view) || FirstInputIs<TensorType::INT16>(view);
}

}  // namespace

#define HELX_LSTM_FLOAT                                                                           \
  "float32, constant weights; peepholes, coupled gates, layer normalisation, projection, clips; " \
  "TANH"
#define HELX_LSTM_INTEGER                                                                       \
  "int8 or int16 with int8 constant weights and int16 cells; for int8 also peepholes, coupled " \
  "gates, layer normalisation, projection; clips; TANH"
const OperatorEntry kSequenceLstmFloat = {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM,
                                          4,
                                          HELX_LSTM_FLOAT,
                                          CheckLstmFloat,
                                          LowerLstmFloat,
                                          FirstInputIs<TensorType::FLOAT32>};
const OperatorEntry kSequenceLstm = {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM,
                                     4,
                                     HELX_LSTM_INTEGER,
                                     CheckInteger,
                                     LowerInteger,
                                     TakesInteger};
const OperatorEntry kLstmFloat = {BuiltinOperator::LSTM, 4,
                                  HELX_LSTM_FLOAT,       CheckLstmFloat,
                                  LowerLstmFloat,        FirstInputIs<TensorType::FLOAT32>};
const OperatorEntry kLstm = {BuiltinOperator::LSTM, 4,           HELX_LSTM_INTEGER, CheckInteger,
                             LowerInteger,          TakesInteger};
#undef HELX_LSTM_FLOAT
#undef HELX_LSTM_INTEGER

}  // namespace helx::engine

// The audio front end: custom operators of TFLite Micro's signal library.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <flatbuffers/flexbuffers.h>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

// Pieces of a polynomial in SignalPCAN's table (pcan_argc_fixed.h).
constexpr int64_t kGains = 125;

// An option by name, within limits; nothing after a refusal.
std::optional<int64_t> Option(Preflight& preflight, const char* name, int64_t lowest,
                              int64_t highest) {
  const std::span<const uint8_t> bytes = preflight.view().op().custom_options;
  std::optional<int64_t> value;
  if (!bytes.empty() && flexbuffers::VerifyBuffer(bytes.data(), bytes.size())) {
    const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
    if (root.IsMap()) {
      const flexbuffers::Reference option = root.AsMap()[name];
      if (option.IsIntOrUint() || option.IsBool()) value = option.AsInt64();
    }
  }
  if (value && *value >= lowest && *value <= highest) return value;
  preflight.Refuse("malformed_model", std::string("option ") + name +
                                          (value ? " is " + std::to_string(*value)
                                                 : std::string(" is missing")) +
                                          "; it must be an integer from " + std::to_string(lowest) +
                                          " to " + std::to_string(highest));
  return std::nullopt;
}

// The same of an operator that has been checked.
int64_t Option(const OperatorView& view, const char* name) {
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  return *Option(preflight, name, std::numeric_limits<int64_t>::min(),
                 std::numeric_limits<int64_t>::max());
}

bool CheckCount(Preflight& preflight, const char* role, const Tensor& tensor, int64_t count) {
  if (model::ElementCount(tensor) == count) return true;
  return preflight.Refuse("malformed_model", Describe(preflight, role, tensor) + " must have " +
                                                 std::to_string(count) + " elements");
}

Lowering Call1(const OperatorView& view, const char* function, const char* params_type,
               std::vector<std::string> params) {
  Lowering lowering;
  lowering.function = function;
  lowering.params_type = params_type;
  lowering.params = std::move(params);
  for (size_t i = 0; i < view.input_count(); ++i) {
    lowering.arguments.push_back(Argument::Tensor(view.input_number(i)));
  }
  for (size_t i = 0; i < view.output_count(); ++i) {
    lowering.arguments.push_back(Argument::Tensor(view.output_number(i)));
  }
  return lowering;
}

void CheckWindow(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::INT16}) ||
      !CheckType(preflight, "window", *view.input(1), {TensorType::INT16}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::INT16}) ||
      !Option(preflight, "shift", 0, 31)) {
    return;
  }
  const int64_t columns = model::ElementCount(*view.input(1));
  const int64_t count = model::ElementCount(*view.input(0));
  if (count % columns != 0) {
    preflight.Refuse("malformed_model", "a window of " + std::to_string(columns) +
                                            " does not divide " + std::to_string(count) +
                                            " samples");
    return;
  }
  CheckCount(preflight, "output", view.output(), count);
}

Lowering LowerWindow(const LowerContext& context) {
  const OperatorView& view = context.view;
  const int64_t columns = model::ElementCount(*view.input(1));
  return Call1(view, "helx_signal_window", "helx_window_params",
               {Field("rows", model::ElementCount(*view.input(0)) / columns),
                Field("columns", columns), Field("shift", Option(view, "shift"))});
}

void CheckAutoScale(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckArity(preflight, 1, 1, 2) &&
      CheckType(preflight, "input", *view.input(0), {TensorType::INT16}) &&
      CheckType(preflight, "output 0", view.output(0), {TensorType::INT16}) &&
      CheckType(preflight, "output 1", view.output(1), {TensorType::INT32}) &&
      CheckCount(preflight, "output 0", view.output(0), model::ElementCount(*view.input(0)))) {
    CheckCount(preflight, "output 1", view.output(1), 1);
  }
}

Lowering LowerAutoScale(const LowerContext& context) {
  return Call1(context.view, "helx_signal_auto_scale", "helx_auto_scale_params",
               {Field("count", model::ElementCount(*context.view.input(0)))});
}

void CheckRfft(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::INT16}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::INT16})) {
    return;
  }
  const std::optional<int64_t> length = Option(preflight, "fft_length", 4, 1 << 15);
  if (!length) return;
  const std::vector<int32_t>& shape = view.input(0)->shape;
  if ((*length & (*length - 1)) != 0 || shape.empty() || shape.back() > *length) {
    preflight.Refuse("unsupported_shape",
                     "a transform of length " + std::to_string(*length) + " over " +
                         model::TensorText(*view.input(0)) +
                         "; lengths are powers of two, at least the input's last dimension");
    return;
  }
  CheckCount(preflight, "output", view.output(),
             model::ElementCount(*view.input(0)) / shape.back() * (*length + 2));
}

// exp(i phase) in Q0.15.
void PushTwiddle(double phase, std::vector<int16_t>* twiddles) {
  twiddles->push_back(static_cast<int16_t>(std::floor(0.5 + 32767 * std::cos(phase))));
  twiddles->push_back(static_cast<int16_t>(std::floor(0.5 + 32767 * std::sin(phase))));
}

Lowering LowerRfft(const LowerContext& context) {
  const OperatorView& view = context.view;
  constexpr double kPi = 3.14159265358979323846;
  const int64_t half = Option(view, "fft_length") / 2;
  const int32_t samples = view.input(0)->shape.back();
  const auto n = static_cast<double>(half);
  std::vector<int16_t> twiddles, real_twiddles;
  for (int64_t k = 0; k < half; ++k) {
    PushTwiddle(-2 * kPi * static_cast<double>(k) / n, &twiddles);
  }
  for (int64_t k = 0; k < half / 2; ++k) {
    PushTwiddle(-kPi * (static_cast<double>(k + 1) / n + 0.5), &real_twiddles);
  }
  Lowering lowering;
  lowering.function = "helx_rfft_s16";
  lowering.params_type = "helx_rfft_params";
  lowering.params = {
      Field("rows", model::ElementCount(*view.input(0)) / samples),
      Field("samples", samples),
      Field("half", half),
      Field("twiddles", context.ConstantArray("helx_complex16", twiddles)),
      Field("real_twiddles", context.ConstantArray("helx_complex16", real_twiddles)),
  };
  lowering.scratch_bytes = 2 * half * 4;
  lowering.arguments = {Argument::Tensor(view.input_number(0)), Argument::Scratch(),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

void CheckEnergy(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::INT16}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::UINT32})) {
    return;
  }
  const int64_t count = model::ElementCount(view.output());
  if (CheckCount(preflight, "input", *view.input(0), 2 * count) &&
      Option(preflight, "start_index", 0, count)) {
    (void)Option(preflight, "end_index", 0, count);
  }
}

Lowering LowerEnergy(const LowerContext& context) {
  const OperatorView& view = context.view;
  return Call1(view, "helx_signal_energy", "helx_energy_params",
               {Field("count", model::ElementCount(view.output())),
                Field("first", Option(view, "start_index")),
                Field("last", Option(view, "end_index"))});
}

// SignalFilterBank(energies, weights, unweights, frequency starts, weight starts, widths).
void CheckFilterBank(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 6, 6, 1) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::UINT32}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::UINT64})) {
    return;
  }
  const std::optional<int64_t> channels = Option(preflight, "num_channels", 1, 1 << 15);
  if (!channels || !CheckCount(preflight, "output", view.output(), *channels)) return;
  static constexpr const char* kRoles[] = {"weights", "unweights", "frequency starts",
                                           "weight starts", "widths"};
  for (size_t i = 0; i < 5; ++i) {
    const Tensor& tensor = *view.input(i + 1);
    if (!CheckType(preflight, kRoles[i], tensor, {TensorType::INT16}) ||
        !CheckConstant(preflight, kRoles[i], tensor) ||
        (i >= 2 && !CheckCount(preflight, kRoles[i], tensor, *channels + 1))) {
      return;
    }
  }
  const auto starts = IntegerValues(*view.input(3)), weight_starts = IntegerValues(*view.input(4)),
             widths = IntegerValues(*view.input(5));
  const int64_t weights = std::min(model::ElementCount(*view.input(1)),
                                   model::ElementCount(*view.input(2)));
  for (size_t c = 0; c < starts.size(); ++c) {
    if (starts[c] < 0 || weight_starts[c] < 0 || widths[c] < 0 ||
        starts[c] + widths[c] > model::ElementCount(*view.input(0)) ||
        weight_starts[c] + widths[c] > weights) {
      preflight.Refuse("malformed_model", "channel " + std::to_string(c) +
                                              " reads outside its weights or the input");
      return;
    }
  }
}

Lowering LowerFilterBank(const LowerContext& context) {
  const OperatorView& view = context.view;
  auto constant = [&](size_t i) { return context.ConstantBytes("int16_t", view.input(i)->data); };
  Lowering lowering = Call1(view, "helx_filter_bank", "helx_filter_bank_params",
                            {Field("channels", Option(view, "num_channels")),
                             Field("weights", constant(1)), Field("unweights", constant(2)),
                             Field("frequency_starts", constant(3)),
                             Field("weight_starts", constant(4)), Field("widths", constant(5))});
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

void CheckSquareRoot(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckArity(preflight, 2, 2, 1) &&
      CheckType(preflight, "input", *view.input(0), {TensorType::UINT64}) &&
      CheckType(preflight, "scale bits", *view.input(1), {TensorType::INT32}) &&
      CheckCount(preflight, "scale bits", *view.input(1), 1) &&
      CheckType(preflight, "output", view.output(), {TensorType::UINT32})) {
    CheckCount(preflight, "output", view.output(), model::ElementCount(*view.input(0)));
  }
}

Lowering LowerSquareRoot(const LowerContext& context) {
  return Call1(context.view, "helx_filter_bank_sqrt", "helx_filter_bank_sqrt_params",
               {Field("count", model::ElementCount(*context.view.input(0)))});
}

void CheckSpectralSubtraction(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  constexpr int64_t kAny = std::numeric_limits<int32_t>::max();
  if (!CheckArity(preflight, 1, 1, 2) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::UINT32}) ||
      !CheckType(preflight, "output 0", view.output(0), {TensorType::UINT32}) ||
      !CheckType(preflight, "output 1", view.output(1), {TensorType::UINT32})) {
    return;
  }
  const std::optional<int64_t> channels = Option(preflight, "num_channels", 1, 1 << 15);
  if (!channels || !CheckCount(preflight, "input", *view.input(0), *channels) ||
      !CheckCount(preflight, "output 0", view.output(0), *channels) ||
      !CheckCount(preflight, "output 1", view.output(1), *channels)) {
    return;
  }
  for (const char* name : {"alternate_one_minus_smoothing", "alternate_smoothing",
                           "min_signal_remaining", "one_minus_smoothing", "smoothing"}) {
    if (!Option(preflight, name, 0, kAny)) return;
  }
  if (Option(preflight, "clamping", 0, 1) && Option(preflight, "smoothing_bits", 0, 31)) {
    (void)Option(preflight, "spectral_subtraction_bits", 0, 31);
  }
}

Lowering LowerSpectralSubtraction(const LowerContext& context) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = "helx_spectral_subtraction";
  lowering.params_type = "helx_spectral_subtraction_params";
  lowering.params = {
      Field("channels", Option(view, "num_channels")),
      ArrayField("smoothing", {Option(view, "smoothing"), Option(view, "alternate_smoothing")}),
      ArrayField("one_minus_smoothing", {Option(view, "one_minus_smoothing"),
                                         Option(view, "alternate_one_minus_smoothing")}),
      Field("min_signal_remaining", Option(view, "min_signal_remaining")),
      Field("smoothing_bits", Option(view, "smoothing_bits")),
      Field("spectral_subtraction_bits", Option(view, "spectral_subtraction_bits")),
      Field("clamping", Option(view, "clamping")),
  };
  lowering.state_bytes = 4 * Option(view, "num_channels");
  lowering.arguments = {Argument::Tensor(view.input_number(0)), Argument::State(),
                        Argument::Tensor(view.output_number(0)),
                        Argument::Tensor(view.output_number(1))};
  return lowering;
}

// SignalPCAN(signal, noise, gains).
void CheckPcan(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1) ||
      !CheckType(preflight, "input", *view.input(0), {TensorType::UINT32}) ||
      !CheckType(preflight, "noise", *view.input(1), {TensorType::UINT32}) ||
      !CheckType(preflight, "gains", *view.input(2), {TensorType::INT16}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::UINT32}) ||
      !Option(preflight, "snr_shift", 0, 63)) {
    return;
  }
  const int64_t channels = model::ElementCount(*view.input(0));
  if (CheckCount(preflight, "gains", *view.input(2), kGains) &&
      CheckCount(preflight, "noise", *view.input(1), channels)) {
    CheckCount(preflight, "output", view.output(), channels);
  }
}

Lowering LowerPcan(const LowerContext& context) {
  const OperatorView& view = context.view;
  return Call1(view, "helx_pcan", "helx_pcan_params",
               {Field("channels", model::ElementCount(*view.input(0))),
                Field("snr_shift", Option(view, "snr_shift"))});
}

void CheckLog(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckArity(preflight, 1, 1, 1) &&
      CheckType(preflight, "input", *view.input(0), {TensorType::UINT32}) &&
      CheckType(preflight, "output", view.output(), {TensorType::INT16}) &&
      CheckCount(preflight, "output", view.output(), model::ElementCount(*view.input(0))) &&
      Option(preflight, "input_correction_bits", 0, 31)) {
    (void)Option(preflight, "output_scale", 0, std::numeric_limits<int32_t>::max());
  }
}

// How far log2(1 + x) is above x, in 16 fraction bits.
std::vector<uint16_t> LogTable() {
  std::vector<uint16_t> table;
  for (int i = 0; i <= 128; ++i) {
    table.push_back(static_cast<uint16_t>(std::lround(65536 * (std::log2(1 + i / 128.0) - i / 128.0))));
  }
  table.push_back(0);
  return table;
}

Lowering LowerLog(const LowerContext& context) {
  const OperatorView& view = context.view;
  return Call1(view, "helx_filter_bank_log", "helx_filter_bank_log_params",
               {Field("channels", model::ElementCount(*view.input(0))),
                Field("correction_bits", Option(view, "input_correction_bits")),
                Field("output_scale", Option(view, "output_scale")),
                Field("table", context.ConstantArray("uint16_t", LogTable()))});
}

constexpr auto kCustom = model::BuiltinOperator::CUSTOM;

}  // namespace

const OperatorEntry kSignalWindow = {kCustom, 1, "int16", CheckWindow, LowerWindow, nullptr,
                                     "SignalWindow"};
const OperatorEntry kSignalAutoScale = {kCustom, 1, "int16", CheckAutoScale, LowerAutoScale,
                                        nullptr, "SignalFftAutoScale"};
const OperatorEntry kSignalRfft = {kCustom, 1, "int16; lengths that are powers of two", CheckRfft,
                                   LowerRfft, nullptr, "SignalRfft"};
const OperatorEntry kSignalEnergy = {kCustom, 1, "int16 → uint32", CheckEnergy, LowerEnergy,
                                     nullptr, "SignalEnergy"};
const OperatorEntry kSignalFilterBank = {kCustom, 1, "uint32 → uint64, constant int16 weights",
                                         CheckFilterBank, LowerFilterBank, nullptr,
                                         "SignalFilterBank"};
const OperatorEntry kSignalSquareRoot = {kCustom, 1, "uint64 → uint32", CheckSquareRoot,
                                         LowerSquareRoot, nullptr, "SignalFilterBankSquareRoot"};
const OperatorEntry kSignalSpectralSubtraction = {
    kCustom, 1, "uint32; keeps its noise estimate between invocations", CheckSpectralSubtraction,
    LowerSpectralSubtraction, nullptr, "SignalFilterBankSpectralSubtraction"};
const OperatorEntry kSignalPcan = {kCustom, 1, "uint32, int16 gains", CheckPcan, LowerPcan,
                                   nullptr, "SignalPCAN"};
const OperatorEntry kSignalLog = {kCustom, 1, "uint32 → int16", CheckLog, LowerLog, nullptr,
                                  "SignalFilterBankLog"};

}  // namespace helx::engine

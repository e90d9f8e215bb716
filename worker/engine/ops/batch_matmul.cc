// BATCH_MATMUL: products of matrices, both known at run time only or one a constant.
#include "worker/engine/ops/broadcast.h"
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/wide_channels.h"

namespace helx::engine {
namespace {

constexpr size_t kMaxBatchRank = 5;

struct Product3 {
  int64_t rows, columns, depth;
  int64_t a_row, a_depth, b_column, b_depth;
  BroadcastShape batch;
  std::vector<int32_t> output;
};

std::optional<Product3> Read(const OperatorView& view) {
  const auto* options = view.op().options.AsBatchMatMulOptions();
  const bool adjoint_a = options != nullptr && options->adj_x;
  const bool adjoint_b = options != nullptr && options->adj_y;
  std::vector<int32_t> a = view.input(0)->shape;
  std::vector<int32_t> b = view.input(1)->shape;
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const int64_t a_columns = a.back(), a_rows = a[a.size() - 2];
  const int64_t b_columns = b.back(), b_rows = b[b.size() - 2];
  Product3 p;
  p.rows = adjoint_a ? a_columns : a_rows;
  p.depth = adjoint_a ? a_rows : a_columns;
  p.columns = adjoint_b ? b_rows : b_columns;
  if (p.depth != (adjoint_b ? b_columns : b_rows)) return std::nullopt;
  p.a_row = adjoint_a ? 1 : a_columns;
  p.a_depth = adjoint_a ? a_columns : 1;
  p.b_column = adjoint_b ? b_columns : 1;
  p.b_depth = adjoint_b ? 1 : b_columns;
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  std::optional<BroadcastShape> batch = Broadcast(a, b);
  if (!batch || batch->size.size() > kMaxBatchRank) return std::nullopt;
  p.batch = *std::move(batch);
  for (int64_t& stride : p.batch.a_stride) stride *= a_rows * a_columns;
  for (int64_t& stride : p.batch.b_stride) stride *= b_rows * b_columns;
  p.output = p.batch.output;
  p.output.push_back(static_cast<int32_t>(p.rows));
  p.output.push_back(static_cast<int32_t>(p.columns));
  return p;
}

double BatchMatMulRatio(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0)) * Scale(*view.input(1))) /
         static_cast<double>(Scale(view.output()));
}

// int8 × int8 → int32 keeps the sums.
bool IsRescaledMatMul(const OperatorView& view) {
  return view.input(0)->type != TensorType::FLOAT32 && view.input(0)->type != TensorType::INT32 &&
         view.output().type != TensorType::INT32;
}

void CheckBatchMatMul(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& a = *view.input(0);
  const Tensor& b = *view.input(1);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input 0", a,
                 {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16,
                  TensorType::INT32})) {
    return;
  }
  const bool typed =
      a.type == TensorType::INT16
          ? CheckType(preflight, "input 1", b, {TensorType::INT16, TensorType::INT8}) &&
                CheckType(preflight, "output", output, {TensorType::INT16})
      : a.type == TensorType::INT8
          ? CheckType(preflight, "input 1", b, {TensorType::INT8}) &&
                CheckType(preflight, "output", output, {TensorType::INT8, TensorType::INT32})
          : CheckType(preflight, "input 1", b, {a.type}) &&
                CheckType(preflight, "output", output, {a.type});
  if (!typed) return;
  const std::optional<Product3> p = Read(view);
  if (!p) {
    preflight.Refuse("unsupported_shape", model::TensorText(a) + " and " + model::TensorText(b) +
                                              " do not multiply within 5 batch dimensions");
    return;
  }
  if (!CheckShape(preflight, "output", output, p->output) || !IsRescaledMatMul(view)) return;
  if (CheckPerTensor(preflight, "input 0", a) && CheckPerTensor(preflight, "input 1", b) &&
      CheckPerTensor(preflight, "output", output)) {
    CheckWideMultiplier(preflight, BatchMatMulRatio(view), a.type != TensorType::INT16);
  }
}

std::string BatchMatMulKernelName(const OperatorView& view) {
  switch (view.input(0)->type) {
    case TensorType::FLOAT32:
      return "helx_matmul_f32";
    case TensorType::INT32:
      return "helx_matmul_i32";
    case TensorType::UINT8:
      return "helx_matmul_u8";
    case TensorType::INT16:
      return view.input(1)->type == TensorType::INT8 ? "helx_matmul_s16_s8" : "helx_matmul_s16";
    default:
      return view.output().type == TensorType::INT32 ? "helx_matmul_s8_i32" : "helx_matmul_s8";
  }
}

Lowering LowerBatchMatMul(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Product3 p = *Read(view);
  const bool batched = p.batch.size != std::vector<int64_t>{1};
  Lowering lowering;
  lowering.function = BatchMatMulKernelName(view);
  lowering.params_type = "helx_matmul_params";
  lowering.params = {
      Field("batch_rank", batched ? static_cast<int64_t>(p.batch.size.size()) : 0),
      ArrayField("batch_size", p.batch.size),
      ArrayField("a_batch", p.batch.a_stride),
      ArrayField("b_batch", p.batch.b_stride),
      Field("rows", p.rows),
      Field("columns", p.columns),
      Field("depth", p.depth),
      Field("a_row", p.a_row),
      Field("a_depth", p.a_depth),
      Field("b_column", p.b_column),
      Field("b_depth", p.b_depth),
  };
  const bool integer = view.input(0)->type != TensorType::FLOAT32;
  if (integer && view.input(0)->quantization.present() && view.input(1)->quantization.present()) {
    lowering.params.push_back(Field("a_zero_point", ZeroPoint(*view.input(0))));
    lowering.params.push_back(Field("b_zero_point", ZeroPoint(*view.input(1))));
  }
  if (IsRescaledMatMul(view)) {
    const FixedMultiplier fixed = *QuantizeMultiplier(BatchMatMulRatio(view));
    const WideMultiplier wide = Widened(fixed);
    const bool is_wide = view.input(0)->type == TensorType::INT16;
    const IntegerRange range = *StorageRange(view.output().type);
    lowering.params.insert(lowering.params.end(),
                           {
                               Field("output_zero_point", ZeroPoint(view.output())),
                               Field("multiplier", is_wide ? wide.multiplier : fixed.multiplier),
                               Field("shift", is_wide ? wide.shift : fixed.shift),
                               Field("lowest", range.lowest),
                               Field("highest", range.highest),
                           });
  }
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.macs = model::ElementCount(view.output()) * p.depth;
  return lowering;
}

}  // namespace

const OperatorEntry kBatchMatmul = {
    model::BuiltinOperator::BATCH_MATMUL, 4,
    "float32, int32; int8, uint8, int16 (× int16 or int8) per tensor; int8 × int8 → int32; "
    "adjoints; batches broadcast within 5 dimensions",
    CheckBatchMatMul, LowerBatchMatMul};

}  // namespace helx::engine

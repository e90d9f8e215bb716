// The stage operators on integer lists: pred_delta, pred_med, dequant and scale_index
// (docs/integer-operators.md, sections 5E.3 to 5E.5).
#include <algorithm>
#include <memory>

#include "core/ops/stage/fields.h"

namespace helx::ops {
namespace {

class Predictor : public StageStream {
 public:
  Predictor(StageLayout layout, std::vector<int64_t> residuals, int64_t lo, int64_t hi, bool median)
      : layout_(layout), values_(std::move(residuals)), lo_(lo), hi_(hi), median_(median) {}

  std::unique_ptr<StageStream> Clone() const override { return std::make_unique<Predictor>(*this); }
  int64_t size() const override { return static_cast<int64_t>(values_.size()); }

  std::optional<StageRefusal> Next(int64_t* value) override {
    const int64_t e = done_++;
    const int64_t v = Predict(e) + values_[e];
    if (v < lo_ || v > hi_) return StageRefusal{Code::kRange, e};
    values_[e] = v;
    *value = v;
    return std::nullopt;
  }

 private:
  int64_t Predict(int64_t e) const {
    int64_t c = 0, y = 0, x = 0;
    layout_.Position(e, &c, &y, &x);
    if (x == 0 && y == 0) return 0;
    if (x == 0) return values_[layout_.Index(c, y - 1, x)];
    const int64_t left = values_[layout_.Index(c, y, x - 1)];
    if (!median_ || y == 0) return left;
    const int64_t above = values_[layout_.Index(c, y - 1, x)];
    const int64_t corner = values_[layout_.Index(c, y - 1, x - 1)];
    const auto [least, most] = std::minmax(left, above);
    if (corner >= most) return least;
    if (corner <= least) return most;
    return left + above - corner;
  }

  StageLayout layout_;
  // Decoded values before done_, residuals from there on.
  std::vector<int64_t> values_;
  int64_t lo_;
  int64_t hi_;
  bool median_;
  int64_t done_ = 0;
};

class Dequant : public StageStream {
 public:
  Dequant(StageLayout layout, std::vector<int64_t> symbols, std::vector<int64_t> step,
          std::vector<int64_t> offset)
      : layout_(layout),
        symbols_(std::move(symbols)),
        step_(std::move(step)),
        offset_(std::move(offset)) {}

  std::unique_ptr<StageStream> Clone() const override { return std::make_unique<Dequant>(*this); }
  int64_t size() const override { return static_cast<int64_t>(symbols_.size()); }

  std::optional<StageRefusal> Next(int64_t* value) override {
    int64_t c = 0, y = 0, x = 0;
    layout_.Position(done_, &c, &y, &x);
    *value = offset_[c] + symbols_[done_++] * step_[c];
    return std::nullopt;
  }

 private:
  StageLayout layout_;
  std::vector<int64_t> symbols_, step_, offset_;
  int64_t done_ = 0;
};

class ScaleIndex : public StageStream {
 public:
  ScaleIndex(std::vector<i128> thresholds, std::vector<i128> values)
      : thresholds_(std::move(thresholds)), values_(std::move(values)) {}

  std::unique_ptr<StageStream> Clone() const override {
    return std::make_unique<ScaleIndex>(*this);
  }
  int64_t size() const override { return static_cast<int64_t>(values_.size()); }

  std::optional<StageRefusal> Next(int64_t* value) override {
    *value = std::upper_bound(thresholds_.begin(), thresholds_.end(), values_[done_++]) -
             thresholds_.begin();
    return std::nullopt;
  }

 private:
  std::vector<i128> thresholds_, values_;
  int64_t done_ = 0;
};

bool AllI32(const std::vector<i128>& values) {
  return std::all_of(values.begin(), values.end(), FitsI32);
}

bool AllI64(const std::vector<i128>& values) {
  return std::all_of(values.begin(), values.end(), FitsI64);
}

std::vector<int64_t> Narrow(const std::vector<i128>& values) {
  return {values.begin(), values.end()};
}

bool CountIs(const std::vector<i128>& values, int64_t count) {
  return static_cast<int64_t>(values.size()) == count;
}

}  // namespace

bool ReadLayout(const Json& shape, const Json& layout, StageLayout* out) {
  if (shape.items().size() != 3) return false;
  int64_t* const dims[] = {&out->shape.c, &out->shape.h, &out->shape.w};
  for (int i = 0; i < 3; ++i) {
    const auto dim = shape.items()[i].IntegerIn(1, kMaxDim);
    if (!dim) return false;
    *dims[i] = *dim;
  }
  out->interleaved = layout.text() == "interleaved";
  return out->interleaved || layout.text() == "planar";
}

OpenedStage OpenPredictor(const Json& in, bool median) {
  if (!in.HasExactly({"hi", "layout", "lo", "res", "shape"}) || !in.Find("hi")->is_integer() ||
      !in.Find("lo")->is_integer() || !in.Find("layout")->is_string() ||
      !in.Find("res")->is_integers() || !in.Find("shape")->is_integers()) {
    return AtOpen(Code::kShape);
  }
  StageLayout layout;
  const std::vector<i128> residuals = StageIntegers(*in.Find("res"));
  const auto lo = in.Find("lo")->IntegerIn(kI32Min, kI32Max);
  const auto hi = in.Find("hi")->IntegerIn(kI32Min, kI32Max);
  if (!ReadLayout(*in.Find("shape"), *in.Find("layout"), &layout) ||
      !CountIs(residuals, layout.shape.elements()) || !lo || !hi || *lo > *hi) {
    return AtOpen(Code::kShape);
  }
  if (!AllI32(residuals)) return AtOpen(Code::kSymbol);
  return std::make_unique<Predictor>(layout, Narrow(residuals), *lo, *hi, median);
}

OpenedStage OpenDequant(const Json& in) {
  if (!in.HasExactly({"layout", "off", "shape", "step", "sym"}) ||
      !in.Find("layout")->is_string() || !in.Find("off")->is_integers() ||
      !in.Find("shape")->is_integers() || !in.Find("step")->is_integers() ||
      !in.Find("sym")->is_integers()) {
    return AtOpen(Code::kShape);
  }
  StageLayout layout;
  const std::vector<i128> step = StageIntegers(*in.Find("step"));
  const std::vector<i128> offset = StageIntegers(*in.Find("off"));
  const std::vector<i128> symbols = StageIntegers(*in.Find("sym"));
  if (!ReadLayout(*in.Find("shape"), *in.Find("layout"), &layout) ||
      !CountIs(step, layout.shape.c) || !CountIs(offset, layout.shape.c) || !AllI32(step) ||
      !AllI32(offset) || !CountIs(symbols, layout.shape.elements())) {
    return AtOpen(Code::kShape);
  }
  if (!AllI32(symbols)) return AtOpen(Code::kSymbol);
  return std::make_unique<Dequant>(layout, Narrow(symbols), Narrow(step), Narrow(offset));
}

OpenedStage OpenScaleIndex(const Json& in) {
  if (!in.HasExactly({"t", "v"}) || !in.Find("t")->is_integers() || !in.Find("v")->is_integers()) {
    return AtOpen(Code::kShape);
  }
  std::vector<i128> thresholds = StageIntegers(*in.Find("t"));
  std::vector<i128> values = StageIntegers(*in.Find("v"));
  const bool increasing = std::adjacent_find(thresholds.begin(), thresholds.end(),
                                             std::greater_equal<i128>()) == thresholds.end();
  if (!increasing || !AllI64(thresholds) || thresholds.size() > 65535) {
    return AtOpen(Code::kTables);
  }
  if (!AllI64(values)) return AtOpen(Code::kSymbol);
  return std::make_unique<ScaleIndex>(std::move(thresholds), std::move(values));
}

}  // namespace helx::ops

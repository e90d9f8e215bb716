#include "core/ops/bounds.h"

#include <algorithm>

namespace helx::ops {
namespace {

// Section 8.4: an endpoint beyond this is recorded and used as this.
constexpr i128 kLimit = static_cast<i128>(1) << 126;

i128 Limited(i128 v) { return std::clamp(v, -kLimit, kLimit); }

// a * b for a, b >= 0, limited; the one product that can pass 2^127 (section 8.4).
i128 LimitedProduct(i128 a, i128 b) {
  if (a != 0 && b > kLimit / a) return kLimit;
  return a * b;
}

Interval Hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval Product(Interval a, Interval b) {
  const auto ends = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
  return {ends.first, ends.second};
}

Interval Product(Interval a, i128 k) { return Product(a, Interval{k, k}); }

Interval Shifted(Rounding rnd, Interval p, int64_t shift) {
  return {RoundShift(rnd, p.lo, static_cast<int>(shift)),
          RoundShift(rnd, p.hi, static_cast<int>(shift))};
}

bool Within(Interval v, i128 lo, i128 hi) { return v.lo >= lo && v.hi <= hi; }

// Records one value's named intervals, tests them and gives back what later rules use.
class Recorder {
 public:
  Recorder(ValueBounds* value, const std::vector<std::string_view>& names) : value_(value) {
    for (const std::string_view name : names) {
      const bool wide = name.front() == '~';
      value->named.push_back({name.substr(wide ? 1 : 0), wide, {}});
    }
    seen_.resize(value->named.size());
    fail32_.resize(value->named.size());
    fail64_.resize(value->named.size());
  }

  // The rule's next named value of a channel: section 8.1 steps 1 to 3.
  Interval Set(size_t index, Interval interval) {
    const Interval exact{Limited(interval.lo), Limited(interval.hi)};
    NamedInterval& named = value_->named[index];
    named.interval = seen_[index] ? Hull(named.interval, exact) : exact;
    seen_[index] = true;
    if (named.wide) {
      // 128 bits always hold a wide value: the limit is 2^126.
      if (!Within(exact, kI64Min, kI64Max)) fail32_[index] = true;
      return exact;
    }
    if (!Within(exact, kI32Min, kI32Max)) fail32_[index] = true;
    if (!Within(exact, kI64Min, kI64Max)) fail32_[index] = fail64_[index] = true;
    return {std::clamp<i128>(exact.lo, kI64Min, kI64Max),
            std::clamp<i128>(exact.hi, kI64Min, kI64Max)};
  }

  // Records without the type test.
  void Note(size_t index, Interval interval) { value_->named[index].interval = interval; }

  void FailBoth(size_t index) { fail32_[index] = fail64_[index] = true; }

  void Finish(Interval out, Bounds* bounds) {
    value_->out = out;
    for (size_t i = 0; i < value_->named.size(); ++i) {
      const Failure failure{value_->id, value_->named[i].CertificateName()};
      if (fail32_[i]) bounds->fail_acc32.push_back(failure);
      if (fail64_[i]) bounds->fail_acc64.push_back(failure);
    }
  }

 private:
  ValueBounds* value_;
  std::vector<bool> seen_, fail32_, fail64_;
};

// part and acc of a sum of w * x terms plus a bias (section 5.1).
struct SumBounds {
  Interval part;
  Interval acc;

  explicit SumBounds(int64_t bias)
      : part{std::min<i128>(0, bias), std::max<i128>(0, bias)}, acc{bias, bias} {}
  void AddTerm(int64_t w, Interval x, bool may_be_absent) {
    const i128 a = w * x.lo;
    const i128 b = w * x.hi;
    const i128 lo = std::min(a, b);
    const i128 hi = std::max(a, b);
    part.lo += std::min<i128>(0, lo);
    part.hi += std::max<i128>(0, hi);
    acc.lo += may_be_absent ? std::min<i128>(0, lo) : lo;
    acc.hi += may_be_absent ? std::max<i128>(0, hi) : hi;
  }
};

// ~p, q and y of an rqb at index `first` of the recorder; returns y.
Interval RequantBounds(const Params& p, int64_t channel, Interval acc, size_t first,
                       Recorder* record) {
  const size_t i = p.n == 1 ? 0 : channel;
  const Interval wide = record->Set(first, Product(acc, p.mult[i]));
  const Interval q = record->Set(first + 1, Shifted(p.rounding(), wide, p.shift[i]));
  return record->Set(first + 2, {q.lo + p.post_bias[i], q.hi + p.post_bias[i]});
}

// The hull of per-channel results.
class HullOf {
 public:
  void Add(Interval interval) {
    hull_ = empty_ ? interval : Hull(hull_, interval);
    empty_ = false;
  }
  Interval hull() const { return hull_; }

 private:
  bool empty_ = true;
  Interval hull_;
};

Interval ConvBounds(const Params& p, Interval x, Recorder* record) {
  const bool padded = p.pt != 0 || p.pb != 0 || p.pl != 0 || p.pr != 0;
  const int64_t taps = p.cin / p.groups * p.kh * p.kw;
  HullOf y;
  for (int64_t o = 0; o < p.cout; ++o) {
    SumBounds sum(p.bias[o]);
    for (int64_t t = 0; t < taps; ++t) sum.AddTerm(p.w[o * taps + t], x, padded);
    record->Set(0, sum.part);
    y.Add(RequantBounds(p, o, record->Set(1, sum.acc), 2, record));
  }
  return y.hull();
}

// The taps of phase (dy, dx) of output channel o (section 5.2).
SumBounds PhaseSum(const Params& p, Interval x, int64_t o, int64_t dy, int64_t dx) {
  SumBounds sum(p.bias[o]);
  for (int64_t i = 0; i < p.cin; ++i) {
    for (int64_t ky = dy; ky < p.kh; ky += p.sh) {
      for (int64_t kx = dx; kx < p.kw; kx += p.sw) {
        sum.AddTerm(p.w[((i * p.cout + o) * p.kh + ky) * p.kw + kx], x, true);
      }
    }
  }
  return sum;
}

Interval ConvTransposeBounds(const Params& p, Interval x, Recorder* record) {
  HullOf y;
  for (int64_t o = 0; o < p.cout; ++o) {
    HullOf part;
    HullOf acc;
    // Phases beyond the kernel have no tap: only the bias.
    if (p.sh > p.kh || p.sw > p.kw) {
      part.Add(SumBounds(p.bias[o]).part);
      acc.Add(SumBounds(p.bias[o]).acc);
    }
    for (int64_t dy = 0; dy < std::min(p.sh, p.kh); ++dy) {
      for (int64_t dx = 0; dx < std::min(p.sw, p.kw); ++dx) {
        const SumBounds sum = PhaseSum(p, x, o, dy, dx);
        part.Add(sum.part);
        acc.Add(sum.acc);
      }
    }
    record->Set(0, part.hull());
    y.Add(RequantBounds(p, o, record->Set(1, acc.hull()), 2, record));
  }
  return y.hull();
}

Interval RescaleBounds(const Params& p, Interval x, Recorder* record) {
  HullOf y;
  for (int64_t i = 0; i < p.n; ++i) y.Add(RequantBounds(p, i, x, 0, record));
  return y.hull();
}

Interval MulBounds(const Params& p, Interval a, Interval b, Recorder* record) {
  const Interval acc = record->Set(0, Product(a, b));
  const Interval wide = record->Set(1, Product(acc, p.mult[0]));
  return record->Set(2, Shifted(p.rounding(), wide, p.shift[0]));
}

Interval LutBounds(const Params& p, Interval x, Recorder* record) {
  record->Set(0, x);
  if (!Within(x, -32767, 32767)) record->FailBoth(0);
  const auto entry = [](i128 v) { return (std::clamp<i128>(v, -32767, 32767) + 32768) >> 8; };
  const auto first = p.table.begin() + static_cast<int64_t>(entry(x.lo));
  const auto last = p.table.begin() + static_cast<int64_t>(entry(x.hi)) + 1;
  const auto ends = std::minmax_element(first, last + 1);
  return record->Set(1, {*ends.first, *ends.second});
}

Interval SigmoidBounds(const Params& p, Interval x, Recorder* record) {
  record->Set(0, {0, std::max(x.hi, -x.lo)});
  return record->Set(1, {0, static_cast<i128>(1) << p.o});
}

Interval EluBounds(const Params& p, Interval x, Recorder* record) {
  record->Set(0, {0, std::max<i128>(0, -x.lo)});
  const i128 lo = x.lo >= 0 ? x.lo : -(static_cast<i128>(1) << p.f);
  return record->Set(1, {lo, std::max<i128>(0, x.hi)});
}

Interval LeakyBounds(const Params& params, Interval x, Recorder* record) {
  const Interval p =
      record->Set(0, {std::min<i128>(0, x.lo) * params.a, std::min<i128>(0, x.hi) * params.a});
  const Interval shifted = Shifted(Rounding::kHalfUp, p, 16);
  return record->Set(1, {x.lo >= 0 ? x.lo : shifted.lo, x.hi >= 0 ? x.hi : shifted.hi});
}

// Of the absolute values.
Interval Magnitudes(Interval x) {
  return {std::max({i128{0}, x.lo, -x.hi}), std::max(-x.lo, x.hi)};
}

Interval IgdnBounds(const Params& p, Interval x, Recorder* record) {
  const Interval absx = record->Set(0, Magnitudes(x));
  HullOf y;
  for (int64_t i = 0; i < p.c; ++i) {
    i128 sum = p.beta[i];
    for (int64_t j = 0; j < p.c; ++j) sum += p.gamma[i * p.c + j] * absx.hi;
    const Interval acc = record->Set(1, {0, sum});
    const Interval wide = record->Set(2, Product(x, acc));
    y.Add(record->Set(3, Shifted(p.rounding(), wide, p.igdn_shift)));
  }
  return y.hull();
}

Interval ChscaleBounds(const Params& p, Interval x, Recorder* record) {
  HullOf y;
  for (int64_t i = 0; i < p.c; ++i) {
    const Interval wide = record->Set(0, Product(x, p.m[i]));
    y.Add(record->Set(1, Shifted(p.rounding(), wide, p.s[i])));
  }
  return y.hull();
}

// y of section 5.17 from n and D, its endpoints clamped to [-limit, limit].
Interval QuotientBounds(Interval n, Interval d, i128 limit) {
  const i128 lo = RoundDivide(n.lo, n.lo < 0 ? d.lo : d.hi);
  const i128 hi = RoundDivide(n.hi, n.hi < 0 ? d.hi : d.lo);
  return {std::clamp(lo, -limit, limit), std::clamp(hi, -limit, limit)};
}

Interval L2normBounds(const Params& p, Interval x, int64_t channels, Recorder* record) {
  const Interval absx = Magnitudes(x);
  const Interval ss = record->Set(0, {LimitedProduct(channels, absx.lo * absx.lo),
                                      LimitedProduct(channels, absx.hi * absx.hi)});
  const Interval radicand = record->Set(1, {ss.lo + p.eps, ss.hi + p.eps});
  const Interval n = record->Set(2, Product(x, static_cast<i128>(1) << p.k));
  const Interval d = record->Set(3, {FloorSqrt(radicand.lo), FloorSqrt(radicand.hi)});
  return record->Set(4, QuotientBounds(n, d, static_cast<i128>(1) << p.k));
}

Interval LayernormBounds(const Params& p, Interval x, int64_t channels, Recorder* record) {
  record->Set(0, {std::min<i128>(0, channels * x.lo), std::max<i128>(0, channels * x.hi)});
  const i128 width = channels * (x.hi - x.lo);
  const Interval d = record->Set(1, {-width, width});
  const i128 v = std::max(-d.lo, d.hi);
  const Interval ss = record->Set(2, {0, LimitedProduct(channels, LimitedProduct(v, v))});
  const Interval radicand = record->Set(3, {p.eps, ss.hi / channels + p.eps});
  const Interval n = record->Set(4, Product(d, static_cast<i128>(1) << p.k));
  const Interval root = record->Set(5, {FloorSqrt(radicand.lo), FloorSqrt(radicand.hi)});
  const i128 limit = (FloorSqrt(channels) + 1) << (p.k + 1);
  return record->Set(6, QuotientBounds(n, root, limit));
}

Interval CheckBounds(const Params& p, Interval x, Recorder* record) {
  record->Note(0, x);
  Interval y{std::max<i128>(x.lo, p.lo), std::min<i128>(x.hi, p.hi)};
  if (y.lo > y.hi) {
    record->FailBoth(0);
    const i128 nearest = x.lo > p.hi ? p.hi : p.lo;
    y = {nearest, nearest};
  }
  return record->Set(1, y);
}

// The operator's "Named" list (section 5), wide names marked.
std::vector<std::string_view> NamesOf(Op op) {
  switch (op) {
    case Op::kConv:
    case Op::kConvTranspose:
      return {"part", "acc", "~p", "q", "y"};
    case Op::kRescale:
      return {"~p", "q", "y"};
    case Op::kMul:
      return {"acc", "~p", "q"};
    case Op::kLut16:
    case Op::kCheck:
      return {"x", "y"};
    case Op::kSigmoid:
    case Op::kElu:
      return {"exp.negx", "y"};
    case Op::kLeaky:
    case Op::kChscale:
      return {"~p", "y"};
    case Op::kIgdn:
      return {"igdn.absx", "acc", "~p", "y"};
    case Op::kL2norm:
      return {"ss", "~Rr", "~n", "D", "y"};
    case Op::kLayernormC:
      return {"s", "d", "ss", "~Rr", "~n", "D", "y"};
    default:
      return {"y"};
  }
}

Interval NodeBounds(const Node& node, const std::vector<Interval>& args, int64_t channels,
                    Recorder* record) {
  const Params& p = node.params;
  const Interval x = args[0];
  switch (node.op) {
    case Op::kConv:
      return ConvBounds(p, x, record);
    case Op::kConvTranspose:
      return ConvTransposeBounds(p, x, record);
    case Op::kRescale:
      return RescaleBounds(p, x, record);
    case Op::kAdd:
      return record->Set(0, {x.lo + args[1].lo, x.hi + args[1].hi});
    case Op::kMul:
      return MulBounds(p, x, args[1], record);
    case Op::kLut16:
      return LutBounds(p, x, record);
    case Op::kSigmoid:
      return SigmoidBounds(p, x, record);
    case Op::kElu:
      return EluBounds(p, x, record);
    case Op::kLeaky:
      return LeakyBounds(p, x, record);
    case Op::kPad: {
      const bool padded = p.pt != 0 || p.pb != 0 || p.pl != 0 || p.pr != 0;
      return record->Set(0, padded ? Hull(x, {p.v, p.v}) : x);
    }
    case Op::kConcat: {
      Interval hull = x;
      for (const Interval& arg : args) hull = Hull(hull, arg);
      return record->Set(0, hull);
    }
    case Op::kIgdn:
      return IgdnBounds(p, x, record);
    case Op::kChscale:
      return ChscaleBounds(p, x, record);
    case Op::kL2norm:
      return L2normBounds(p, x, channels, record);
    case Op::kLayernormC:
      return LayernormBounds(p, x, channels, record);
    case Op::kClamp:
      return record->Set(0,
                         {std::clamp<i128>(x.lo, p.lo, p.hi), std::clamp<i128>(x.hi, p.lo, p.hi)});
    case Op::kDivc:
      return record->Set(0, {RoundDivide(x.lo, p.d), RoundDivide(x.hi, p.d)});
    case Op::kCheck:
      return CheckBounds(p, x, record);
    case Op::kCrop:
    case Op::kSlice:
    case Op::kPixelShuffle:
    case Op::kMaxpool:
      return record->Set(0, x);
  }
  return x;
}

template <typename T>
bool AllIn(const std::vector<T>& values, int64_t lo, int64_t hi) {
  return std::all_of(values.begin(), values.end(), [&](T v) { return v >= lo && v <= hi; });
}

// The conditions of section 7.2 that `node` breaks, in the table's order.
std::vector<std::string> BrokenConditions(const Node& node) {
  const Params& p = node.params;
  std::vector<std::string> broken;
  const auto require = [&](bool holds, std::string_view name) {
    if (!holds) broken.emplace_back(name);
  };
  switch (node.op) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kRescale:
    case Op::kMul:
      require(AllIn(p.mult, -kI32Max, kI32Max), "rq.mult");
      require(AllIn(p.shift, 0, 62), "rq.shift");
      if (node.op == Op::kMul) break;
      require(AllIn(p.post_bias, kI32Min, kI32Max), "rq.post_bias");
      if (node.op == Op::kRescale) break;
      require(AllIn(p.w, -32768, 32767), "weights");
      break;
    case Op::kChscale:
      require(AllIn(p.m, -kI32Max, kI32Max), "chscale.m");
      require(AllIn(p.s, 0, 62), "chscale.s");
      break;
    case Op::kIgdn:
      require(AllIn(p.gamma, 0, 32767), "igdn.gamma");
      require(p.igdn_shift <= 62, "igdn.shift");
      break;
    case Op::kLeaky:
      require(p.a <= kI32Max, "leaky.a");
      break;
    default:
      break;
  }
  return broken;
}

void AddStateFailures(const Graph& graph, Bounds* bounds) {
  size_t state = 0;
  for (const Input& input : graph.inputs) {
    if (!input.state) continue;
    const uint32_t update = graph.updates[state++];
    if (Within(bounds->values[update].out, input.lo, input.hi)) continue;
    const Failure failure{update, "state"};
    for (std::vector<Failure>* list : {&bounds->fail_acc32, &bounds->fail_acc64}) {
      if (std::find(list->begin(), list->end(), failure) == list->end()) list->push_back(failure);
    }
  }
}

}  // namespace

std::string NamedInterval::CertificateName() const { return (wide ? "~" : "") + std::string(name); }

const Interval& ValueBounds::Named(std::string_view name) const {
  return std::find_if(named.begin(), named.end(),
                      [&](const NamedInterval& entry) { return entry.name == name; })
      ->interval;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "none";
    case Verdict::kAcc64:
      return "acc64";
    case Verdict::kAcc32:
      return "acc32";
  }
  return "";
}

Verdict Bounds::verdict() const {
  if (fail_acc32.empty()) return Verdict::kAcc32;
  return fail_acc64.empty() ? Verdict::kAcc64 : Verdict::kNone;
}

Bounds ComputeBounds(const Graph& graph, const std::vector<int64_t>& channels) {
  Bounds bounds;
  bounds.values.resize(graph.values());
  for (uint32_t id = 0; id < graph.values(); ++id) {
    ValueBounds& value = bounds.values[id];
    value.id = id;
    if (id < graph.inputs.size()) {
      const Input& input = graph.inputs[id];
      value.op = input.state ? "state" : "input";
      Recorder record(&value, {"x"});
      const Interval out = record.Set(0, {input.lo, input.hi});
      record.Finish(out, &bounds);
      continue;
    }
    const Node& node = graph.nodes[id - graph.inputs.size()];
    value.op = OpName(node.op);
    std::vector<Interval> args;
    for (const uint32_t arg : node.args) args.push_back(bounds.values[arg].out);
    Recorder record(&value, NamesOf(node.op));
    const Interval out = NodeBounds(node, args, channels[node.args[0]], &record);
    record.Finish(out, &bounds);
    for (std::string& name : BrokenConditions(node)) {
      bounds.fail_acc32.push_back({id, std::move(name)});
    }
  }
  AddStateFailures(graph, &bounds);
  return bounds;
}

}  // namespace helx::ops

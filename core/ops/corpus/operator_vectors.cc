// vectors/<operator>.jsonl (docs/integer-operators.md, sections 14.7.2 and 14.7.3).
#include <functional>
#include <string>

#include "core/ops/corpus/builder.h"

namespace helx::ops {
namespace {

constexpr int64_t Power(int exponent) { return int64_t{1} << exponent; }

bool HasRqb(Op op) { return op == Op::kConv || op == Op::kConvTranspose || op == Op::kRescale; }

bool HasRq(Op op) { return HasRqb(op) || op == Op::kMul; }

// One operator's file.
class OperatorFile {
 public:
  OperatorFile(Op op, CorpusBuilder* corpus)
      : op_(op), name_(OpName(op)), path_("vectors/" + name_ + ".jsonl"), corpus_(corpus) {}

  void Write() {
    for (int i = 0; i < 12; ++i) Random(i);
    Round();
    ShiftHi();
    Kernels();
    Step8Q();
    Acc32Params();
    Step8();
    Epsilon();
    Ends();
    Neutral();
    Shapes();
  }

 private:
  using Change = std::function<void(BaseCase*)>;

  // A vector of base(op) with the row's change and the standard decodes.
  void Add(const std::string& rest, const Change& change) {
    BaseCase base(op_);
    change(&base);
    AddWith(rest, base, StandardDecodes(base.shape, base.ranges));
  }
  void AddWith(const std::string& rest, const BaseCase& base,
               const std::vector<RawDecode>& decodes) {
    corpus_->AddGraph(path_, name_ + "/" + rest, base.Build(), decodes);
  }

  void Random(int number);

  void Round() {
    const bool scales = HasRq(op_) || op_ == Op::kIgdn || op_ == Op::kChscale;
    if (!scales) return;
    for (int rnd = 0; rnd < kRoundings; ++rnd) {
      const int shifts[] = {1, 31, 62, 63};
      for (int i = 0; i < 4; ++i) {
        const int64_t factor = Power(std::max(0, shifts[i] - 2));
        const std::string name(RoundingName(static_cast<Rounding>(rnd)));
        Add("round/" + name + "/" + std::to_string(i), [&](BaseCase* c) {
          c->OneChannel(3, 3);
          c->SetRange(-6, 6);
          if (op_ == Op::kMul) c->ranges[1] = {1, 1};
          c->p.rnd = rnd;
          c->shift = c->s = shifts[i];
          c->mult = c->m = c->beta = factor;
          c->gamma = 0;
        });
      }
    }
  }

  void ShiftHi() {
    if (op_ != Op::kRescale) return;
    for (int rnd = 0; rnd < kRoundings; ++rnd) {
      for (int i = 0; i < 3; ++i) {
        BaseCase base(op_);
        base.OneChannel(3, 3);
        base.SetRange(kI32Min, kI32Max);
        base.p.rnd = rnd;
        base.mult = Power(30);
        base.shift = 60 + i;
        const std::string name(RoundingName(static_cast<Rounding>(rnd)));
        AddWith("shift_hi/" + name + "/" + std::to_string(i), base,
                {{Given(base.shape, {kI32Min, -3 * Power(29), -Power(30), -Power(29), 0, Power(29),
                                     Power(30), 3 * Power(29), kI32Max})}});
      }
    }
  }

  void Kernels() {
    const auto square = [](BaseCase* c, int64_t kernel) {
      c->p.kh = c->p.kw = kernel;
      c->counting_w = true;
    };
    const auto pads = [](BaseCase* c, int64_t pt, int64_t pb, int64_t pl, int64_t pr) {
      c->p.pt = pt;
      c->p.pb = pb;
      c->p.pl = pl;
      c->p.pr = pr;
    };
    if (op_ == Op::kConv) {
      Add("group/00", [&](BaseCase* c) {
        c->shape = {4, 4, 4};
        c->p.groups = 2;
        c->p.cout = 4;
        square(c, 2);
      });
      Add("depthwise/00", [&](BaseCase* c) {
        c->shape = {4, 4, 4};
        c->p.groups = 4;
        c->p.cout = 4;
        square(c, 3);
        pads(c, 1, 1, 1, 1);
      });
      Add("dilate/00", [&](BaseCase* c) {
        square(c, 2);
        c->p.dh = c->p.dw = 2;
        pads(c, 1, 1, 1, 1);
      });
      Add("pad_asym/00", [&](BaseCase* c) {
        square(c, 3);
        pads(c, 2, 0, 1, 2);
      });
    }
    if (op_ == Op::kConvTranspose) {
      Add("phase_empty/00", [&](BaseCase* c) {
        square(c, 2);
        c->p.sh = c->p.sw = 3;
      });
    }
  }

  void Step8Q() {
    if (!HasRq(op_)) return;
    for (const bool out : {true, false}) {
      Add(out ? "step8_q/out" : "step8_q/in", [&](BaseCase* c) {
        c->OneChannel(1, 1);
        c->mult = -1;
        c->post_bias = -1;
        c->ranges[0] = {out ? kI64Min : -kI64Max, 0};
        if (op_ == Op::kMul) c->ranges[1] = {0, 1};
      });
    }
  }

  void Acc32Params() {
    if (HasRq(op_)) {
      Add("acc32_param/rq.mult/00", [](BaseCase* c) {
        c->OneChannel(1, 1);
        c->SetRange(0, 1);
        c->mult = Power(31);
        c->shift = 8;
      });
      Add("acc32_param/rq.shift/00", [](BaseCase* c) {
        c->shift = 63;
        c->SetRange(-1, 1);
      });
    }
    if (HasRqb(op_)) {
      Add("acc32_param/rq.post_bias/00", [](BaseCase* c) {
        c->OneChannel(1, 1);
        c->SetRange(-2, -1);
        c->post_bias = Power(31);
        c->bias = -1;
      });
    }
    if (op_ == Op::kConv || op_ == Op::kConvTranspose) {
      Add("acc32_param/weights/00", [](BaseCase* c) {
        c->w = 32768;
        c->SetRange(0, 1);
      });
    }
    if (op_ == Op::kChscale) {
      Add("acc32_param/chscale.m/00", [](BaseCase* c) {
        c->SetRange(0, 1);
        c->m = Power(31);
        c->s = 8;
      });
      Add("acc32_param/chscale.s/00", [](BaseCase* c) {
        c->SetRange(-1, 1);
        c->s = 63;
      });
    }
    if (op_ == Op::kIgdn) {
      Add("acc32_param/igdn.gamma/00", [](BaseCase* c) {
        c->SetRange(0, 1);
        c->gamma = 32768;
        c->shift = 16;
      });
      Add("acc32_param/igdn.shift/00", [](BaseCase* c) {
        c->SetRange(0, 1);
        c->shift = 63;
      });
    }
    if (op_ == Op::kLeaky) {
      Add("acc32_param/leaky.a/00", [](BaseCase* c) {
        c->p.a = Power(31);
        c->SetRange(-1, 1);
      });
    }
  }

  void Step8() {
    const auto ranged = [this](const std::string& name, Range first) {
      Add("step8/" + name, [&](BaseCase* c) { c->ranges[0] = first; });
    };
    if (op_ == Op::kSigmoid || op_ == Op::kElu) {
      ranged("out", {kI64Min, 0});
      ranged("in", {-kI64Max, 0});
    }
    if (op_ == Op::kLut16) {
      ranged("lo_out", {-32768, 0});
      ranged("lo_in", {-32767, 0});
      ranged("hi_out", {0, 32768});
      ranged("hi_in", {0, 32767});
    }
    for (const bool out : {true, false}) {
      const std::string name = out ? "step8/out" : "step8/in";
      const int64_t lo = out ? kI64Min : -kI64Max;
      if (op_ == Op::kAdd) {
        Add(name, [&](BaseCase* c) {
          c->ranges = {{0, Power(62)}, {0, out ? Power(62) : Power(62) - 1}};
        });
      }
      if (op_ == Op::kChscale) {
        Add(name, [&](BaseCase* c) {
          c->OneChannel(1, 1);
          c->m = -1;
          c->SetRange(lo, 0);
        });
      }
      if (op_ == Op::kIgdn) {
        Add(name, [&](BaseCase* c) {
          c->beta = c->gamma = 0;
          c->SetRange(lo, 0);
        });
      }
    }
  }

  void Epsilon() {
    const auto with = [this](const std::string& rest, uint64_t eps) {
      Add(rest, [&](BaseCase* c) { c->p.eps = eps; });
    };
    if (op_ == Op::kL2norm) {
      with("eps_small/00", 1);
      with("eps_small/01", uint64_t{1} << 32);
      with("eps/00", uint64_t{1} << 63);
      with("eps/01", UINT64_MAX);
    }
    if (op_ == Op::kLayernormC) {
      with("eps_small/00", 1);
      with("eps/00", UINT64_MAX);
    }
  }

  void Ends() {
    BaseCase base(op_);
    if (op_ == Op::kLut16) {
      base.shape = {1, 1, 7};
      base.SetRange(-32767, 32767);
      AddWith("ends/00", base, {{Given(base.shape, {-32767, -32766, -1, 0, 1, 32766, 32767})}});
    }
    if (op_ == Op::kSigmoid || op_ == Op::kElu) {
      base.shape = {1, 3, 3};
      base.SetRange(-Power(40), Power(40));
      AddWith("ends/00", base,
              {{Given(base.shape, {-Power(40), -Power(13), -Power(13) + 1, -1, 0, 1, Power(13) - 1,
                                   Power(13), Power(40)})}});
    }
  }

  // Rows that leave values as they are, or send them to one value.
  void Neutral() {
    const auto plain = [](BaseCase*) {};
    if (op_ == Op::kCrop || op_ == Op::kPad) Add("zero/00", plain);
    if (op_ == Op::kL2norm) Add("zero/00", [](BaseCase* c) { c->SetRange(0, 0); });
    if (op_ == Op::kLayernormC) Add("const/00", [](BaseCase* c) { c->SetRange(5, 5); });
    if (op_ == Op::kLeaky) Add("relu/00", [](BaseCase* c) { c->p.a = 0; });
    if (op_ == Op::kRescale) {
      Add("identity/00", plain);
      Add("negate/00", [](BaseCase* c) { c->mult = -1; });
    }
    if (op_ == Op::kClamp) Add("point/00", [](BaseCase* c) { c->p.lo = c->p.hi = 7; });
    if (op_ == Op::kDivc) {
      Add("tie/00", [](BaseCase* c) {
        c->p.d = 4;
        c->SetRange(-6, 6);
      });
    }
    if (op_ == Op::kMaxpool) {
      Add("neg_pad/00", [](BaseCase* c) {
        c->p.kh = c->p.kw = 2;
        c->p.pt = c->p.pl = 1;
        c->SetRange(-9, -1);
      });
    }
  }

  void Shapes() {
    if (op_ == Op::kConcat) {
      Add("many/00", [](BaseCase* c) {
        c->shape = {1, 3, 3};
        c->ranges.resize(16);
      });
      BaseCase base(op_);
      std::vector<RawDecode> decodes = StandardDecodes(base.shape, base.ranges);
      decodes.insert(decodes.begin(), {Constant({2, 3, 3}, 0), Constant({2, 2, 3}, 0)});
      AddWith("shape/00", base, decodes);
    }
    if (op_ == Op::kCrop) {
      BaseCase base(op_);
      base.p.pt = base.p.pb = 2;
      AddWith("shape/00", base, {{Constant({2, 4, 3}, 0)}, {Constant({2, 5, 3}, 0)}});
    }
    if (op_ == Op::kSlice) Add("plan/00", [](BaseCase* c) { c->p.c1 = 3; });
    if (op_ == Op::kPixelShuffle) Add("plan/00", [](BaseCase* c) { c->shape = {3, 3, 3}; });
    if (op_ == Op::kCheck) {
      BaseCase base(op_);
      base.p.lo = -50;
      base.p.hi = 50;
      AddWith("refuse/00", base, {{Constant(base.shape, -100)}, {Constant(base.shape, 0)}});
    }
  }

  Op op_;
  std::string name_;
  std::string path_;
  CorpusBuilder* corpus_;
};

// The operator's Draw (section 5), in Params order. `inputs` and `p` start as the base's with the
// drawn C; shape is that of the decodes.
class Drawing {
 public:
  Drawing(Stream* stream, const Shape& shape, const Range& range)
      : stream_(*stream), shape_(shape), range_(range) {}

  Params Draw(Op op, std::vector<Input>* inputs) {
    BaseCase base(op);
    base.shape = shape_;
    p_ = base.BuildParams();
    switch (op) {
      case Op::kConv:
      case Op::kConvTranspose:
        Convolution(op);
        break;
      case Op::kRescale:
        p_.rnd = stream_.Draw(0, 3);
        Records(shape_.c, -Power(20), Power(20));
        break;
      case Op::kMul:
        p_.rnd = stream_.Draw(0, 3);
        p_.mult = {stream_.Draw(1, Power(10))};
        p_.shift = {stream_.Draw(0, 16)};
        break;
      case Op::kLut16:
        for (int32_t& entry : p_.table) entry = static_cast<int32_t>(stream_.Draw(-32768, 32767));
        break;
      case Op::kSigmoid:
        p_.f = stream_.Draw(4, 16);
        p_.o = stream_.Draw(1, 30);
        break;
      case Op::kElu:
        p_.f = stream_.Draw(4, 16);
        break;
      case Op::kLeaky:
        p_.a = stream_.Draw(0, 65536);
        break;
      case Op::kCrop:
        Pads((shape_.h - 1) / 2, (shape_.w - 1) / 2);
        break;
      case Op::kPad:
        Pads(2, 2);
        p_.v = stream_.Draw(-9, 9);
        break;
      case Op::kConcat:
        (*inputs)[1].c = stream_.Draw(1, 4);
        break;
      case Op::kSlice:
        p_.c0 = stream_.Draw(0, shape_.c - 1);
        p_.c1 = stream_.Draw(p_.c0 + 1, shape_.c);
        break;
      case Op::kPixelShuffle:
        p_.r = stream_.Draw(2, 3);
        (*inputs)[0].c = p_.r * p_.r * stream_.Draw(1, 2);
        break;
      case Op::kIgdn:
        p_.rnd = stream_.Draw(0, 3);
        p_.igdn_shift = stream_.Draw(8, 24);
        for (int64_t& v : p_.beta) v = stream_.Draw(0, Power(16));
        for (int32_t& v : p_.gamma) v = static_cast<int32_t>(stream_.Draw(0, 4095));
        break;
      case Op::kChscale:
        p_.rnd = stream_.Draw(0, 3);
        for (int64_t i = 0; i < p_.c; ++i) {
          p_.m[i] = stream_.Draw(-Power(16), Power(16));
          p_.s[i] = stream_.Draw(0, 20);
        }
        break;
      case Op::kL2norm:
      case Op::kLayernormC:
        p_.k = stream_.Draw(1, 15);
        p_.eps = static_cast<uint64_t>(stream_.Draw(1, 1000));
        break;
      case Op::kClamp:
        p_.lo = stream_.Draw(-100, 0);
        p_.hi = stream_.Draw(0, 100);
        break;
      case Op::kMaxpool:
        Window(2);
        Pads(p_.kh - 1, p_.kw - 1);
        break;
      case Op::kDivc:
        p_.d = stream_.Draw(1, 100);
        break;
      case Op::kCheck:
        p_.lo = range_.lo;
        p_.hi = range_.hi;
        break;
      case Op::kAdd:
        break;
    }
    return p_;
  }

 private:
  void Window(int64_t most_stride) {
    p_.kh = stream_.Draw(1, 3);
    p_.kw = stream_.Draw(1, 3);
    p_.sh = stream_.Draw(1, most_stride);
    p_.sw = stream_.Draw(1, most_stride);
  }

  void Pads(int64_t vertical, int64_t horizontal) {
    p_.pt = stream_.Draw(0, vertical);
    p_.pb = stream_.Draw(0, vertical);
    p_.pl = stream_.Draw(0, horizontal);
    p_.pr = stream_.Draw(0, horizontal);
  }

  void Records(int64_t count, int64_t mult_lo, int64_t mult_hi) {
    p_.n = count;
    p_.mult.resize(count);
    p_.post_bias.resize(count);
    p_.shift.resize(count);
    for (int64_t i = 0; i < count; ++i) {
      p_.mult[i] = stream_.Draw(mult_lo, mult_hi);
      p_.post_bias[i] = stream_.Draw(-100, 100);
      p_.shift[i] = stream_.Draw(0, 24);
    }
  }

  void Convolution(Op op) {
    const bool transpose = op == Op::kConvTranspose;
    p_.cout = stream_.Draw(1, 3);
    Window(transpose ? 3 : 2);
    if (!transpose) {
      p_.dh = stream_.Draw(1, 2);
      p_.dw = stream_.Draw(1, 2);
    }
    Pads(p_.kh - 1, p_.kw - 1);
    p_.rnd = stream_.Draw(0, 3);
    Records(p_.cout, 1, Power(20));
    p_.bias = stream_.Draws(p_.cout, -1000, 1000);
    const std::vector<int64_t> w = stream_.Draws(p_.cout * p_.cin * p_.kh * p_.kw, -128, 127);
    p_.w.assign(w.begin(), w.end());
  }

  Stream& stream_;
  Shape shape_;
  Range range_;
  Params p_;
};

void OperatorFile::Random(int number) {
  const std::string id = name_ + "/rand/" + TwoDigits(number);
  Stream stream = corpus_->StreamOf(id);
  Shape shape;
  shape.c = stream.Draw(1, 4);
  shape.h = stream.Draw(1, 6);
  shape.w = stream.Draw(1, 6);
  static constexpr Range kRanges[] = {{-8, 7}, {-128, 127}, {-32767, 32767}};
  const Range range = kRanges[number % 3];
  std::vector<Input> inputs(OpArgs(op_).min, DataInput(shape.c, range));
  const Params params = Drawing(&stream, shape, range).Draw(op_, &inputs);
  std::vector<RawDecode> decodes(2);
  for (RawDecode& decode : decodes) {
    for (const Input& input : inputs) {
      decode.push_back(Drawn({input.c, shape.h, shape.w}, range, &stream));
    }
  }
  decodes[1][0].data.front() = range.lo;
  decodes[1][0].data.back() = range.hi;
  corpus_->AddGraph(path_, id, OneNodeGraph(op_, params, inputs), decodes);
}

}  // namespace

void AddOperatorVectors(CorpusBuilder* corpus) {
  for (int code = kFirstOp; code <= kLastOp; ++code) {
    OperatorFile(static_cast<Op>(code), corpus).Write();
  }
}

}  // namespace helx::ops

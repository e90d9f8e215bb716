#include "core/ops/corpus/sets.h"

#include "core/ops/lower/forms.h"

namespace helx::ops {
namespace {

constexpr Range kByte{-128, 127};

std::string RangeText(int64_t lo, int64_t hi) {
  return JsonObject().Integer("hi", hi).Integer("lo", lo).Str();
}

std::string InputText(const Input& input) {
  return JsonObject()
      .Integer("c", input.c)
      .Integer("fixed", input.fixed)
      .Integer("h_cap", input.h_cap)
      .Integer("hi", input.hi)
      .Integer("lo", input.lo)
      .Integer("w_cap", input.w_cap)
      .Str();
}

Input FixedInput(int64_t channels, int64_t cap, Range range) {
  Input input = DataInput(channels, range);
  input.fixed = true;
  input.h_cap = input.w_cap = cap;
  return input;
}

// A member's text: the form's own keys, max_elems and pin.
std::string MemberText(JsonObject json, std::string_view form, std::string_view pin) {
  return json.Text("form", form).Integer("max_elems", 4096).Text("pin", pin).Str() + "\n";
}

// Draws the layers of a WHM member.
class WhmLayers {
 public:
  explicit WhmLayers(Stream* stream) : stream_(*stream) {}

  WhmLayers& Conv(Op op, int64_t cin, int64_t cout, int64_t kernel, int64_t stride, int64_t pad) {
    Params p;
    p.cin = cin;
    p.cout = cout;
    p.kh = p.kw = kernel;
    p.sh = p.sw = stride;
    p.pt = p.pb = p.pl = p.pr = pad;
    DrawConv(&stream_, &p, /*draw_post_bias=*/true);
    return Add(op, p);
  }
  WhmLayers& Clamp(int64_t lo, int64_t hi) { return Add(Op::kClamp, LimitParams(lo, hi)); }
  WhmLayers& Igdn(int64_t channels) {
    Params p;
    p.c = channels;
    p.rnd = stream_.Draw(0, 3);
    p.igdn_shift = stream_.Draw(8, 24);
    p.beta = stream_.Draws(channels, 0, 65536);
    const std::vector<int64_t> gamma = stream_.Draws(channels * channels, 0, 4095);
    p.gamma.assign(gamma.begin(), gamma.end());
    return Add(Op::kIgdn, p);
  }
  std::string Text() const { return JsonArray(layers_); }

  // rnd, the records, bias and w of a conv whose dims are set.
  static void DrawConv(Stream* stream, Params* p, bool draw_post_bias) {
    p->rnd = stream->Draw(0, 3);
    p->n = p->cout;
    for (int64_t i = 0; i < p->n; ++i) {
      p->mult.push_back(stream->Draw(1, 1 << 20));
      p->post_bias.push_back(draw_post_bias ? stream->Draw(-100, 100) : 0);
      p->shift.push_back(stream->Draw(0, 24));
    }
    DrawSum(stream, p);
  }
  // bias and w.
  static void DrawSum(Stream* stream, Params* p) {
    p->bias = stream->Draws(p->cout, -1000, 1000);
    const std::vector<int64_t> w = stream->Draws(p->cout * p->cin * p->kh * p->kw, -128, 127);
    p->w.assign(w.begin(), w.end());
  }

 private:
  WhmLayers& Add(Op op, const Params& params) {
    layers_.push_back(LayerText(op, params, /*bare=*/false));
    return *this;
  }

  Stream& stream_;
  std::vector<std::string> layers_;
};

JsonObject Whm(const Input& in, const std::string& layers, const std::string& out) {
  return JsonObject().Raw("in", InputText(in)).Raw("layers", layers).Raw("out", out);
}

class SetMaker {
 public:
  explicit SetMaker(HashFunction hash) : hash_(hash) {}

  std::vector<CorpusSet> All() {
    ConvA();
    HyperA();
    WorldA();
    GruA();
    MlpA();
    TfliteA();
    Falsification();
    return std::move(sets_);
  }

 private:
  void Begin(const std::string& name, std::string_view lowering) {
    sets_.push_back({name, FindLowering(lowering), {}, {}, {}});
  }
  Stream MemberStream(const std::string& member) const {
    return Stream("set/" + sets_.back().name + "/" + member, hash_);
  }
  void AddMember(const std::string& member, std::string text) {
    sets_.back().members.push_back({member, std::move(text)});
  }
  void AddWhm(const std::string& member, std::string_view form, const Input& in,
              const std::string& layers, const std::string& out) {
    AddMember(member, MemberText(Whm(in, layers, out), form, ""));
  }

  void ConvA() {
    Begin("conv_a", "int_conv/1");
    Stream stream = MemberStream("net.whm");
    const std::string layers = WhmLayers(&stream)
                                   .Conv(Op::kConv, 2, 3, 3, 1, 1)
                                   .Clamp(0, 255)
                                   .Conv(Op::kConv, 3, 2, 1, 1, 0)
                                   .Text();
    AddWhm("net.whm", "int_conv", DataInput(2, kByte), layers, "null");
  }

  void HyperA() {
    Begin("hyper_a", "int_hyper/1");
    Stream h_stream = MemberStream("h_s.whm");
    const std::string h = WhmLayers(&h_stream)
                              .Conv(Op::kConvTranspose, 2, 2, 4, 2, 1)
                              .Clamp(0, 255)
                              .Conv(Op::kConv, 2, 2, 3, 1, 1)
                              .Clamp(0, 15)
                              .Text();
    AddWhm("h_s.whm", "int_hyper_h", DataInput(2, kByte), h, RangeText(0, 15));
    Stream g_stream = MemberStream("g_s.whm");
    const std::string g = WhmLayers(&g_stream)
                              .Conv(Op::kConvTranspose, 2, 2, 4, 2, 1)
                              .Clamp(-4096, 4095)
                              .Igdn(2)
                              .Clamp(-4096, 4095)
                              .Conv(Op::kConv, 2, 1, 3, 1, 1)
                              .Clamp(0, 255)
                              .Text();
    AddWhm("g_s.whm", "int_hyper_g", DataInput(2, kByte), g, "null");
  }

  void WorldA() {
    Begin("world_a", "world_model/1");
    sets_.back().fields = {{"c", 2}};
    Stream stream = MemberStream("T.whm");
    const std::string init = JsonIntegers(stream.Draws(8, -50, 50));
    const std::string state = JsonObject()
                                  .Integer("h", 2)
                                  .Integer("hi", 100)
                                  .Raw("init", init)
                                  .Integer("lo", -100)
                                  .Integer("w", 2)
                                  .Str();
    const std::string layers =
        WhmLayers(&stream).Conv(Op::kConv, 3, 2, 3, 1, 1).Clamp(-50, 50).Text();
    AddMember("T.whm", MemberText(Whm(FixedInput(1, 2, kByte), layers, "null")
                                      .Raw("limit", RangeText(-100, 100))
                                      .Raw("state", state),
                                  "world_t", ""));
    Stream g_stream = MemberStream("g_s.whm");
    const std::string g =
        WhmLayers(&g_stream).Conv(Op::kConvTranspose, 2, 1, 4, 2, 1).Clamp(0, 255).Text();
    AddWhm("g_s.whm", "world_g", DataInput(2, kByte), g, "null");
  }

  void GruA() {
    Begin("gru_a", "gru_cell/1");
    Stream stream = MemberStream("cell.whm");
    const auto gate = [&stream] {
      Params p;
      p.cin = 4;
      p.cout = 2;
      p.rnd = stream.Draw(0, 3);
      p.n = 2;
      p.mult = {1, 1};
      p.post_bias = {0, 0};
      p.shift = {6, 6};
      WhmLayers::DrawSum(&stream, &p);
      return LayerText(Op::kConv, p, /*bare=*/true);
    };
    const std::string z = gate();
    const std::string r = gate();
    const std::string n = gate();
    JsonObject json;
    json.Integer("f", 8)
        .Raw("h", JsonObject().Integer("c", 2).Integer("init", 0).Str())
        .Raw("in", InputText(FixedInput(2, 1, {-256, 256})))
        .Raw("n", n)
        .Integer("o", 8)
        .Raw("r", r)
        .Raw("z", z);
    AddMember("cell.whm", MemberText(json, "gru_cell", ""));
  }

  void MlpA() {
    Begin("mlp_a", "int_mlp/1");
    Stream stream = MemberStream("net.whm");
    const auto layer = [&stream](int64_t cin, int64_t cout, const std::string& act) {
      Params p;
      p.cin = cin;
      p.cout = cout;
      WhmLayers::DrawConv(&stream, &p, /*draw_post_bias=*/false);
      return JsonObject()
          .Raw("act", act)
          .Raw("bias", JsonIntegers(p.bias))
          .Integer("cout", cout)
          .Raw("mult", JsonIntegers(p.mult))
          .Integer("rnd", p.rnd)
          .Raw("shift", JsonIntegers(p.shift))
          .Raw("w", JsonIntegers(p.w))
          .Str();
    };
    const std::string first = layer(4, 3, RangeText(0, 255));
    const std::string second = layer(3, 2, "null");
    AddWhm("net.whm", "int_mlp", FixedInput(4, 1, kByte), JsonArray({first, second}), "null");
  }

  void TfliteA();

  // Section 14.3's two sets: one 1x1 conv each, n 1, half_up, post_bias 0.
  void FalsificationSet(const std::string& name, Verdict claim, const std::string& pin, Input input,
                        const std::vector<int32_t>& w, int64_t bias, int64_t shift) {
    Begin(name, "int_conv/1");
    sets_.back().claim = claim;
    Params p = RequantParams(Rounding::kHalfUp, 1, shift, 0);
    p.cin = static_cast<int64_t>(w.size());
    p.cout = 1;
    p.bias = {bias};
    p.w = w;
    AddMember("net.whm", MemberText(Whm(input, JsonArray({LayerText(Op::kConv, p, false)}), "null"),
                                    "int_conv", pin));
  }

  void Falsification() {
    FalsificationSet("overflow_acc64", Verdict::kAcc64, "", FixedInput(1, 1, {0, int64_t{1} << 32}),
                     {1 << 30}, int64_t{1} << 62, 32);
    FalsificationSet("claim_acc32", Verdict::kAcc32, "acc32", FixedInput(2, 1, {0, 65536}),
                     {32767, 1}, 0, 16);
  }

  HashFunction hash_;
  std::vector<CorpusSet> sets_;
};

// Draws the tensors of tflite_a in order: per op weights, bias, out.
class TfqMaker {
 public:
  explicit TfqMaker(Stream stream) : stream_(std::move(stream)) {}

  using Dims = std::vector<int64_t>;

  // A tensor with its own scale and zero point; gives its index.
  int64_t Activation(const Dims& shape) {
    const int64_t scale = DrawScale();
    const int64_t zp = stream_.Draw(-128, 127);
    return Add(shape, {scale}, zp, "int8", "null");
  }
  // A tensor with another's scale and zero point.
  int64_t Like(int64_t other, const Dims& shape) {
    return Add(shape, {scales_[other]}, zps_[other], "int8", "null");
  }
  int64_t Weights(const Dims& shape, int64_t scales) {
    std::vector<int64_t> drawn;
    for (int64_t i = 0; i < scales; ++i) drawn.push_back(DrawScale());
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    return Add(shape, drawn, 0, "int8", JsonIntegers(stream_.Draws(count, -127, 127)));
  }
  int64_t Bias(int64_t count) {
    return Add({count}, {}, 0, "int32", JsonIntegers(stream_.Draws(count, -1000, 1000)));
  }
  void Op(const std::string& name, const std::string& act, const std::vector<int64_t>& in,
          int64_t out, const std::string& opts) {
    ops_.push_back(JsonObject()
                       .Text("act", act)
                       .Raw("in", JsonIntegers(in))
                       .Text("op", name)
                       .Raw("opts", opts)
                       .Integer("out", out)
                       .Str());
  }
  static std::string Window(int64_t kernel, int64_t stride, const std::string& pad) {
    return JsonObject()
        .Integer("dh", 1)
        .Integer("dw", 1)
        .Integer("kh", kernel)
        .Integer("kw", kernel)
        .Text("pad", pad)
        .Integer("sh", stride)
        .Integer("sw", stride)
        .Str();
  }
  std::string Text(int64_t in, int64_t out) const {
    return JsonObject()
               .Text("form", "tfq")
               .Integer("in", in)
               .Raw("ops", JsonArray(ops_))
               .Integer("out", out)
               .Text("rounding", "double")
               .Raw("tensors", JsonArray(tensors_))
               .Str() +
           "\n";
  }

 private:
  int64_t DrawScale() { return stream_.Draw(1006632960, 1023410176); }
  int64_t Add(const Dims& shape, const std::vector<int64_t>& scale, int64_t zp,
              const std::string& type, const std::string& data) {
    tensors_.push_back(JsonObject()
                           .Raw("data", data)
                           .Raw("scale", JsonIntegers(scale))
                           .Raw("shape", JsonIntegers(shape))
                           .Text("type", type)
                           .Integer("zp", zp)
                           .Str());
    scales_.push_back(scale.empty() ? 0 : scale.front());
    zps_.push_back(zp);
    return static_cast<int64_t>(tensors_.size()) - 1;
  }

  Stream stream_;
  std::vector<std::string> tensors_;
  std::vector<std::string> ops_;
  std::vector<int64_t> scales_;
  std::vector<int64_t> zps_;
};

void SetMaker::TfliteA() {
  Begin("tflite_a", "tflite_int8/1");
  TfqMaker tfq(MemberStream("model.tfq"));
  const int64_t in = tfq.Activation({1, 4, 4, 2});
  const int64_t conv_w = tfq.Weights({3, 3, 3, 2}, 3);
  const int64_t conv_b = tfq.Bias(3);
  const int64_t conv = tfq.Activation({1, 4, 4, 3});
  tfq.Op("CONV_2D", "relu6", {in, conv_w, conv_b}, conv, TfqMaker::Window(3, 1, "same"));
  const int64_t deep_w = tfq.Weights({1, 3, 3, 3}, 3);
  const int64_t deep_b = tfq.Bias(3);
  const int64_t deep = tfq.Activation({1, 4, 4, 3});
  tfq.Op("DEPTHWISE_CONV_2D", "none", {conv, deep_w, deep_b}, deep, TfqMaker::Window(3, 1, "same"));
  const int64_t sum = tfq.Activation({1, 4, 4, 3});
  tfq.Op("ADD", "relu", {conv, deep}, sum, "{}");
  const int64_t padded = tfq.Like(sum, {1, 5, 5, 3});
  tfq.Op("PAD", "none", {sum}, padded,
         JsonObject().Integer("pb", 1).Integer("pl", 0).Integer("pr", 1).Integer("pt", 0).Str());
  const int64_t largest = tfq.Like(padded, {1, 4, 4, 3});
  tfq.Op("MAX_POOL_2D", "none", {padded}, largest, TfqMaker::Window(2, 1, "valid"));
  const int64_t mean = tfq.Like(largest, {1, 2, 2, 3});
  tfq.Op("AVERAGE_POOL_2D", "none", {largest}, mean, TfqMaker::Window(2, 2, "valid"));
  const int64_t flat = tfq.Like(mean, {1, 12});
  tfq.Op("RESHAPE", "none", {mean}, flat, "{}");
  const int64_t full_w = tfq.Weights({2, 12}, 1);
  const int64_t full_b = tfq.Bias(2);
  const int64_t out = tfq.Activation({1, 2});
  tfq.Op("FULLY_CONNECTED", "none", {flat, full_w, full_b}, out, "{}");
  AddMember("model.tfq", tfq.Text(in, out));
}

}  // namespace

std::vector<CorpusSet> GenerateSets(HashFunction hash) { return SetMaker(hash).All(); }

}  // namespace helx::ops

// graphs/phase.jsonl, state.jsonl, load.jsonl and run.jsonl (docs/integer-operators.md, sections
// 14.7.4 to 14.7.7).
#include <algorithm>

#include "core/ops/corpus/builder.h"
#include "core/ops/lower/forms.h"
#include "core/ops/phase_form.h"
#include "core/ops/whg1.h"

namespace helx::ops {
namespace {

constexpr Rounding kHalfUp = Rounding::kHalfUp;

// Offsets in the file of base(rescale): header, one input, one node, one output, one block.
constexpr size_t kInput = 64;
constexpr size_t kNode = 112;
constexpr size_t kOutput = 124;
constexpr size_t kBlock = 128;
constexpr size_t kRnd = kBlock + 4;
constexpr size_t kCount = kRnd + 1;
constexpr size_t kMult = kCount + 4;
constexpr size_t kShift = kMult + 16;

Graph BaseGraph(Op op) { return BaseCase(op).Build(); }

Params BaseParams(Op op) { return BaseCase(op).BuildParams(); }

void Patch(std::string* bytes, size_t at, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

void PatchCrcs(std::string* bytes) {
  Patch(bytes, 40, Crc32(std::string_view(*bytes).substr(64)), 4);
  Patch(bytes, 60, Crc32(std::string_view(*bytes).substr(0, 60)), 4);
}

// Writes refused files, each base(rescale)'s with one change.
class LoadFile {
 public:
  explicit LoadFile(CorpusBuilder* corpus)
      : corpus_(corpus), base_(WriteWhg1(BaseGraph(Op::kRescale))) {}

  void Write() {
    Step1();
    Step2();
    Step3And4();
    Step5And6();
    Step7();
    CropPlan();
    Step8();
  }

 private:
  static constexpr const char* kPath = "graphs/load.jsonl";

  void Refused(const std::string& rest, const std::string& bytes) {
    corpus_->AddGraph(kPath, "load/" + rest, bytes, {});
  }
  // One field's new value, CRCs recomputed.
  void Field(const std::string& rest, size_t at, uint64_t value, int width) {
    std::string bytes = base_;
    Patch(&bytes, at, value, width);
    PatchCrcs(&bytes);
    Refused(rest, bytes);
  }
  void Added(const std::string& rest, const Graph& graph, const std::vector<RawDecode>& decodes) {
    corpus_->AddGraph(kPath, "load/" + rest, graph, decodes);
  }

  void Step1() {
    Refused("step1/short", base_.substr(0, 63));
    Field("step1/magic", 0, 0, 4);
    Field("step1/version", 4, 2, 2);
    Field("step1/reserved", 6, 1, 2);
    Field("step1/nodes", 12, 0, 4);
    Field("step1/max_elems", 24, 0, 8);
    Field("step1/file_len", 36, base_.size() + 1, 4);
    std::string trailing = base_ + '\0';
    PatchCrcs(&trailing);
    Refused("step1/trailing", trailing);
  }

  void Step2() {
    std::string body = base_;
    body.back() = static_cast<char>(body.back() ^ 1);
    Refused("step2/body", body);
    std::string header = base_;
    header[60] = static_cast<char>(header[60] ^ 1);
    Refused("step2/header", header);
  }

  void Step3And4() {
    Field("step3/kind", kInput, 2, 1);
    Field("step3/fixed", kInput + 1, 2, 1);
    Field("step3/c", kInput + 4, 0, 4);
    std::string range = base_;
    Patch(&range, kInput + 16, 1, 8);
    Patch(&range, kInput + 24, 0, 8);
    PatchCrcs(&range);
    Refused("step3/range", range);
    Field("step3/init", kInput + 36, 8, 4);
    std::string state = base_;
    state.insert(kBlock, 4, '\0');
    Patch(&state, 20, 1, 4);
    Patch(&state, 36, state.size(), 4);
    PatchCrcs(&state);
    Refused("step3/state", state);

    Field("step4/op0", kNode, 0, 2);
    Field("step4/op23", kNode, 23, 2);
    Field("step4/args", kNode + 2, 2, 2);
    Field("step4/off", kNode + 4, 1, 4);
    Field("step4/self", kBlock, 1, 4);
  }

  void Step5And6() {
    Field("step5/rnd", kRnd, 4, 1);
    Field("step5/shift", kShift, 64, 1);
    Field("step5/n0", kCount, 0, 4);
    Field("step5/mult", kMult, static_cast<uint64_t>(kI64Min), 8);
    std::string extra = base_ + '\0';
    Patch(&extra, kNode + 8, base_.size() - kBlock + 1, 4);
    Patch(&extra, 32, base_.size() - kBlock + 1, 4);
    Patch(&extra, 36, extra.size(), 4);
    PatchCrcs(&extra);
    Refused("step5/extra", extra);

    Field("step6/id", kOutput, 2, 4);
    Graph unused = BaseGraph(Op::kRescale);
    unused.nodes.push_back(unused.nodes.front());
    Refused("step6/unused", WriteWhg1(unused));
  }

  void Step7() {
    Graph three = BaseGraph(Op::kRescale);
    Params& p = three.nodes[0].params;
    p.n = 3;
    p.mult.assign(3, 1);
    p.post_bias.assign(3, 0);
    p.shift.assign(3, 0);
    Refused("step7/n3", WriteWhg1(three));

    Graph large = BaseGraph(Op::kRescale);
    large.inputs[0].fixed = true;
    large.inputs[0].h_cap = large.inputs[0].w_cap = 3;
    large.max_elems = 17;
    Refused("step7/max_elems", WriteWhg1(large));

    Graph state = BaseGraph(Op::kRescale);
    Input input = state.inputs[0];
    input.state = input.fixed = true;
    input.h_cap = input.w_cap = 3;
    input.init.assign(18, 0);
    state.inputs.push_back(input);
    Params crop = BaseParams(Op::kCrop);
    crop.pt = 1;
    const uint32_t cropped = AddNode(&state, Op::kCrop, {1}, crop);
    state.outputs = {2};
    state.updates = {cropped};
    Refused("step7/state", WriteWhg1(state));
  }

  void CropPlan() {
    const Shape shape{2, 3, 3};
    for (const bool ok : {true, false}) {
      Graph graph = BaseGraph(Op::kCrop);
      graph.inputs[0].fixed = true;
      graph.inputs[0].h_cap = graph.inputs[0].w_cap = 3;
      Params& p = graph.nodes[0].params;
      p.pt = ok ? 1 : 2;
      p.pb = 1;
      p.pl = p.pr = ok ? 1 : 0;
      const std::vector<RawDecode> decodes = {{Ramp(shape, {-100, 100})}};
      Added(ok ? "crop_plan/ok" : "crop_plan/refused", graph, decodes);
    }
  }

  // rescale (base) on [range], then check [limits].
  void CheckVector(const std::string& rest, Range range, Range limits) {
    BaseCase base(Op::kRescale);
    base.SetRange(range.lo, range.hi);
    Graph graph = base.Build();
    graph.outputs = {AddNode(&graph, Op::kCheck, {1}, LimitParams(limits.lo, limits.hi))};
    Added(rest, graph, StandardDecodes(base.shape, base.ranges));
  }

  void Step8() {
    const int64_t far = int64_t{1} << 40;
    CheckVector("step8/check_empty", {0, 10}, {20, 30});
    CheckVector("step8/check_point", {0, far}, {far, 2 * far});
    BaseCase conv(Op::kConv);
    conv.OneChannel(1, 1);
    conv.SetRange(0, int64_t{1} << 32);
    conv.w = int64_t{1} << 30;
    conv.bias = int64_t{1} << 62;
    Added("step8/acc_i64", conv.Build(), StandardDecodes(conv.shape, conv.ranges));
  }

  CorpusBuilder* corpus_;
  std::string base_;
};

Graph RunGraph() {
  Graph graph;
  graph.max_elems = 20;
  Input x = DataInput(2, {-100, 100});
  x.h_cap = x.w_cap = 4;
  Input fixed = DataInput(1, {0, 9});
  fixed.fixed = true;
  fixed.h_cap = fixed.w_cap = 2;
  graph.inputs = {x, fixed};
  BaseCase conv(Op::kConv);
  conv.p.cout = 1;
  conv.p.kh = conv.p.kw = 2;
  const uint32_t sum = AddNode(&graph, Op::kConv, {0}, conv.BuildParams());
  const uint32_t check = AddNode(&graph, Op::kCheck, {sum}, LimitParams(-500, 500));
  const uint32_t copy = AddNode(&graph, Op::kRescale, {1}, BaseParams(Op::kRescale));
  graph.outputs = {check, copy};
  return graph;
}

RawTensor WithElement(RawTensor tensor, size_t index, int64_t value) {
  tensor.data[index] = value;
  return tensor;
}

Input ScalarInput(Range range) {
  Input input = DataInput(1, range);
  input.fixed = true;
  input.h_cap = input.w_cap = 1;
  return input;
}

Input StateInput(const Shape& shape, Range range, std::vector<int64_t> init) {
  Input input = DataInput(shape.c, range);
  input.state = input.fixed = true;
  input.h_cap = shape.h;
  input.w_cap = shape.w;
  input.init = std::move(init);
  return input;
}

std::vector<RawDecode> ScalarDecodes(const std::vector<int64_t>& values) {
  std::vector<RawDecode> decodes;
  for (const int64_t value : values) decodes.push_back({Constant({1, 1, 1}, value)});
  return decodes;
}

// clamp [-25, 25] of x + state; with a check [-20, 20] of it when `checked`.
Graph SumGraph(bool checked) {
  Graph graph;
  graph.inputs = {ScalarInput({-11, 11}), StateInput({1, 1, 1}, {-25, 25}, {3})};
  const uint32_t sum = AddNode(&graph, Op::kAdd, {0, 1}, {});
  uint32_t last = AddNode(&graph, Op::kClamp, {sum}, LimitParams(-25, 25));
  if (checked) last = AddNode(&graph, Op::kCheck, {last}, LimitParams(-20, 20));
  graph.outputs = {last};
  graph.updates = {last};
  return graph;
}

}  // namespace

void AddLoadVectors(CorpusBuilder* corpus) { LoadFile(corpus).Write(); }

void AddRunVectors(CorpusBuilder* corpus) {
  const Graph graph = RunGraph();
  const RawTensor f = Constant({1, 2, 2}, 0);
  const RawTensor x = Constant({2, 2, 2}, 0);
  const auto add = [&](const std::string& rest, RawDecode first) {
    corpus->AddGraph("graphs/run.jsonl", "run/" + rest, graph, {std::move(first), {x, f}});
  };
  const auto zeros = [](int64_t c, int64_t h, int64_t w) { return Constant({c, h, w}, 0); };
  RawTensor seven = x;
  seven.data.pop_back();
  add("step1/count", {x});
  add("step1/dims", {RawTensor{{2, 2}, {0, 0, 0, 0}}, f});
  add("step1/length", {seven, f});
  add("step2/low", {WithElement(x, 0, -101), f});
  add("step2/high", {x, WithElement(f, 3, 10)});
  add("step3/caps_h", {zeros(2, 5, 2), f});
  add("step3/caps_w", {zeros(2, 2, 5), f});
  add("step3/shape_c", {zeros(1, 2, 2), f});
  add("step3/shape_fixed", {x, zeros(1, 2, 1)});
  add("step3/shape_node", {zeros(2, 1, 2), f});
  add("step3/max_elems", {zeros(2, 4, 3), f});
  add("step4/check", {Constant({2, 2, 2}, 100), f});
  add("order/1_2", {WithElement(x, 0, -101)});
  add("order/2_3", {WithElement(zeros(2, 5, 2), 0, -101), f});
  add("order/3_4", {Constant({2, 4, 3}, 100), f});
  add("order3/caps_shape", {zeros(1, 5, 2), f});
  add("order3/shape_max", {zeros(3, 4, 4), f});
  add("order3/caps_max", {zeros(2, 5, 4), f});
}

void AddStateVectors(CorpusBuilder* corpus) {
  const std::string path = "graphs/state.jsonl";
  corpus->AddGraph(path, "state/sum/00", SumGraph(false), ScalarDecodes({10, 10, 10, -10, -10}));
  corpus->AddGraph(path, "state/refuse/00", SumGraph(true), ScalarDecodes({10, 10, 5, 12, -1}));

  Graph two;
  two.inputs = {ScalarInput({-11, 11}), StateInput({1, 1, 1}, {-9, 9}, {1}),
                StateInput({1, 1, 1}, {-9, 9}, {2})};
  two.outputs = {AddNode(&two, Op::kAdd, {0, 1}, {}), AddNode(&two, Op::kAdd, {0, 2}, {})};
  two.updates = {2, 1};
  corpus->AddGraph(path, "state/two/00", two, ScalarDecodes({0, 0, 0, 0}));

  Graph init;
  init.inputs = {StateInput({1, 2, 2}, {-9, 9}, {1, 2, 3, 4})};
  const uint32_t next = AddNode(&init, Op::kRescale, {0}, RequantParams(kHalfUp, 1, 0, 1));
  const uint32_t clamp = AddNode(&init, Op::kClamp, {next}, LimitParams(-9, 9));
  init.outputs = {clamp};
  init.updates = {clamp};
  corpus->AddGraph(path, "state/init/00", init, std::vector<RawDecode>(3));
}

void AddPhaseVectors(CorpusBuilder* corpus) {
  for (int64_t stride = 2; stride <= 3; ++stride) {
    for (int64_t kernel = 1; kernel <= 5; ++kernel) {
      const std::string id =
          "phase/s" + std::to_string(stride) + "k" + std::to_string(kernel) + "/00";
      Stream stream = corpus->StreamOf(id);
      Params p;
      p.kh = p.kw = kernel;
      p.sh = p.sw = stride;
      p.pt = p.pl = std::min<int64_t>(1, (kernel - 1) / 2);
      p.pb = p.pr = stride == 2 ? p.pt : 0;
      p.n = 2;
      for (int i = 0; i < 2; ++i) {
        p.mult.push_back(stream.Draw(1, 1000));
        p.post_bias.push_back(stream.Draw(-50, 50));
        p.shift.push_back(stream.Draw(0, 12));
      }
      p.bias = stream.Draws(2, -1000, 1000);
      const std::vector<int64_t> w = stream.Draws(4 * kernel * kernel, -128, 127);
      p.w.assign(w.begin(), w.end());
      Graph graph;
      graph.inputs = {DataInput(2, {-100, 100})};
      const uint32_t direct = AddNode(&graph, Op::kConvTranspose, {0}, p);
      const uint32_t phases = AddPhaseForm(p, 0, &graph);
      graph.outputs = {direct, phases};
      const RawDecode first = {Drawn({2, 3, 4}, {-100, 100}, &stream)};
      const RawDecode second = {Drawn({2, 1, 1}, {-100, 100}, &stream)};
      corpus->AddGraph("graphs/phase.jsonl", id, graph, {first, second});
    }
  }
}

}  // namespace helx::ops

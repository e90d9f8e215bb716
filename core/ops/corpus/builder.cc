#include "core/ops/corpus/builder.h"

#include <algorithm>
#include <numeric>

#include "core/ops/whg1.h"

namespace helx::ops {

void CorpusBuilder::AddGraph(const std::string& path, const std::string& id,
                             const std::string& whg1, const std::vector<RawDecode>& decodes) {
  files_[path] += GraphVectorLine(id, whg1, decodes);
  npu_[path] += NpuLine(path, id, whg1);
}

void CorpusBuilder::AddGraph(const std::string& path, const std::string& id, const Graph& graph,
                             const std::vector<RawDecode>& decodes) {
  AddGraph(path, id, WriteWhg1(graph), decodes);
}

void CorpusBuilder::AddStage(const std::string& path, const std::string& id, std::string_view op,
                             const std::string& in) {
  files_[path] += StageVectorLine(id, op, in);
}

FileMap CorpusBuilder::Finish() {
  std::string& npu = files_["npu.jsonl"];
  for (const auto& [path, lines] : npu_) npu += lines;
  return std::move(files_);
}

BaseCase::BaseCase(Op operation) : op(operation) {
  ranges.resize(OpArgs(op).min);
  if (op == Op::kPixelShuffle) shape.c = 4;
}

void BaseCase::OneChannel(int64_t h, int64_t width) {
  shape = {1, h, width};
  p.cout = 1;
}

void BaseCase::SetRange(int64_t lo, int64_t hi) {
  for (Range& range : ranges) range = {lo, hi};
}

Params BaseCase::BuildParams() const {
  Params out = p;
  out.cin = shape.c;
  out.c = shape.c;
  out.n = 1;
  out.mult = {mult};
  out.post_bias = {post_bias};
  out.shift = {shift};
  out.igdn_shift = shift;
  out.bias.assign(out.cout, bias);
  const int64_t per_output = op == Op::kConv ? out.cin / out.groups : out.cin;
  out.w.assign(out.cout * per_output * out.kh * out.kw, static_cast<int32_t>(w));
  if (counting_w) std::iota(out.w.begin(), out.w.end(), 1);
  out.beta.assign(out.c, beta);
  out.gamma.assign(out.c * out.c, static_cast<int32_t>(gamma));
  out.m.assign(out.c, m);
  out.s.assign(out.c, s);
  out.table.resize(257);
  for (int j = 0; j < 257; ++j) out.table[j] = 128 * (j - 128);
  return out;
}

Graph BaseCase::Build() const {
  std::vector<Input> inputs;
  for (const Range& range : ranges) inputs.push_back(DataInput(shape.c, range));
  return OneNodeGraph(op, BuildParams(), inputs);
}

Graph OneNodeGraph(Op op, const Params& params, const std::vector<Input>& inputs) {
  Graph graph;
  graph.inputs = inputs;
  Node node{op, std::vector<uint32_t>(inputs.size()), params};
  std::iota(node.args.begin(), node.args.end(), 0);
  graph.nodes.push_back(std::move(node));
  graph.outputs = {static_cast<uint32_t>(inputs.size())};
  return graph;
}

Input DataInput(int64_t channels, Range range) {
  Input input;
  input.c = channels;
  input.lo = range.lo;
  input.hi = range.hi;
  return input;
}

RawTensor Given(const Shape& shape, std::vector<int64_t> data) {
  return {{shape.c, shape.h, shape.w}, std::move(data)};
}

RawTensor Constant(const Shape& shape, int64_t value) {
  return Given(shape, std::vector<int64_t>(shape.elements(), value));
}

RawTensor Drawn(const Shape& shape, Range range, Stream* stream) {
  return Given(shape, stream->Draws(shape.elements(), range.lo, range.hi));
}

RawTensor Ramp(const Shape& shape, Range range) {
  const int64_t count = shape.elements();
  const i128 span = static_cast<i128>(range.hi) - range.lo;
  std::vector<int64_t> data(count);
  for (int64_t i = 0; i < count; ++i) {
    data[i] = static_cast<int64_t>(range.lo + i * span / std::max<int64_t>(1, count - 1));
  }
  return Given(shape, std::move(data));
}

std::vector<RawDecode> StandardDecodes(const Shape& shape, const std::vector<Range>& ranges) {
  RawDecode low, high, ramp;
  for (const Range& range : ranges) {
    low.push_back(Constant(shape, range.lo));
    high.push_back(Constant(shape, range.hi));
    ramp.push_back(Ramp(shape, range));
  }
  return {low, high, ramp};
}

std::string TwoDigits(int64_t value) {
  std::string text = std::to_string(value);
  return text.size() < 2 ? "0" + text : text;
}

}  // namespace helx::ops

// What the corpus's generators share (docs/integer-operators.md, section 14.7): the files being
// written, base(op) and the standard decodes.
#ifndef HELX_CORE_OPS_CORPUS_BUILDER_H_
#define HELX_CORE_OPS_CORPUS_BUILDER_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/corpus/stream.h"
#include "core/ops/corpus/vectors.h"
#include "core/ops/graph.h"
#include "core/ops/hash.h"
#include "core/ops/json.h"

namespace helx::ops {

// The corpus's files by path, relative to ops-conformance/.
using FileMap = std::map<std::string, std::string>;

class CorpusBuilder {
 public:
  explicit CorpusBuilder(HashFunction hash) : hash_(hash) {}

  HashFunction hash() const { return hash_; }
  Stream StreamOf(std::string_view id) const { return Stream(id, hash_); }

  // Appends a vector's line to vectors/ or graphs/ file `path`.
  void AddGraph(const std::string& path, const std::string& id, const std::string& whg1,
                const std::vector<RawDecode>& decodes);
  void AddGraph(const std::string& path, const std::string& id, const Graph& graph,
                const std::vector<RawDecode>& decodes);
  // Appends a stage vector's line; `in` is canonical JSON.
  void AddStage(const std::string& path, const std::string& id, std::string_view op,
                const std::string& in);
  void AddFile(const std::string& path, std::string bytes) { files_[path] = std::move(bytes); }

  // Everything added, with npu.jsonl.
  FileMap Finish();

 private:
  HashFunction hash_;
  FileMap files_;
  // npu.jsonl's lines by vector file.
  FileMap npu_;
};

struct Range {
  int64_t lo = -100;
  int64_t hi = 100;
};

// base(op) with one row's changes (section 14.7.3). A value given for an array is every entry's.
struct BaseCase {
  explicit BaseCase(Op op);

  Op op;
  // Of every input's decodes; c is its channel count.
  Shape shape{2, 3, 3};
  std::vector<Range> ranges;
  // Scalars as changed; the arrays are filled by Build.
  Params p;
  int64_t mult = 1, post_bias = 0, shift = 0;
  int64_t bias = 0, w = 1;
  int64_t beta = 1, gamma = 1;
  int64_t m = 1, s = 0;
  // w = 1, 2, 3, ... in index order.
  bool counting_w = false;

  // "One channel": (1, h, w) with cout 1.
  void OneChannel(int64_t h, int64_t w);
  void SetRange(int64_t lo, int64_t hi);
  Graph Build() const;
  // The input channel count's parameters and the filled arrays.
  Params BuildParams() const;
};

// One input per range, then `node` on all of them, its value the output.
Graph OneNodeGraph(Op op, const Params& params, const std::vector<Input>& inputs);
Input DataInput(int64_t channels, Range range);

// A tensor of `shape` whose elements are all `value`.
RawTensor Constant(const Shape& shape, int64_t value);
RawTensor Drawn(const Shape& shape, Range range, Stream* stream);
RawTensor Given(const Shape& shape, std::vector<int64_t> data);
RawTensor Ramp(const Shape& shape, Range range);
// All lo, all hi, the ramp: each input by its own range.
std::vector<RawDecode> StandardDecodes(const Shape& shape, const std::vector<Range>& ranges);

// "00", "01", ...
std::string TwoDigits(int64_t value);

// The parts of the corpus, in the text's order.
void AddOperatorVectors(CorpusBuilder* corpus);
void AddPhaseVectors(CorpusBuilder* corpus);
void AddStateVectors(CorpusBuilder* corpus);
void AddLoadVectors(CorpusBuilder* corpus);
void AddRunVectors(CorpusBuilder* corpus);
void AddStageVectors(CorpusBuilder* corpus);
void AddSets(CorpusBuilder* corpus);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_BUILDER_H_

// Lines of the conformance corpus (docs/integer-operators.md, section 14.1): writing them, and
// recomputing one from its inputs alone.
#ifndef HELX_CORE_OPS_CORPUS_VECTORS_H_
#define HELX_CORE_OPS_CORPUS_VECTORS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/run.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// Which lines a file of the corpus holds.
enum class VectorKind { kGraph, kStage };

// One decode's inputs as a vector states them: at run step 1 a shape may have any length and the
// data any length, so this is wider than Tensor.
struct RawTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> data;
};
using RawDecode = std::vector<RawTensor>;

// The line (with its line feed) of a graph vector: load, profiles and every decode's outcome are
// computed here.
std::string GraphVectorLine(std::string_view id, const std::string& whg1,
                            const std::vector<RawDecode>& decodes);

// The line of a stage vector; `in` is canonical JSON. Its "whole" and "step" outcomes agree.
std::string StageVectorLine(std::string_view id, std::string_view op, const std::string& in);

// The line's npu.jsonl entry (section 14.5); empty for a graph that does not load.
std::string NpuLine(std::string_view file, std::string_view id, const std::string& whg1);

struct RecomputedLine {
  std::string id;
  // The line as this implementation writes it.
  std::string line;
  // Graph vectors: the npu.jsonl entry, or empty.
  std::string npu;
};

// Reads one line (with its line feed) of `file` and recomputes it from its inputs: the graph's
// bytes, the decodes' tensors or the stage operator's `in`. Empty, with `*error`, when the line is
// not canonical or not of the kind's form, or a decode of it has more than 2^27 elements.
std::optional<RecomputedLine> RecomputeLine(VectorKind kind, std::string_view file,
                                            std::string_view line, std::string* error);

// One line of decodes for `instance`: a canonical JSON list of {"data","shape"} and a line feed.
// `*outcome` is the decode's expect value; false, with `*error`, for a line of another form or a
// decode of more than 2^27 elements.
bool DecodeLine(Instance* instance, std::string_view line, std::string* outcome,
                std::string* error);

// The kind of a file's lines by its path in the corpus; empty for a file that holds no vectors.
std::optional<VectorKind> KindOfFile(std::string_view path);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_VECTORS_H_

// The reader of .tflite files: whatever the bytes are, it answers with a model whose promises hold, or with a place and a reason.
#include "core/base/file.h"
#include "core/model/reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/model_seeds.h"

namespace helx::fuzz {
namespace {

void CheckTensor(const model::Tensor& tensor) {
  for (int32_t size : tensor.shape) Require(size >= 0, "no dimension is negative");
  if (tensor.is_constant && !tensor.is_sparse && model::ElementBits(tensor.type)) {
    Require(static_cast<int64_t>(tensor.data.size()) == model::ByteSize(tensor),
            "a constant has the bytes of its shape");
  }
  Require(tensor.quantization.scale.size() == tensor.quantization.zero_point.size(),
          "every scale has a zero point");
}

void Check(std::string_view bytes) {
  model::ReadError error;
  const absl::StatusOr<model::Model> read = model::ReadModel(AsBytes(bytes), &error);
  if (!read.ok()) {
    Require(!error.message.empty(), "a refusal has a reason");
    return;
  }
  for (const model::Subgraph& graph : read->subgraphs) {
    const auto count = static_cast<int64_t>(graph.tensors.size());
    for (const model::Tensor& tensor : graph.tensors) CheckTensor(tensor);
    for (const model::Operator& op : graph.operators) {
      for (int32_t number : op.inputs) Require(number >= -1 && number < count, "inputs exist");
      for (int32_t number : op.outputs) Require(number >= 0 && number < count, "outputs exist");
    }
  }
}

}  // namespace

std::vector<std::string> Seeds() { return ModelSeeds(); }

}  // namespace helx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  helx::fuzz::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}

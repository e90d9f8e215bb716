// Finding the first operator whose output leaves the tolerance: `results bisect`.
#ifndef HELX_CLIENT_CPP_LAYERS_H_
#define HELX_CLIENT_CPP_LAYERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/reader.h"
#include "core/experiment/document.h"
#include "core/tensor/compare.h"

namespace helx::client {

// The job that repeats one sample of a result in a diagnostic build: the same model, engine,
// platform and inputs, without references, and no invocation after that sample. NOT_FOUND when
// there is no such sample.
absl::StatusOr<JobEntry> DiagnosticJob(const LoadedBundle& bundle, int64_t sample);

// One operator's output against the reference's file.
struct LayerVerdict {
  size_t op = 0;  // index in the model's primary subgraph, which is the order of execution
  std::string operator_name;
  size_t output = 0;
  TensorSpec spec;
  TensorComparison comparison;
};

struct Bisection {
  std::optional<LayerVerdict> first;  // the first that leaves the tolerance
  int64_t compared = 0;               // outputs, up to and including the first
  // Outputs that one of the two sides does not have (an engine may fold an operator into its
  // neighbour), or that have no fixed storage: "op 3 (RESHAPE) output 0: ...".
  std::vector<std::string> skipped;
};

// Compares layers/op<NNN>-out<J>.bin of a diagnostic result with the files of the same name in
// `folder`, in order of execution. INVALID_ARGUMENT when the model cannot be read or the folder
// holds no such file, or one of the wrong length.
absl::StatusOr<Bisection> BisectLayers(const LoadedBundle& diagnostic, std::string_view model,
                                       const std::string& folder, const Tolerance& tolerance,
                                       NanPolicy nan);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_LAYERS_H_

// References from a folder of output files: `run --reference-dir`.
#ifndef HELX_CLIENT_CPP_REFERENCE_FILES_H_
#define HELX_CLIENT_CPP_REFERENCE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/experiment/document.h"
#include "core/model/model.h"
#include "core/tensor/tensor_data.h"
#include "core/tensor/tensor_spec.h"

namespace helx::client {

// A model's tensor as one that bytes can be exchanged in. INVALID_ARGUMENT for types and shapes
// that cannot.
absl::StatusOr<TensorSpec> SpecOf(const model::Tensor& tensor, size_t index);

// The outputs of a .tflite model, in order. INVALID_ARGUMENT when it cannot be read.
absl::StatusOr<std::vector<TensorSpec>> ModelOutputs(std::string_view model);

// Reads output-<index>.bin of each output for one sample: from `folder` with one sample, else from
// `folder`/<sample>. INVALID_ARGUMENT naming the file that is missing or has the wrong length.
absl::StatusOr<std::vector<TensorData>> ReadReferenceFiles(const std::string& folder,
                                                           int64_t sample, int64_t samples,
                                                           const std::vector<TensorSpec>& outputs);

// Gives the job one reference of origin "files" per sample; a job without a tensor policy captures
// from then on. Refuses a job that has references already.
absl::Status AddReferenceFiles(const std::string& folder, const std::vector<TensorSpec>& outputs,
                               const DocumentLimits& limits, JobEntry* job);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_REFERENCE_FILES_H_

// The rules of a tensor policy that need no model, shared by the YAML reader and the job document.
#ifndef HELX_CORE_EXPERIMENT_TENSOR_IO_CHECK_H_
#define HELX_CORE_EXPERIMENT_TENSOR_IO_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/document.h"

namespace helx {

// A rule that does not hold.
struct PolicyProblem {
  std::string path;  // below tensor_io: "inputs[0].shape"; empty for the policy itself
  std::string code;
  std::string message;
};

// Order, names and byte counts of every list of tensors.
std::optional<PolicyProblem> CheckTensorLists(const TensorIoEntry& policy);

// What depends on the acquisition: the number of references and of input sets, the 16 MiB limit.
std::optional<PolicyProblem> CheckAcquisition(const JobEntry& job, const DocumentLimits& limits);

// Bytes of inputs and reference data, from the shapes.
int64_t PolicyBytes(const TensorIoEntry& policy);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_TENSOR_IO_CHECK_H_

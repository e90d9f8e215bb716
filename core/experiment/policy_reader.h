// Reads one `tensor_io` mapping of a document.
#ifndef HELX_CORE_EXPERIMENT_POLICY_READER_H_
#define HELX_CORE_EXPERIMENT_POLICY_READER_H_

#include <string_view>

#include "core/base/strict_yaml.h"
#include "core/experiment/document.h"

namespace helx {

// The member of that name, or an error that it is missing (code missing_key).
absl::StatusOr<const YamlNode*> RequiredMember(const YamlNode& mapping, std::string_view key);

// The policy with its literals decoded and its files read, checked by CheckTensorLists.
absl::StatusOr<TensorIoEntry> ReadPolicy(const YamlNode& node, const FileReader& read_file,
                                         const DocumentLimits& limits);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_POLICY_READER_H_

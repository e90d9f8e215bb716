// request.json: {"schema":"helx.request-file/v1","request":<helx.request/v1>,"tensors":{sha256:
// hex}}: the frozen request together with its own input and reference bytes. Implicit zero inputs
// are left out: they follow from the request.
#ifndef HELX_CORE_BUNDLE_REQUEST_FILE_H_
#define HELX_CORE_BUNDLE_REQUEST_FILE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/experiment/frozen_request.h"

namespace helx {

struct RequestFileContent {
  FrozenRequest request;
  std::map<std::string, std::string> tensors;  // by hex SHA-256

  // The bytes of a tensor the request binds; zeros for an implicit input. NOT_FOUND for any other
  // digest.
  absl::StatusOr<std::string> Tensor(const Digest& digest) const;
};

// `tensor_contents` in any order; those the request does not name are left out. NOT_FOUND when one
// is missing.
absl::StatusOr<std::string> RequestFile(const FrozenRequest& request,
                                        const std::vector<std::string>& tensor_contents);

// Refuses unknown members, other spellings, tensors whose bytes do not hash to their name, missing
// and unneeded ones (codes request_invalid, request_not_canonical, request_tensor_modified,
// request_tensor_missing, request_tensor_unneeded).
absl::StatusOr<RequestFileContent> ParseRequestFile(std::string_view text);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_REQUEST_FILE_H_

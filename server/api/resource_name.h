// "{instance}/blobs/{hash}/{size}" and "{instance}/uploads/{uuid}/blobs/{hash}/{size}"; the instance
// "-" is the caller's own.
#ifndef HELX_SERVER_API_RESOURCE_NAME_H_
#define HELX_SERVER_API_RESOURCE_NAME_H_

#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/status.h"
#include "server/store/uploads.h"

namespace helx::server {

struct BlobName {
  std::string instance;
  Digest digest;
};

// INVALID_ARGUMENT naming the form, or the limit when the size passes kBlobLimitBytes.
absl::StatusOr<BlobName> ParseBlobName(std::string_view name);
absl::StatusOr<UploadName> ParseUploadName(std::string_view name);

}  // namespace helx::server

#endif  // HELX_SERVER_API_RESOURCE_NAME_H_

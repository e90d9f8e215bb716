// Reads every blob and compares its digest.
#ifndef HELX_SERVER_MAINTENANCE_SCRUBBER_H_
#define HELX_SERVER_MAINTENANCE_SCRUBBER_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "server/maintenance/operation.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// What can be read of a damaged blob goes to a file {instance}.{hash}.{size} in `quarantine_folder`
// (made when needed; 1 GiB at most), and the blob out of sight. At most `bytes_per_second` are
// read; 0: as fast as it goes.
absl::Status Scrub(const Store& store, BlobStore* blobs, const std::string& quarantine_folder,
                   int64_t bytes_per_second, Operation* operation);

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_SCRUBBER_H_

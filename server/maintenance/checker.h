// Whether the rows of the store agree with one another, and what they refer to is there.
#ifndef HELX_SERVER_MAINTENANCE_CHECKER_H_
#define HELX_SERVER_MAINTENANCE_CHECKER_H_

#include "core/base/status.h"
#include "server/maintenance/operation.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// Reports as problems of `operation`: rows that cannot be read; succeeded jobs without their
// bundle, or whose bundle lacks an artifact; indices that name jobs that are not there; live jobs
// that the index of live jobs does not name; counts of blobs that differ from the blobs. While the
// store serves, counts may differ for a moment: they are compared again before they are reported.
absl::Status CheckStore(const Store& store, const BlobStore& blobs, Operation* operation);

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_CHECKER_H_

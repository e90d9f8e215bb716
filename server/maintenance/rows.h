// Walking rows of the store while working on them.
#ifndef HELX_SERVER_MAINTENANCE_ROWS_H_
#define HELX_SERVER_MAINTENANCE_ROWS_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

inline constexpr size_t kRowsAtOnce = 256;

// The rows of a prefix in pages, so that no iterator is open while they are worked on; a row that
// comes or goes meanwhile may be seen or not.
absl::Status ForEachRow(
    const Store& store, Family family, const std::string& prefix, bool descending,
    const std::function<absl::Status(const std::string& key, const std::string& value)>& visit);

// The blobs of an instance, likewise.
absl::Status ForEachBlob(const BlobStore& blobs, const std::string& instance,
                         const std::function<absl::Status(const BlobStore::Entry&)>& visit);

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_ROWS_H_

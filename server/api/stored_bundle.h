// A stored bundle, read and verified from the store's own blobs.
#ifndef HELX_SERVER_API_STORED_BUNDLE_H_
#define HELX_SERVER_API_STORED_BUNDLE_H_

#include <string>

#include "core/base/status.h"
#include "core/bundle/reader.h"
#include "helx/v1/results.pb.h"
#include "server/store/blob_store.h"

namespace helx::server {

// LoadBundle over the files that `result`'s manifest lists. DATA_LOSS with the reader's finding
// when the bundle is not what it claims to be; a blob found damaged is taken out of sight. Slow:
// reads and hashes every file. `blobs` outlives the bundle.
absl::StatusOr<LoadedBundle> LoadStoredBundle(const std::string& instance, const v1::Result& result,
                                              BlobStore* blobs);

// Answers Results.Verify for a loaded bundle: the recorded verdicts, or the one on the request's
// reference. Errors as results.proto says.
absl::StatusOr<v1::VerifyResponse> VerifyLoaded(const std::string& instance,
                                                const LoadedBundle& bundle,
                                                const v1::VerifyRequest& request, BlobStore* blobs);

}  // namespace helx::server

#endif  // HELX_SERVER_API_STORED_BUNDLE_H_

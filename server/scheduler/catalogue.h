// What the live workers advertise together.
#ifndef HELX_SERVER_SCHEDULER_CATALOGUE_H_
#define HELX_SERVER_SCHEDULER_CATALOGUE_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "helx/v1/capabilities.pb.h"
#include "helx/v1/worker.pb.h"

namespace helx::server {

// Hex SHA-256 of the canonical JSON {"engines": [[name, version]], "targets": [[platform, executor,
// version, toolchain]], "workers": [version]}, each list sorted and without repetition: equal sets
// give equal digests, whoever advertises them. Unavailable targets and unsupported engines are left
// out.
std::string CatalogueDigest(const std::vector<const v1::WorkerCatalogue*>& catalogues);

// Adds engines and targets (with the number of workers that offer each) to `out`, sorted by name,
// then version.
void MergeCatalogues(const std::vector<const v1::WorkerCatalogue*>& catalogues,
                     v1::ServerCapabilities* out);

// INVALID_ARGUMENT unless every string is short UTF-8 text and the lists have at most 256 entries.
absl::Status CheckCatalogue(const v1::WorkerCatalogue& catalogue);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_CATALOGUE_H_

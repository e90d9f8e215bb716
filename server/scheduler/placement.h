// Which workers may run what: placements (of actions) against catalogues (of workers).
#ifndef HELX_SERVER_SCHEDULER_PLACEMENT_H_
#define HELX_SERVER_SCHEDULER_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "helx/v1/worker.pb.h"
#include "server/scheduler/records.pb.h"

namespace helx::server {

// Whether a worker with this catalogue may run it: one available target and one engine that is not
// unsupported carry every field that the placement sets, the engine covers the platform, and one of
// its selectors (if it has any) matches the device's labels.
bool CanPlace(const records::Placement& placement, const v1::WorkerCatalogue& catalogue);
// The same whatever the device's labels.
bool OffersTools(const records::Placement& placement, const v1::WorkerCatalogue& catalogue);

// The exact placement of what a worker with this catalogue froze for `engine` on `platform`;
// nullopt when it does not advertise them.
std::optional<records::Placement> ExactPlacement(const v1::WorkerCatalogue& catalogue,
                                                 const std::string& engine,
                                                 const std::string& platform);

// Why nobody among these can run it, as the violations of a refusal: unknown or unavailable
// platform or engine, with the nearest names; empty when somebody can.
std::vector<v1::Violation> Refusal(const records::Placement& placement,
                                   const std::vector<const v1::WorkerCatalogue*>& catalogues);

// Who is at fault for such a violation: a name that nobody knows is the user's, a tool missing on every host the lab's.
v1::Fault RefusalFault(const v1::Violation& violation);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_PLACEMENT_H_

#include "server/api/caller.h"

#include "server/scheduler/names.h"

namespace helx::server {

absl::StatusOr<Caller> CallerFor(const std::string& instance) {
  Caller caller;
  if (instance.empty() || instance == caller.instance) return caller;
  HELX_RETURN_IF_ERROR(CheckName("instance", instance));
  return absl::PermissionDeniedError("instance " + Quoted(instance) +
                                     " is not open to this caller; without TLS there is only \"" +
                                     caller.instance + "\"");
}

}  // namespace helx::server

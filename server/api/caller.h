// Who calls, and on whose data.
#ifndef HELX_SERVER_API_CALLER_H_
#define HELX_SERVER_API_CALLER_H_

#include <string>

#include "core/base/status.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// The caller of a request that names `instance` (empty: the caller's own). Without TLS everyone is
// user "local" of the instance "default"; any other instance is PERMISSION_DENIED.
absl::StatusOr<Caller> CallerFor(const std::string& instance);

}  // namespace helx::server

#endif  // HELX_SERVER_API_CALLER_H_

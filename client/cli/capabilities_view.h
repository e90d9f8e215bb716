// What the server and its workers advertise.
#ifndef HELX_CLIENT_CLI_CAPABILITIES_VIEW_H_
#define HELX_CLIENT_CLI_CAPABILITIES_VIEW_H_

#include "client/cli/command.h"
#include "helx/v1/capabilities.pb.h"

namespace helx::cli {

// Asks the server; gives the workers of an embedded one that has just been started up to a minute to
// appear.
absl::StatusOr<helx::v1::ServerCapabilities> GetCapabilities(Invocation& invocation);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_CAPABILITIES_VIEW_H_

// Devices and leases as helxctl prints them: docs/cli.md lists the JSON fields.
#ifndef HELX_CLIENT_CLI_POOL_VIEW_H_
#define HELX_CLIENT_CLI_POOL_VIEW_H_

#include <string>
#include <vector>

#include "client/cli/command.h"
#include "helx/v1/pool.pb.h"

namespace helx::cli {

// "idle", "good", ...
std::string StateName(helx::v1::DeviceState state);
std::string HealthName(helx::v1::DeviceHealth health);

Json DeviceToJson(const helx::v1::Device& device);
Json LeaseToJson(const helx::v1::DeviceLease& lease);
void PrintDevices(Invocation& invocation, const std::vector<helx::v1::Device>& devices);
void PrintLeases(Invocation& invocation, const std::vector<helx::v1::DeviceLease>& leases);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_POOL_VIEW_H_

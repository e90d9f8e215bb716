#include "server/security/authorization.h"

#include <string>

#include "server/scheduler/names.h"

namespace helx::server {
namespace {

constexpr unsigned Bit(Role role) { return 1u << static_cast<unsigned>(role); }
constexpr unsigned kOperators = Bit(Role::kOperator) | Bit(Role::kLocal);
constexpr unsigned kSubmitters = Bit(Role::kSubmitter) | kOperators;
constexpr unsigned kViewers = Bit(Role::kViewer) | kSubmitters;
constexpr unsigned kWorkers = Bit(Role::kWorker) | Bit(Role::kLocal);

struct Rule {
  std::string_view method;
  unsigned roles;
};

constexpr Rule kRules[] = {
    {"/helx.v1.Capabilities/Get", kViewers | kWorkers},
    {"/helx.v1.Blobs/Read", kViewers | kWorkers},
    {"/helx.v1.Blobs/Write", kSubmitters | kWorkers},
    {"/helx.v1.Blobs/QueryWriteStatus", kSubmitters | kWorkers},
    {"/helx.v1.Blobs/FindMissing", kSubmitters | kWorkers},
    {"/helx.v1.Experiments/Freeze", kSubmitters},
    {"/helx.v1.Jobs/Submit", kSubmitters},
    {"/helx.v1.Jobs/Get", kViewers},
    {"/helx.v1.Jobs/List", kViewers},
    {"/helx.v1.Jobs/Watch", kViewers},
    {"/helx.v1.Jobs/ReadLog", kViewers},
    {"/helx.v1.Jobs/Resubmit", kSubmitters},
    {"/helx.v1.Jobs/Cancel", kSubmitters},  // of others' jobs: operators
    {"/helx.v1.Pool/ListDevices", kViewers},
    {"/helx.v1.Pool/SetHealth", kOperators},
    {"/helx.v1.Pool/Drain", kOperators},
    {"/helx.v1.Pool/SetHealthCheck", kOperators},
    {"/helx.v1.Pool/ListLeases", kViewers},
    {"/helx.v1.Pool/Acquire", kSubmitters},
    {"/helx.v1.Pool/Extend", kSubmitters},
    {"/helx.v1.Pool/Release", kSubmitters},  // of others' leases: operators
    {"/helx.v1.Results/Get", kViewers},
    {"/helx.v1.Results/List", kViewers},
    {"/helx.v1.Results/Verify", kViewers},
    {"/helx.v1.Results/GetInputIdentity", kViewers},
    {"/helx.v1.Results/Observe", kViewers},
    {"/helx.v1.Results/Export", kViewers},
    {"/helx.v1.Store/GetStatus", kViewers},
    {"/helx.v1.Store/Check", kOperators},
    {"/helx.v1.Store/Scrub", kOperators},
    {"/helx.v1.Store/CollectGarbage", kOperators},
    {"/helx.v1.Store/Backup", kOperators},
    {"/helx.v1.Store/CancelOperation", kOperators},
    {"/helx.v1.Store/Pin", kSubmitters},
    {"/helx.v1.Store/Unpin", kSubmitters},  // of others' pins: operators
    {"/helx.v1.Store/ListPins", kViewers},
    {"/helx.v1.Worker/Synchronize", kWorkers},
    {"/helx.v1.Worker/Report", kWorkers},
    {"/helx.v1.Worker/Complete", kWorkers},
    {"/grpc.health.v1.Health/Check", kViewers | kWorkers},
    {"/grpc.health.v1.Health/Watch", kViewers | kWorkers},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kViewers},
};

}  // namespace

absl::Status Authorize(const Identity& identity, std::string_view method) {
  for (const Rule& rule : kRules) {
    if (rule.method != method) continue;
    if ((rule.roles & Bit(identity.role)) != 0) return absl::OkStatus();
    std::string allowed;
    for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kOperator, Role::kWorker}) {
      if ((rule.roles & Bit(role)) == 0) continue;
      allowed += (allowed.empty() ? "" : ", ") + std::string(RoleName(role));
    }
    return absl::PermissionDeniedError(std::string(method.substr(1)) + " is not for the role " +
                                       std::string(RoleName(identity.role)) + " of " +
                                       identity.name + "; allowed are: " + allowed);
  }
  return absl::PermissionDeniedError("there is no method " + Quoted(method) + " for anybody");
}

std::vector<std::string_view> AuthorizedMethods() {
  std::vector<std::string_view> out;
  for (const Rule& rule : kRules) out.push_back(rule.method);
  return out;
}

}  // namespace helx::server

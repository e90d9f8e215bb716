#include "server/security/identity.h"

#include <array>
#include <utility>
#include <vector>

#include "server/scheduler/names.h"

namespace helx::server {
namespace {

constexpr std::string_view kTrustDomain = "spiffe://helx/";
constexpr std::string_view kAnyInstance = "any";
constexpr std::array<std::pair<std::string_view, Role>, 4> kRoles = {{{"viewer", Role::kViewer},
                                                                      {"submitter", Role::kSubmitter},
                                                                      {"operator", Role::kOperator},
                                                                      {"worker", Role::kWorker}}};

absl::Status Malformed(std::string_view spiffe_id, const std::string& what) {
  return absl::UnauthenticatedError("the certificate's identity " + Quoted(spiffe_id) + " " + what +
                                    "; expected is the one URI SAN "
                                    "spiffe://helx/{instance}/{viewer|submitter|operator}/{user}, or "
                                    "spiffe://helx/any/worker/{name}");
}

}  // namespace

std::string_view RoleName(Role role) {
  for (const auto& [name, value] : kRoles) {
    if (value == role) return name;
  }
  return "local";
}

absl::StatusOr<Identity> ParseIdentity(std::string_view spiffe_id) {
  if (spiffe_id.substr(0, kTrustDomain.size()) != kTrustDomain) {
    return Malformed(spiffe_id, "is not of the trust domain helx");
  }
  std::vector<std::string_view> parts;
  for (std::string_view rest = spiffe_id.substr(kTrustDomain.size()); parts.size() < 5;) {
    const size_t slash = rest.find('/');
    parts.push_back(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (parts.size() != 3) return Malformed(spiffe_id, "has not three parts");
  Identity identity;
  bool known = false;
  for (const auto& [name, role] : kRoles) {
    if (parts[1] != name) continue;
    identity.role = role;
    known = true;
  }
  if (!known) return Malformed(spiffe_id, "names no role");
  if (!CheckName("instance", parts[0]).ok() || !CheckName("name", parts[2]).ok()) {
    return Malformed(spiffe_id, "has characters outside A-Za-z0-9._-");
  }
  if ((identity.role == Role::kWorker) != (parts[0] == kAnyInstance)) {
    return Malformed(spiffe_id, identity.role == Role::kWorker
                                    ? "is a worker's, which serves any instance"
                                    : "names the instance any, which is for workers");
  }
  identity.instance = parts[0];
  identity.name = parts[2];
  return identity;
}

}  // namespace helx::server

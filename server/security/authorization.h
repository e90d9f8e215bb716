// Which role may call what: the one table. Who the caller is was settled before (identity.h); whose objects a call may touch
// is decided beside the objects (an instance sees only its own rows).
#ifndef HELX_SERVER_SECURITY_AUTHORIZATION_H_
#define HELX_SERVER_SECURITY_AUTHORIZATION_H_

#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "server/security/identity.h"

namespace helx::server {

// `method` as in HTTP/2's :path, "/helx.v1.Jobs/Submit". PERMISSION_DENIED for a method that the table grants to other roles
// only, and for one that it does not hold.
absl::Status Authorize(const Identity& identity, std::string_view method);

// Every method in the table, for tests.
std::vector<std::string_view> AuthorizedMethods();

}  // namespace helx::server

#endif  // HELX_SERVER_SECURITY_AUTHORIZATION_H_

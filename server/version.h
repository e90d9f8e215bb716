// What this program is.
#ifndef HELX_SERVER_VERSION_H_
#define HELX_SERVER_VERSION_H_

namespace helx::server {

inline constexpr char kVersion[] = HELX_VERSION;
// The commit it was built from, or "unknown".
const char* Commit();

// The largest single gRPC message in either direction.
inline constexpr int kMessageLimitBytes = 4 << 20;

}  // namespace helx::server

#endif  // HELX_SERVER_VERSION_H_

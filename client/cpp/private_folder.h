// A folder that only its owner can enter: the credential of a UNIX socket.
#ifndef HELX_CLIENT_CPP_PRIVATE_FOLDER_H_
#define HELX_CLIENT_CPP_PRIVATE_FOLDER_H_

#include <string>

#include "core/base/status.h"

namespace helx::client {

// Makes `path` with mode 0700 when it is absent (its parent must exist). FAILED_PRECONDITION when it exists and is not a
// real folder of this user with mode 0700.
absl::Status EnsurePrivateFolder(const std::string& path);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_PRIVATE_FOLDER_H_

// SHA-256 (FIPS 180-4) without dependencies: one implementation for the native tool and for
// WebAssembly, where OpenSSL is not to be had.
#ifndef HELX_CLIENT_OPS_SHA256_H_
#define HELX_CLIENT_OPS_SHA256_H_

#include <string_view>

#include "core/ops/hash.h"

namespace helx::ops {

Digest Sha256(std::string_view bytes);

}  // namespace helx::ops

#endif  // HELX_CLIENT_OPS_SHA256_H_

// Random names: upload ids and idempotency keys.
#ifndef HELX_CLIENT_CPP_RANDOM_ID_H_
#define HELX_CLIENT_CPP_RANDOM_ID_H_

#include <string>

namespace helx::client {

// 128 random bits as 32 lower-case hexadecimal characters.
std::string RandomId();

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_RANDOM_ID_H_

#include "server/version.h"

namespace helx::server {

const char* Commit() { return HELX_COMMIT; }

}  // namespace helx::server

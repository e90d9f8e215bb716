// Conversions between the wire's types and this server's.
#ifndef HELX_SERVER_SCHEDULER_TIMESTAMPS_H_
#define HELX_SERVER_SCHEDULER_TIMESTAMPS_H_

#include <cstdint>

#include "core/base/digest.h"
#include "google/protobuf/timestamp.pb.h"
#include "helx/v1/types.pb.h"

namespace helx::server {

void SetTimestamp(int64_t micros, google::protobuf::Timestamp* out);
int64_t MicrosOf(const google::protobuf::Timestamp& timestamp);

Digest FromProto(const v1::Digest& digest);
v1::Digest ToProto(const Digest& digest);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_TIMESTAMPS_H_

#include "server/scheduler/timestamps.h"

namespace helx::server {

void SetTimestamp(int64_t micros, google::protobuf::Timestamp* out) {
  out->set_seconds(micros / 1'000'000);
  out->set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
}

int64_t MicrosOf(const google::protobuf::Timestamp& timestamp) {
  return timestamp.seconds() * 1'000'000 + timestamp.nanos() / 1000;
}

Digest FromProto(const v1::Digest& digest) { return {digest.hash(), digest.size_bytes()}; }

v1::Digest ToProto(const Digest& digest) {
  v1::Digest out;
  out.set_hash(digest.hash);
  out.set_size_bytes(digest.size_bytes);
  return out;
}

}  // namespace helx::server

// How calls of a worker are known on a connection that carries no certificate.
#ifndef HELX_PROTO_WORKER_METADATA_H_
#define HELX_PROTO_WORKER_METADATA_H_

namespace helx::rpc {

// Present in the calls by which a worker stores what an action left.
inline constexpr char kWorkerMetadata[] = "helx-worker";

}  // namespace helx::rpc

#endif  // HELX_PROTO_WORKER_METADATA_H_

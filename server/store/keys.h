// Keys of the rows in the store. All begin with the instance (tenant) and a NUL, except those of
// the families `default` and `leases`; integers are big-endian, so that the order of the bytes is
// the order of the numbers.
//
//   blobs           instance 00 hash[32] size[8] "c" n[4]     one chunk of 1 MiB (the last one
//   shorter)
//   blob_meta       instance 00 hash[32] size[8]              when the blob was last used, in
//   seconds
//                   since the epoch [8]; written last: without it the blob does not exist
//   jobs            instance 00 "j" id                        JobRecord: the job as it is; its last
//   event
//                   instance 00 "e" id 00 sequence[8]         v1.Job as it was after an earlier
//                   event
//   actions         instance 00 key                           ActionRecord: inputs, attempts, the
//   cached output leases          lane                                      LeaseRecord; lane =
//   device, or "{worker}/freeze" idempotency     instance 00 user 00 request id IdempotencyRecord
//   index_live      instance 00 id                            jobs that are not in a terminal phase
//   index_names     instance 00 experiment 00 id              jobs by experiment
//   index_results   instance 00 id                            v1.ResultEntry of a job that left a
//   bundle index_latest    instance 00 name 00 id                    bundle digest; name =
//   "experiment" or "experiment/run" index_bundles   instance 00 hash BundleRecord by manifest
//
// In `default` also "schema_version"; "blobs" 00 instance: blobs[8] bytes[8] of it; "staged" 00
// instance 00 hash size: a blob whose chunks are being written; "pin" 00 instance 00 hash
// (PinRecord); "maintenance" (MaintenanceRecord).
//
// The pool's rows: in `default` "device" 00 name (DeviceRecord), "check" 00 platform
// (HealthCheckRecord), "usage" 00 instance 00 user (UsageRecord); in `leases` "lease:" name of
// device (DeviceLeaseRecord), which no lane's name can be.
#ifndef HELX_SERVER_STORE_KEYS_H_
#define HELX_SERVER_STORE_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/digest.h"

namespace helx::server {

// `value` as 8 big-endian bytes.
std::string BigEndian64(uint64_t value);
std::string BigEndian32(uint32_t value);
// REQUIRES: 8 bytes.
uint64_t FromBigEndian64(std::string_view bytes);

std::string BlobChunkKey(std::string_view instance, const Digest& digest, uint32_t chunk);
std::string BlobMetaKey(std::string_view instance, const Digest& digest);
// The blob of a meta key. REQUIRES: it is one.
Digest BlobOfMetaKey(std::string_view key);

std::string JobKey(std::string_view instance, std::string_view id);
std::string JobPrefix(std::string_view instance);
std::string JobEventKey(std::string_view instance, std::string_view id, uint64_t sequence);
std::string JobEventPrefix(std::string_view instance, std::string_view id);

// instance 00 part [00 part ...]: actions, idempotency and the indices.
std::string InstanceKey(std::string_view instance, std::string_view part);
std::string InstanceKey(std::string_view instance, std::string_view part, std::string_view id);

// The id at the end of an index key: what follows the last NUL.
std::string_view LastPart(std::string_view key);
// The instance at its beginning.
std::string_view FirstPart(std::string_view key);

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_KEYS_H_

// The kill points of helxd (server/store/fault_point.h) that the workload of the crash suite
// passes. "schema.moved" is apart: only a store of the first schema passes it.
#ifndef HELX_TESTS_CRASH_FAULT_POINTS_H_
#define HELX_TESTS_CRASH_FAULT_POINTS_H_

namespace helx::server {

inline constexpr const char* kFaultPoints[] = {
    "store.opened",
    "start.recovered",
    "store.before_commit",
    "store.committed",
    "store.answered",
    "blob.chunks",
    "blob.before_meta",
    "blob.removed",
    "upload.staged",
    "upload.checked",
    "upload.stored",
    "job.submitted",
    "job.unacknowledged",
    "lease.decided",
    "lease.unsent",
    "phase.reported",
    "output.decided",
    "completion.decided",
    "completion.unacknowledged",
    "cancel.decided",
    "pin.decided",
    "collect.marked",
    "collect.expired",
    "collect.swept",
    "backup.written",
};

}  // namespace helx::server

#endif  // HELX_TESTS_CRASH_FAULT_POINTS_H_

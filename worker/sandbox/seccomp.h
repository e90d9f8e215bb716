// The system-call filter of sandboxed processes.
#ifndef HELX_WORKER_SANDBOX_SECCOMP_H_
#define HELX_WORKER_SANDBOX_SECCOMP_H_

#include <string>

#include "core/base/status.h"

namespace helx::sandbox {

// A BPF program for bubblewrap's --seccomp: compilers and emulators run under it, and what reaches for other processes,
// for mounts, for new namespaces, for keys, for kernel programs or for a network fails with an error. UNIMPLEMENTED when
// this build has no libseccomp.
absl::StatusOr<std::string> SeccompProgram();

}  // namespace helx::sandbox

#endif  // HELX_WORKER_SANDBOX_SECCOMP_H_

#include "worker/sandbox/seccomp.h"

#ifdef HELX_HAVE_SECCOMP

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace helx::sandbox {
namespace {

// Denied whatever the arguments. Names that this libseccomp does not know are newer than the kernels it serves: skipped.
constexpr const char* kDenied[] = {
    // Other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    // Mounts and roots.
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "open_tree", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "quotactl",
    "quotactl_fd", "swapon", "swapoff",
    // Namespaces.
    "unshare", "setns",
    // Keys, kernel programs, tracing, and interfaces with a long history of holes.
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "fanotify_init", "lookup_dcookie", "vmsplice", "move_pages",
    "migrate_pages", "mbind", "set_mempolicy", "remap_file_pages", "uselib", "modify_ldt",
    // The machine.
    "init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load",
    "reboot", "iopl", "ioperm", "syslog", "acct", "sethostname", "setdomainname", "settimeofday",
    "clock_settime", "clock_adjtime", "adjtimex", "stime", "nfsservctl", "vhangup", "sysfs", "_sysctl",
};

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};

int AddRules(scmp_filter_ctx filter) {
  for (const char* name : kDenied) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;
    const int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    // A name of another architecture has a negative number and cannot be called here.
    if (error != 0 && number >= 0) return error;
  }
  // clone3's flags lie in memory, out of a filter's sight: as if it did not exist, the C library falls back to clone.
  int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
                         CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    const auto bit = static_cast<scmp_datum_t>(static_cast<unsigned>(flag));
    if (error == 0) {
      error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                               SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
    }
  }
  if (error == 0) {
    error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  }
  // Typing into a terminal that a person reads.
  for (const scmp_datum_t request : {TIOCSTI, TIOCLINUX}) {
    if (error == 0) {
      error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                               SCMP_A1(SCMP_CMP_MASKED_EQ, scmp_datum_t{0xffffffff}, request));
    }
  }
  return error;
}

absl::StatusOr<std::string> Build() {
  const std::unique_ptr<void, FilterDeleter> filter(seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr) return Internal("libseccomp cannot make a filter");
  if (const int error = AddRules(filter.get()); error != 0) {
    return Internal("libseccomp refuses a rule (error " + std::to_string(-error) + ")");
  }
  const int fd = memfd_create("helx-seccomp", MFD_CLOEXEC);
  if (fd < 0) return absl::ResourceExhaustedError("cannot create a memory file");
  std::string program;
  if (seccomp_export_bpf(filter.get(), fd) == 0) {
    program.resize(static_cast<size_t>(lseek(fd, 0, SEEK_END)));
    if (pread(fd, program.data(), program.size(), 0) != static_cast<ssize_t>(program.size())) {
      program.clear();
    }
  }
  close(fd);
  if (program.empty()) return Internal("libseccomp cannot export its filter");
  return program;
}

}  // namespace

absl::StatusOr<std::string> SeccompProgram() {
  static const absl::StatusOr<std::string> program = Build();
  return program;
}

}  // namespace helx::sandbox

#else

namespace helx::sandbox {

absl::StatusOr<std::string> SeccompProgram() {
  return absl::UnimplementedError("this build has no libseccomp");
}

}  // namespace helx::sandbox

#endif  // HELX_HAVE_SECCOMP

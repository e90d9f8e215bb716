/* Preloaded into helxd: regular files cannot be written, or the wall clock is wrong, as the test says in a file
 * that both have mapped (HELX_FAULT_SHIM names it). Files on descriptors 0 to 2 are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  volatile int32_t write_errno; /* 0: writes work */
  volatile int32_t unused;
  volatile int64_t clock_offset_seconds;
};

static struct control none;
static struct control *control = &none;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("HELX_FAULT_SHIM");
  if (path == NULL) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) control = map;
  close(fd);
}

static int fails(int fd) {
  struct stat info;
  if (control->write_errno == 0 || fd <= 2) return 0;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
  errno = control->write_errno;
  return 1;
}

#define REAL(type, name, ...)                            \
  static type (*real)(__VA_ARGS__);                      \
  if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t size) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return fails(fd) ? -1 : real(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  return fails(fd) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  return fails(fd) ? -1 : real(fd, data, size, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  return fails(fd) ? -1 : real(fd, parts, count);
}
int fsync(int fd) {
  REAL(int, "fsync", int);
  return fails(fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  return fails(fd) ? -1 : real(fd);
}
int posix_fallocate(int fd, off_t at, off_t size) {
  REAL(int, "posix_fallocate", int, off_t, off_t);
  return fails(fd) ? control->write_errno : real(fd, at, size);
}
int posix_fallocate64(int fd, off64_t at, off64_t size) {
  REAL(int, "posix_fallocate64", int, off64_t, off64_t);
  return fails(fd) ? control->write_errno : real(fd, at, size);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  const int status = real(clock, out);
  if (status == 0 && clock == CLOCK_REALTIME) out->tv_sec += control->clock_offset_seconds;
  return status;
}
int gettimeofday(struct timeval *out, void *zone) {
  REAL(int, "gettimeofday", struct timeval *, void *);
  const int status = real(out, zone);
  if (status == 0) out->tv_sec += control->clock_offset_seconds;
  return status;
}
time_t time(time_t *out) {
  REAL(time_t, "time", time_t *);
  const time_t now = real(NULL) + control->clock_offset_seconds;
  if (out != NULL) *out = now;
  return now;
}

// The vector recomputation as a module for a browser's engine: four exported functions over linear
// memory and no imports. The few WASI calls that the C library refers to and this code never makes
// are defined here, so that the module asks its host for nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/ops/corpus/corpus.h"

namespace {

std::string* g_report = nullptr;
std::string* g_npu = nullptr;

}  // namespace

#define HELX_EXPORT(name) extern "C" __attribute__((export_name(#name)))

// Room for `size` bytes that the host writes: a path or a file.
HELX_EXPORT(helx_alloc) void* HelxAlloc(size_t size) { return std::malloc(size); }
HELX_EXPORT(helx_free) void HelxFree(void* pointer) { std::free(pointer); }

// Recomputes one vector file; gives the number of faults. Their text, one per line, and the file's
// npu.jsonl lines are read with helx_text.
HELX_EXPORT(helx_verify)
int32_t HelxVerify(const char* path, size_t path_size, const char* text, size_t text_size) {
  if (g_report == nullptr) {
    g_report = new std::string();
    g_npu = new std::string();
  }
  std::vector<std::string> faults;
  *g_npu = helx::ops::VerifyVectorFile(std::string(path, path_size),
                                       std::string_view(text, text_size), &faults);
  g_report->clear();
  for (const std::string& fault : faults) *g_report += fault + "\n";
  return static_cast<int32_t>(faults.size());
}

// which 0: the faults; 1: the npu.jsonl lines. The pointer in the low 32 bits, the size above.
HELX_EXPORT(helx_text) uint64_t HelxText(int32_t which) {
  const std::string& text = which == 0 ? *g_report : *g_npu;
  return reinterpret_cast<uintptr_t>(text.data()) | static_cast<uint64_t>(text.size()) << 32;
}

// The C library's WASI imports, resolved inside the module. Each says "not supported".
extern "C" {
constexpr int32_t kNotSupported = 58;
int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t) { return kNotSupported; }
int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t, int64_t, int32_t, int32_t) {
  return kNotSupported;
}
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t, int32_t, int32_t, int32_t) {
  return kNotSupported;
}
int32_t __imported_wasi_snapshot_preview1_fd_read(int32_t, int32_t, int32_t, int32_t) {
  return kNotSupported;
}
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t, int32_t) { return kNotSupported; }
int32_t __imported_wasi_snapshot_preview1_environ_get(int32_t, int32_t) { return kNotSupported; }
int32_t __imported_wasi_snapshot_preview1_environ_sizes_get(int32_t, int32_t) {
  return kNotSupported;
}
[[noreturn]] void __imported_wasi_snapshot_preview1_proc_exit(int32_t) { __builtin_trap(); }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin of QEMU's translator (plugin API version 1): how often every instruction of the measured windows is executed.
 *
 *   -plugin libhelx_pc_counts.so,out=FILE,start=ADDRESS,stop=ADDRESS
 *
 * The instruction at `start` begins a window, the one at `stop` ends it; neither belongs to it. FILE has, for every window, a line
 * "window NUMBER" and lines "ADDRESS COUNT" (hexadecimal, decimal) in ascending order.
 *
 * QEMU's plugin interface is under GPL-2.0-or-later, and so is this folder (see LICENSE). Nothing of HELX is linked with it:
 * the two exchange a file.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The part of the interface that is used here; Debian does not package qemu-plugin.h. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { PLUGIN_INLINE_ADD_U64 = 0, PLUGIN_CB_NO_REGS = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t,
                                                            struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* insn,
                                            void (*callback)(unsigned, void*), int flags,
                                            void* data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn* insn, int op,
                                                void* counter, uint64_t value);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* data);

EXPORT int qemu_plugin_version = 1;

/* Code of the images lies in 4 MiB at 0 or at 0x10000000; one counter per half-word. */
#define SPAN (4u << 20)
static const uint32_t bases[] = {0x00000000u, 0x10000000u};
#define BASES (sizeof bases / sizeof bases[0])

static uint64_t* counters[BASES];
static uint64_t elsewhere;
static uint64_t start_address, stop_address;
static FILE* out;
static int window;

static uint64_t* CounterOf(uint64_t address) {
  for (size_t i = 0; i < BASES; ++i) {
    if (address >= bases[i] && address - bases[i] < SPAN) {
      return &counters[i][(address - bases[i]) / 2];
    }
  }
  return &elsewhere;
}

static void OnStart(unsigned cpu, void* data) {
  (void)cpu;
  (void)data;
  for (size_t i = 0; i < BASES; ++i) memset(counters[i], 0, SPAN / 2 * sizeof(uint64_t));
  elsewhere = 0;
}

static void OnStop(unsigned cpu, void* data) {
  (void)cpu;
  (void)data;
  fprintf(out, "window %d\n", window++);
  for (size_t i = 0; i < BASES; ++i) {
    for (uint32_t k = 0; k < SPAN / 2; ++k) {
      if (counters[i][k] != 0) {
        fprintf(out, "%" PRIx64 " %" PRIu64 "\n", (uint64_t)bases[i] + 2 * k, counters[i][k]);
      }
    }
  }
  if (elsewhere != 0) fprintf(out, "ffffffff %" PRIu64 "\n", elsewhere);
}

static void OnTranslation(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  const size_t count = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(block, i);
    const uint64_t address = qemu_plugin_insn_vaddr(insn);
    if (address == start_address) {
      qemu_plugin_register_vcpu_insn_exec_cb(insn, OnStart, PLUGIN_CB_NO_REGS, NULL);
      continue;
    }
    if (address == stop_address) {
      qemu_plugin_register_vcpu_insn_exec_cb(insn, OnStop, PLUGIN_CB_NO_REGS, NULL);
      continue;
    }
    qemu_plugin_register_vcpu_insn_exec_inline(insn, PLUGIN_INLINE_ADD_U64, CounterOf(address), 1);
  }
}

static void OnExit(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  fclose(out);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int argc,
                               char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "out=", 4) == 0) out = fopen(argv[i] + 4, "w");
    if (strncmp(argv[i], "start=", 6) == 0) start_address = strtoull(argv[i] + 6, NULL, 0);
    if (strncmp(argv[i], "stop=", 5) == 0) stop_address = strtoull(argv[i] + 5, NULL, 0);
  }
  for (size_t i = 0; i < BASES; ++i) {
    counters[i] = calloc(SPAN / 2, sizeof(uint64_t));
    if (counters[i] == NULL) return -1;
  }
  if (out == NULL || start_address == stop_address) {
    fprintf(stderr, "pc_counts: out=FILE, start=ADDRESS and stop=ADDRESS are needed\n");
    return -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnTranslation);
  qemu_plugin_register_atexit_cb(id, OnExit, NULL);
  return 0;
}

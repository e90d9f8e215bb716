/* From reset to helx_run, and the way out of a fault: Armv7-M and Armv8-M. */
#include <string.h>

#include "board.h"
#include "runner.h"

extern uint8_t __helx_data_start[], __helx_data_end[], __helx_data_load[];
extern uint8_t __helx_bss_start[], __helx_bss_end[];

/* Faults and the instruction limit report from a stack of their own: the model's may be the reason for the fault, and
 * its paint is evidence. */
#define HELX_FAULT_STACK_WORDS 1024
__attribute__((used, aligned(8), section(".helx_noinit")))
uint32_t helx_fault_stack[HELX_FAULT_STACK_WORDS];

#if __ARM_ARCH >= 8
#define HELX_SET_STACK_LIMIT "ldr r0, =__helx_stack_limit\n msr msplim, r0\n"
#define HELX_CLEAR_STACK_LIMIT "movs r2, #0\n msr msplim, r2\n"
#else
#define HELX_SET_STACK_LIMIT
#define HELX_CLEAR_STACK_LIMIT
#endif

#ifdef __ARM_FP
/* CPACR: full access to CP10 and CP11, the floating-point unit and MVE. Before any C: a compiler may use them there. */
#define HELX_ENABLE_FPU                                              \
  "ldr r0, =0xe000ed88\n ldr r1, [r0]\n orr r1, r1, #0x00f00000\n " \
  "str r1, [r0]\n dsb\n isb\n"
#else
#define HELX_ENABLE_FPU
#endif

#define HELX_USE_FAULT_STACK "ldr r2, =helx_fault_stack + 4096\n mov sp, r2\n"

__attribute__((naked, used)) void helx_reset_entry(void) {
  __asm__ volatile(HELX_SET_STACK_LIMIT HELX_ENABLE_FPU "b helx_start\n .ltorg\n");
}

/* The stack limit goes first: after an overflow every push would fault again, and a fault inside HardFault locks up. */
__attribute__((naked, used)) void helx_fault_entry(void) {
  __asm__ volatile("mrs r0, msp\n" HELX_CLEAR_STACK_LIMIT HELX_USE_FAULT_STACK
                   "b helx_report_fault\n .ltorg\n");
}

__attribute__((naked, used)) void helx_limit_entry(void) {
  __asm__ volatile(HELX_CLEAR_STACK_LIMIT HELX_USE_FAULT_STACK "b helx_report_limit\n .ltorg\n");
}

__attribute__((noreturn, used)) void helx_start(void) {
  memcpy(__helx_data_start, __helx_data_load, (uint32_t)(__helx_data_end - __helx_data_start));
  memset(__helx_bss_start, 0, (uint32_t)(__helx_bss_end - __helx_bss_start));
  helx_board_init();
  helx_board_protect();
  helx_run();
}

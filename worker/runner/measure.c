#include "measure.h"

__attribute__((naked)) uint32_t helx_measure(uint32_t (*invoke)(void) __attribute__((unused)),
                                             volatile const uint32_t* counter
                                             __attribute__((unused)),
                                             helx_window* window __attribute__((unused))) {
  __asm__ volatile(
      "push {r4, r5, r6, lr}\n"
      "mov r4, r1\n"
      "mov r5, r2\n"
      "ldr r6, [r4]\n"
      "blx r0\n"
      "ldr r1, [r4]\n"
      "mov r2, sp\n"
      "str r6, [r5]\n"
      "str r1, [r5, #4]\n"
      "str r2, [r5, #8]\n"
      "pop {r4, r5, r6, pc}\n");
}

__attribute__((naked)) uint32_t helx_measure_nothing(void) { __asm__ volatile("bx lr\n"); }

__attribute__((naked)) void helx_stack_paint(uint32_t* limit __attribute__((unused))) {
  __asm__ volatile(
      "ldr r1, =0xa5c35a3c\n" /* HELX_STACK_PAINT */
      "mov r2, sp\n"
      "1: cmp r0, r2\n"
      "bhs 2f\n"
      "str r1, [r0], #4\n"
      "b 1b\n"
      "2: bx lr\n"
      ".ltorg\n");
}

uint32_t helx_stack_lowest(const uint32_t* limit, uint32_t top) {
  while ((uint32_t)limit < top && *limit == HELX_STACK_PAINT) ++limit;
  return (uint32_t)limit;
}

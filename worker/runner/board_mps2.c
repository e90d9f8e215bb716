/* The MPS2+ board under Arm's FPGA images: AN385 (Cortex-M3), AN386 (M4), AN500 (M7), AN505 (M33, Secure state). */
#include "board.h"
#include "mpu.h"
#include "uart_cmsdk.h"

/* Addresses and interrupts: Arm DAI0385, DAI0386, DAI0500, DAI0505; clocks as QEMU implements them.
 * Both counters and the timer derive from one clock. Under -icount shift=7 an instruction takes 128 ns: at 25 MHz 16 / 5
 * ticks, at 20 MHz 64 / 25. */
#if __ARM_ARCH >= 8
#define UART0 ((helx_uart_cmsdk*)0x50200000u)
#define FPGAIO 0x50302000u
#define DUAL_TIMER 0x50002000u
#define TIMER_IRQ 5
#define INTERRUPTS 124
#define CLOCK_HZ 20000000u
#define TICKS 64u
#define INSTRUCTIONS 25u
#else
#define UART0 ((helx_uart_cmsdk*)0x40004000u)
#define FPGAIO 0x40028000u
#define DUAL_TIMER 0x40002000u
#define TIMER_IRQ 10
#define INTERRUPTS 32
#define CLOCK_HZ 25000000u
#define TICKS 16u
#define INSTRUCTIONS 5u
#endif

#define CLK100HZ (*(volatile uint32_t*)(FPGAIO + 0x14u)) /* rises a hundred times a second */
#define COUNTER (*(volatile const uint32_t*)(FPGAIO + 0x18u)) /* ... with the clock */
#define PRESCALE (*(volatile uint32_t*)(FPGAIO + 0x1cu))

/* The first module of the CMSDK dual timer (Arm DDI 0479D, 4.4), which counts down. */
#define TIMER_LOAD (*(volatile uint32_t*)(DUAL_TIMER + 0x00u))
#define TIMER_CONTROL (*(volatile uint32_t*)(DUAL_TIMER + 0x08u))
#define TIMER_CLEAR (*(volatile uint32_t*)(DUAL_TIMER + 0x0cu))
#define TIMER_ENABLE (1u << 7)
#define TIMER_INTERRUPT (1u << 5)
#define TIMER_DIVIDE_SHIFT 2 /* 0: by 1; 1: by 16; 2: by 256 */
#define TIMER_32_BIT (1u << 1)
#define TIMER_ONE_SHOT 1u

#define NVIC_ISER0 (*(volatile uint32_t*)0xe000e100u)
#define AIRCR (*(volatile uint32_t*)0xe000ed0cu)

__attribute__((used, section(".helx_vectors"))) void* const helx_vectors[16 + INTERRUPTS] = {
    [0] = __helx_stack_top,
    [1] = (void*)helx_reset_entry,
    [2 ... 15] = (void*)helx_fault_entry,
    [16 ... 16 + TIMER_IRQ - 1] = (void*)helx_fault_entry,
    [16 + TIMER_IRQ] = (void*)helx_limit_entry,
    [16 + TIMER_IRQ + 1 ... 16 + INTERRUPTS - 1] = (void*)helx_fault_entry,
};

volatile const uint32_t* const helx_board_counter = &COUNTER;

void helx_board_init(void) {
  helx_uart_cmsdk_init(UART0);
  PRESCALE = 0;
  NVIC_ISER0 = 1u << TIMER_IRQ;
}

void helx_board_protect(void) { helx_mpu_enable(0x40000000u, 0x60000000u); }

void helx_board_uart_put(uint8_t byte) { helx_uart_cmsdk_put(UART0, byte); }

void helx_board_uart_drain(void) { helx_uart_cmsdk_drain(UART0); }

void helx_board_reset(void) {
  __asm__ volatile("dsb\n" ::: "memory");
  AIRCR = 0x05fa0004u; /* VECTKEY, SYSRESETREQ */
  for (;;) {
  }
}

/* The counter has 32 bits, less than three minutes. The slow one, which started with it, tells how often it has wrapped. */
uint64_t helx_board_ticks(uint32_t low) {
  const uint64_t about = (uint64_t)CLK100HZ * (CLOCK_HZ / 100u);
  return about + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)about);
}

uint64_t helx_board_instructions(uint64_t ticks) {
  /* A tick is less than half an instruction: whatever the counter's phase, the nearest whole number is the one. */
  return (ticks * INSTRUCTIONS + TICKS / 2) / TICKS;
}

void helx_board_limit(uint64_t instructions) {
  TIMER_CONTROL = TIMER_32_BIT;
  TIMER_CLEAR = 1;
  if (instructions == 0) return;
  uint64_t count = instructions * TICKS / INSTRUCTIONS + 1;
  uint32_t divide = 0;
  while (count > 0xffffffffu && divide < 2) {
    count = (count + 15) / 16;
    ++divide;
  }
  /* 340,000 million instructions: no run's wall clock allows as many. */
  if (count > 0xffffffffu) return;
  const uint32_t control =
      divide << TIMER_DIVIDE_SHIFT | TIMER_32_BIT | TIMER_INTERRUPT | TIMER_ONE_SHOT;
  TIMER_CONTROL = control;
  TIMER_LOAD = (uint32_t)count;
  TIMER_CONTROL = control | TIMER_ENABLE;
}

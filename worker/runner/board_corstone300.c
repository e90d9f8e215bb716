/* Corstone SSE-300 with a Cortex-M55: QEMU's mps3-an547 and Arm's FVP_Corstone_SSE-300. */
#include "board.h"
#include "mpu.h"
#include "uart_cmsdk.h"

/* Addresses: Arm DAI0547 (AN547) and the SSE-300 reference manual (101773). */
#define UART0 ((helx_uart_cmsdk*)0x49303000u)
#define CNTCR (*(volatile uint32_t*)0x58100000u)   /* system counter: control */
#define CNTCV_WRITE_LOW (*(volatile uint32_t*)0x58100008u)
#define CNTCV_WRITE_HIGH (*(volatile uint32_t*)0x5810000cu)
#define CNTCV_LOW (*(volatile uint32_t*)0x48101000u)
#define CNTCV_HIGH (*(volatile uint32_t*)0x48101004u)
#define TIMER0_CVAL_LOW (*(volatile uint32_t*)0x48000020u)
#define TIMER0_CVAL_HIGH (*(volatile uint32_t*)0x48000024u)
#define TIMER0_CTL (*(volatile uint32_t*)0x4800002cu)
#define TIMER0_IRQ 3
#define NVIC_ISER0 (*(volatile uint32_t*)0xe000e100u)
#define AIRCR (*(volatile uint32_t*)0xe000ed0cu)
#define CCR (*(volatile uint32_t*)0xe000ed14u)
#define CCR_LOB (1u << 19)

/* The counter runs at 32 MHz and is not scaled: QEMU rounds down once per rounding stage, and a scale that made one tick of
 * one instruction would round twice and misread every 125th instruction. Under -icount shift=5 an instruction takes 32 ns,
 * so n instructions after the counter's start it reads floor(n * 128 / 125). */
#define TICKS 128u
#define INSTRUCTIONS 125u

#define INTERRUPTS 96

__attribute__((used, section(".helx_vectors"))) void* const helx_vectors[16 + INTERRUPTS] = {
    [0] = __helx_stack_top,
    [1] = (void*)helx_reset_entry,
    [2 ... 15] = (void*)helx_fault_entry,
    [16 ... 16 + TIMER0_IRQ - 1] = (void*)helx_fault_entry,
    [16 + TIMER0_IRQ] = (void*)helx_limit_entry,
    [16 + TIMER0_IRQ + 1 ... 16 + INTERRUPTS - 1] = (void*)helx_fault_entry,
};

volatile const uint32_t* const helx_board_counter = &CNTCV_LOW;

void helx_board_init(void) {
  CCR |= CCR_LOB; /* low-overhead branches, as an M55 in use runs */
  helx_uart_cmsdk_init(UART0);
  CNTCR = 0;
  CNTCV_WRITE_LOW = 0;
  CNTCV_WRITE_HIGH = 0;
  CNTCR = 1u; /* on, from zero */
  NVIC_ISER0 = 1u << TIMER0_IRQ;
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

uint64_t helx_board_ticks(uint32_t low) {
  uint32_t high, now;
  do {
    high = CNTCV_HIGH;
    now = CNTCV_LOW;
  } while (high != CNTCV_HIGH);
  return ((uint64_t)high << 32 | now) - (uint32_t)(now - low);
}

uint64_t helx_board_instructions(uint64_t ticks) {
  /* The only n with floor(n * 128 / 125) == ticks. */
  return (ticks * INSTRUCTIONS + TICKS - 1) / TICKS;
}

void helx_board_limit(uint64_t instructions) {
  TIMER0_CTL = 0;
  if (instructions == 0) return;
  const uint64_t least =
      helx_board_ticks(CNTCV_LOW) + (instructions * TICKS + INSTRUCTIONS - 1) / INSTRUCTIONS;
  /* Four ticks are 125 ns. QEMU rounds a deadline between two nanoseconds down to a moment at which the comparison does not
   * hold yet, and tries again at that same moment for ever. */
  const uint64_t at = (least + 3) / 4 * 4;
  TIMER0_CVAL_LOW = (uint32_t)at;
  TIMER0_CVAL_HIGH = (uint32_t)(at >> 32);
  TIMER0_CTL = 1;
}

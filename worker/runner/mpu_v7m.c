#include "mpu.h"

/* Registers: Armv7-M Architecture Reference Manual, B3.5 (MPU_*). */
#define MPU_CTRL (*(volatile uint32_t*)0xe000ed94u)
#define MPU_RNR (*(volatile uint32_t*)0xe000ed98u)
#define MPU_RBAR (*(volatile uint32_t*)0xe000ed9cu)
#define MPU_RASR (*(volatile uint32_t*)0xe000eda0u)

/* RASR bits: execute never; access of privileged code; memory type (TEX, C, B). */
#define EXECUTE_NEVER (1u << 28)
#define NO_ACCESS (0u << 24)
#define READ_WRITE (1u << 24)
#define READ_ONLY (5u << 24)
#define NORMAL (1u << 19 | 1u << 17 | 1u << 16) /* write-back, write-allocate */
#define DEVICE (1u << 16)
#define ENABLE 1u

#define SUBREGIONS 8u
#define LEAST_LOG2 8u /* the smallest region with subregions */

#define NULL_PAGE_LOG2 10u

extern uint8_t __helx_code_start[], __helx_code_end[];
extern uint8_t __helx_weights_start[], __helx_weights_end[];
extern uint8_t __helx_data_region[], __helx_data_region_end[];
extern uint8_t __helx_arena_start[], __helx_arena_end[];
extern uint8_t __helx_staging[], __helx_staging_end[];

static uint32_t region_number;

static void Set(uint32_t base, uint32_t log2_bytes, uint32_t disabled, uint32_t attributes) {
  MPU_RNR = region_number++;
  MPU_RBAR = base;
  MPU_RASR = attributes | disabled << 8 | (log2_bytes - 1) << 1 | ENABLE;
}

/* One region around [start, end), without the eighths that lie outside of it. */
static void Allow(uint32_t start, uint32_t end, uint32_t attributes) {
  if (start == end) return;
  uint32_t log2_bytes = LEAST_LOG2;
  while (start >> log2_bytes != (end - 1) >> log2_bytes) ++log2_bytes;
  const uint32_t base = start >> log2_bytes << log2_bytes;
  const uint32_t step_log2 = log2_bytes - 3;
  uint32_t disabled = 0;
  for (uint32_t i = 0; i < SUBREGIONS; ++i) {
    if (base + ((i + 1) << step_log2) <= start || base + (i << step_log2) >= end) {
      disabled |= 1u << i;
    }
  }
  Set(base, log2_bytes, disabled, attributes);
}

void helx_mpu_enable(uint32_t peripherals, uint32_t peripherals_end) {
  MPU_CTRL = 0;
  Allow((uint32_t)__helx_code_start, (uint32_t)__helx_code_end, READ_ONLY | NORMAL);
  Allow((uint32_t)__helx_weights_start, (uint32_t)__helx_weights_end,
        READ_ONLY | EXECUTE_NEVER | NORMAL);
  Allow((uint32_t)__helx_data_region, (uint32_t)__helx_data_region_end,
        READ_WRITE | EXECUTE_NEVER | NORMAL);
  Allow((uint32_t)__helx_arena_start, (uint32_t)__helx_arena_end,
        READ_WRITE | EXECUTE_NEVER | NORMAL);
  Allow((uint32_t)__helx_staging, (uint32_t)__helx_staging_end,
        READ_ONLY | EXECUTE_NEVER | NORMAL);
  Allow(peripherals, peripherals_end, READ_WRITE | EXECUTE_NEVER | DEVICE);
  /* The vector table's page lies in the code's first eighth; of two regions the higher number wins. */
  Set(0, NULL_PAGE_LOG2, 0, NO_ACCESS | EXECUTE_NEVER);
  /* Enabled without the default map for privileged code, and off inside HardFault, so that reports get out. */
  MPU_CTRL = 1;
  __asm__ volatile("dsb\n isb\n" ::: "memory");
}

#include "mpu.h"

/* Registers: Armv8-M Architecture Reference Manual, D1.2 (MPU_*). */
#define MPU_CTRL (*(volatile uint32_t*)0xe000ed94u)
#define MPU_RNR (*(volatile uint32_t*)0xe000ed98u)
#define MPU_RBAR (*(volatile uint32_t*)0xe000ed9cu)
#define MPU_RLAR (*(volatile uint32_t*)0xe000eda0u)
#define MPU_MAIR0 (*(volatile uint32_t*)0xe000edc0u)

/* RBAR bits. */
#define EXECUTE_NEVER 1u
#define READ_ONLY (1u << 2)
/* RLAR bits: the index into MAIR0, and enable. */
#define NORMAL (0u << 1 | 1u)
#define DEVICE (1u << 1 | 1u)

extern uint8_t __helx_code_start[], __helx_code_end[];
extern uint8_t __helx_weights_start[], __helx_weights_end[];
extern uint8_t __helx_data_region[], __helx_data_region_end[];
extern uint8_t __helx_arena_start[], __helx_arena_end[];
extern uint8_t __helx_staging[], __helx_staging_end[];

static uint32_t region_number;

static void Allow(uint32_t start, uint32_t end, uint32_t access, uint32_t attributes) {
  if (start == end) return;
  MPU_RNR = region_number++;
  MPU_RBAR = start | access;
  MPU_RLAR = ((end - 1) & ~31u) | attributes;
}

void helx_mpu_enable(uint32_t peripherals, uint32_t peripherals_end) {
  MPU_CTRL = 0;
  MPU_MAIR0 = 0xffu | 0x04u << 8; /* normal write-back; device nGnRE */
  Allow((uint32_t)__helx_code_start, (uint32_t)__helx_code_end, READ_ONLY, NORMAL);
  Allow((uint32_t)__helx_weights_start, (uint32_t)__helx_weights_end, READ_ONLY | EXECUTE_NEVER,
        NORMAL);
  Allow((uint32_t)__helx_data_region, (uint32_t)__helx_data_region_end, EXECUTE_NEVER, NORMAL);
  Allow((uint32_t)__helx_arena_start, (uint32_t)__helx_arena_end, EXECUTE_NEVER, NORMAL);
  Allow((uint32_t)__helx_staging, (uint32_t)__helx_staging_end, READ_ONLY | EXECUTE_NEVER, NORMAL);
  Allow(peripherals, peripherals_end, EXECUTE_NEVER, DEVICE);
  /* Enabled without the default map for privileged code, and off inside HardFault, so that reports get out. */
  MPU_CTRL = 1;
  __asm__ volatile("dsb\n isb\n" ::: "memory");
}

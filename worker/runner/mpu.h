/* Memory protection from the linker script's symbols: mpu_v7m.c for Armv7-M (PMSAv7), mpu_v8m.c for Armv8-M (PMSAv8). */
#ifndef HELX_WORKER_RUNNER_MPU_H_
#define HELX_WORKER_RUNNER_MPU_H_

#include <stdint.h>

/* Code executable and read-only; weights, staging read-only; data and arena writable; [peripherals, peripherals_end)
 * device memory; all else faults, address 0 included (the hardware reads the vector table past the MPU). PMSAv7 rounds the
 * ends of code, weights and arena up to an eighth of a power of two, into memory that holds nothing. */
void helx_mpu_enable(uint32_t peripherals, uint32_t peripherals_end);

#endif /* HELX_WORKER_RUNNER_MPU_H_ */

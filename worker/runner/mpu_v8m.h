/* Memory protection of Armv8-M boards (PMSAv8), from the linker script's symbols. */
#ifndef HELX_WORKER_RUNNER_MPU_V8M_H_
#define HELX_WORKER_RUNNER_MPU_V8M_H_

#include <stdint.h>

/* Code executable and read-only; weights, staging read-only; data and arena writable; [peripherals, peripherals_end)
 * device memory; all else faults, address 0 included (the hardware reads the vector table past the MPU). */
void helx_mpu_v8m_enable(uint32_t peripherals, uint32_t peripherals_end);

#endif /* HELX_WORKER_RUNNER_MPU_V8M_H_ */

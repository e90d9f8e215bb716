/* What the parts of the runner share. */
#ifndef HELX_WORKER_RUNNER_RUNNER_H_
#define HELX_WORKER_RUNNER_RUNNER_H_

#include <stdint.h>

/* The invocation under way, warm-ups included, or HELX_NO_INVOCATION: for reports of faults. */
extern volatile uint32_t helx_invocation;

/* The whole acquisition; does not return. */
void helx_run(void) __attribute__((noreturn));

/* The end of a run by a fault or by the instruction limit; on a fresh stack. `frame`: where the stack pointer stood, which
 * is the exception's frame if one was written. */
void helx_report_fault(const uint32_t* frame) __attribute__((noreturn));
void helx_report_limit(void) __attribute__((noreturn));

#endif /* HELX_WORKER_RUNNER_RUNNER_H_ */

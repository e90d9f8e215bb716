/* The measured window and the stack's paint, in assembly: neither may depend on what a compiler makes of it. */
#ifndef HELX_WORKER_RUNNER_MEASURE_H_
#define HELX_WORKER_RUNNER_MEASURE_H_

#include <stdint.h>

typedef struct {
  uint32_t start;      /* counter's low word before the call */
  uint32_t end;        /* ... and after it */
  uint32_t stack;      /* stack pointer at the call */
} helx_window;

/* Calls invoke with the counter read directly before and after; returns invoke's result. */
uint32_t helx_measure(uint32_t (*invoke)(void), volatile const uint32_t* counter,
                      helx_window* window);

/* An invocation of one instruction, its return: measuring it tells what the window itself costs. */
uint32_t helx_measure_nothing(void);

#define HELX_STACK_PAINT 0xa5c35a3cu

/* Fills the free stack, from `limit` to the caller's stack pointer. */
void helx_stack_paint(uint32_t* limit);
/* The lowest word at or above `limit` that has lost its paint, or `top`. */
uint32_t helx_stack_lowest(const uint32_t* limit, uint32_t top);

#endif /* HELX_WORKER_RUNNER_MEASURE_H_ */

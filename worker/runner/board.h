/* What a board file gives the runner, and what the runner gives a board file. */
#ifndef HELX_WORKER_RUNNER_BOARD_H_
#define HELX_WORKER_RUNNER_BOARD_H_

#include <stdint.h>

/* Given by the board. */

/* Enables the UART's transmitter and the counter. Called once, before anything else of the board. */
void helx_board_init(void);
/* Turns on memory protection: code and constants read-only, nothing at address 0, nothing outside the memory map. */
void helx_board_protect(void);

void helx_board_uart_put(uint8_t byte);
void helx_board_uart_drain(void);
void helx_board_reset(void) __attribute__((noreturn));

/* The low word of the free-running counter, read directly at both ends of the measured window. */
extern volatile const uint32_t* const helx_board_counter;
/* The full count at the moment at which the low word read `low`. REQUIRES: called soon after that read. */
uint64_t helx_board_ticks(uint32_t low);
/* Instructions from helx_board_init to the moment at which the full count read `ticks`, exactly. */
uint64_t helx_board_instructions(uint64_t ticks);
/* Calls helx_limit_entry when the next `instructions` have been executed; 0 calls it off. */
void helx_board_limit(uint64_t instructions);

/* Given by the runner. */

void helx_reset_entry(void);
void helx_fault_entry(void);
void helx_limit_entry(void);
/* One past the last word of the stack: the linker script's. */
extern uint32_t __helx_stack_top[];
extern uint32_t __helx_stack_limit[];

#endif /* HELX_WORKER_RUNNER_BOARD_H_ */

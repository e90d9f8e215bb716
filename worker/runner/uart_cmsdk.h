/* The CMSDK APB UART (Arm DDI 0479D, 4.3), transmitter only. */
#ifndef HELX_WORKER_RUNNER_UART_CMSDK_H_
#define HELX_WORKER_RUNNER_UART_CMSDK_H_

#include <stdint.h>

typedef struct {
  volatile uint32_t data;
  volatile uint32_t state; /* bit 0: the transmit buffer is full */
  volatile uint32_t control;
  volatile uint32_t interrupt;
  volatile uint32_t divider;
} helx_uart_cmsdk;

static inline void helx_uart_cmsdk_init(helx_uart_cmsdk* uart) {
  uart->divider = 16; /* the smallest the device allows */
  uart->control = 1;
}

static inline void helx_uart_cmsdk_drain(const helx_uart_cmsdk* uart) {
  while (uart->state & 1) {
  }
}

static inline void helx_uart_cmsdk_put(helx_uart_cmsdk* uart, uint8_t byte) {
  helx_uart_cmsdk_drain(uart);
  uart->data = byte;
}

#endif /* HELX_WORKER_RUNNER_UART_CMSDK_H_ */

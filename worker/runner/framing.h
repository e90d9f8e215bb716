/* Sending frames (frames.h) over the board's UART. One frame at a time: begin, put, end. */
#ifndef HELX_WORKER_RUNNER_FRAMING_H_
#define HELX_WORKER_RUNNER_FRAMING_H_

#include <stdint.h>

/* Puts the stream at its start: sequence 0, nothing hashed. */
void helx_frames_begin(void);

void helx_frame_begin(uint8_t type);
void helx_frame_put_u32(uint32_t value);
void helx_frame_put_u64(uint64_t value);
/* REQUIRES: the payload stays within HELX_FRAME_PAYLOAD_MAX. */
void helx_frame_put(const void* data, uint32_t bytes);
void helx_frame_end(void);

/* Sends FINAL, drains the UART and ends the simulation (or resets the board). */
void helx_frames_finish(uint32_t status) __attribute__((noreturn));

/* CRC-32 (IEEE 802.3, reflected, as zlib's crc32). */
uint32_t helx_crc32(const void* data, uint32_t bytes);

#endif /* HELX_WORKER_RUNNER_FRAMING_H_ */

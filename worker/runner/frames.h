/* The frame stream from the runner to the worker: one definition for the firmware (C99) and the decoder (C++).
 *
 * On the wire a frame is 0x00, the COBS encoding of its bytes, 0x00. Its bytes are
 *   type u8 | sequence u32 | payload length u16 | payload | CRC-32 (IEEE 802.3) of all before
 * little-endian throughout. Sequence numbers start at 0 and rise by 1. The last frame of every stream is FINAL, whose
 * payload holds the SHA-256 of the bytes (type to CRC) of every frame before it.
 */
#ifndef HELX_WORKER_RUNNER_FRAMES_H_
#define HELX_WORKER_RUNNER_FRAMES_H_

#define HELX_PROTOCOL_VERSION 1u

#define HELX_FRAME_HEADER_BYTES 7u
#define HELX_FRAME_CRC_BYTES 4u
#define HELX_FRAME_PAYLOAD_MAX 1024u
#define HELX_FRAME_BYTES_MAX (HELX_FRAME_HEADER_BYTES + HELX_FRAME_PAYLOAD_MAX + HELX_FRAME_CRC_BYTES)

/* Payloads. All numbers are u32 unless a width is given; a digest is 32 bytes. */
enum {
  /* protocol version, request digest, CPUID, inputs, outputs: always the first frame. */
  HELX_FRAME_START = 1,
  /* reason (below), detail, detail, digest: the runner will not invoke. FINAL follows. */
  HELX_FRAME_REFUSAL = 2,
  /* warm-ups, samples, state, capture, poison, input sets: inputs hashed, about to invoke. */
  HELX_FRAME_READY = 3,
  /* warm-ups done so far: a sign of life without a measurement. */
  HELX_FRAME_WARMUP = 4,
  /* sample, instructions u64. */
  HELX_FRAME_SAMPLE = 5,
  /* sample, output, bytes, digest of the output's bytes. */
  HELX_FRAME_SIGNATURE = 6,
  /* sample, output, offset, bytes: up to HELX_DATA_BYTES_MAX bytes of an output, in order. */
  HELX_FRAME_DATA = 7,
  /* stack bytes below the call of invoke (largest of all invocations), stack bytes in all, stack reserved. */
  HELX_FRAME_STACK = 8,
  /* exception number, CFSR, HFSR, MMFAR, BFAR, PC, LR, xPSR, SP, whether PC/LR/xPSR could be read, invocation. */
  HELX_FRAME_FAULT = 9,
  /* invocation, operator index: invoke could not go on. */
  HELX_FRAME_OPERATOR_ERROR = 10,
  /* invocation, limit u64: an invocation executed more instructions than allowed. */
  HELX_FRAME_LIMIT = 11,
  /* invocation, operator, output, total bytes, offset, bytes: a diagnostic build's intermediate tensor. */
  HELX_FRAME_PROBE = 12,
  /* status (below), frames before this one, digest. */
  HELX_FRAME_FINAL = 13,
};

#define HELX_DATA_HEADER_BYTES 12u
#define HELX_DATA_BYTES_MAX (HELX_FRAME_PAYLOAD_MAX - HELX_DATA_HEADER_BYTES)
#define HELX_PROBE_HEADER_BYTES 20u
#define HELX_PROBE_BYTES_MAX (HELX_FRAME_PAYLOAD_MAX - HELX_PROBE_HEADER_BYTES)

/* In place of an invocation's number: before the first, or between two. */
#define HELX_NO_INVOCATION 0xffffffffu

enum {
  HELX_FINAL_COMPLETE = 0,
  HELX_FINAL_REFUSED = 1,
  HELX_FINAL_FAULT = 2,
  HELX_FINAL_OPERATOR_ERROR = 3,
  HELX_FINAL_LIMIT = 4,
};

/* Why a runner refuses; the two details of the REFUSAL frame in parentheses. */
enum {
  HELX_REFUSE_NO_LOADER_BLOCK = 1,   /* (magic found, expected): nothing was loaded at the staging address */
  HELX_REFUSE_LOADER_VERSION = 2,    /* (found, expected) */
  HELX_REFUSE_LOADER_CRC = 3,        /* (found, expected) */
  HELX_REFUSE_ACQUISITION = 4,       /* (warm-ups, samples): out of range, or unknown state or capture value */
  HELX_REFUSE_INPUT_SETS = 5,        /* (found, compiled in), or several sets without one per sample */
  HELX_REFUSE_INPUT_LAYOUT = 6,      /* (bytes found, bytes the model takes) */
  HELX_REFUSE_INPUT_DIGEST = 7,      /* (set, input); the digest is what the loaded bytes hash to */
  HELX_REFUSE_COUNTER = 8,           /* (ticks of an empty call, of a second): the counter does not count */
};

#endif /* HELX_WORKER_RUNNER_FRAMES_H_ */

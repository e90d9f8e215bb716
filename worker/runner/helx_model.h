/* What a model's generated code offers to the runner, whichever engine made it. C99, freestanding.
 *
 * One image holds exactly one model. The runner owns the order of an invocation:
 *   poison arena -> refill inputs -> (reset variables) -> counter on -> invoke -> counter off -> signatures, outputs.
 */
#ifndef HELX_WORKER_RUNNER_HELX_MODEL_H_
#define HELX_WORKER_RUNNER_HELX_MODEL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in the model's own layout and storage type: row-major, little-endian, 16-byte aligned. */
typedef struct {
  void* data;
  uint32_t bytes;
} helx_tensor;

/* A block of memory the runner fills with a poison pattern before every invocation. */
typedef struct {
  void* data;
  uint32_t bytes;
} helx_region;

typedef struct {
  uint32_t input_count;
  uint32_t output_count;
  uint32_t region_count;
  const helx_tensor* inputs;   /* in model-index order; may lie in a region */
  const helx_tensor* outputs;
  const helx_region* regions;  /* activations and scratch; variables lie elsewhere */
  void (*reset_variables)(void);
  /* 0, or 1 + the index of the operator that could not go on. */
  uint32_t (*invoke)(void);
} helx_model;

extern const helx_model helx_the_model;

/* Constants of the tensor request: the one object that differs between two requests of the same model. */
extern const uint8_t helx_request_digest[32];      /* SHA-256 of the canonical tensor request */
extern const uint8_t helx_input_digests[][32];     /* SHA-256 of every input set's inputs, set-major */
extern const uint32_t helx_input_set_count;        /* 1, or one set per sample */

/* A diagnostic build (-DHELX_PROBE) calls this after each operator for each of its outputs. */
void helx_probe(uint32_t operator_index, uint32_t output, const void* data, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* HELX_WORKER_RUNNER_HELX_MODEL_H_ */

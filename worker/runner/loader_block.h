/* What the emulator's loader puts at a board's staging address: how to run the image, then the input bytes. Nothing of
 * it is in the image, so one image serves every acquisition.
 *
 * Layout, little-endian: the block below, zeros up to HELX_LOADER_INPUT_OFFSET, then for each input set each input's
 * bytes in model-index order, every input padded with zeros to a multiple of HELX_LOADER_ALIGNMENT.
 */
#ifndef HELX_WORKER_RUNNER_LOADER_BLOCK_H_
#define HELX_WORKER_RUNNER_LOADER_BLOCK_H_

#include <stdint.h>

#define HELX_LOADER_MAGIC 0x4c584c48u /* "HLXL" */
#define HELX_LOADER_VERSION 1u
#define HELX_LOADER_INPUT_OFFSET 64u
#define HELX_LOADER_ALIGNMENT 16u

#define HELX_STATE_RESET 0u /* variables take their initial values before every invocation */
#define HELX_STATE_CARRY 1u /* ... once, before the first */

#define HELX_WARMUP_MAX 1000u
#define HELX_SAMPLES_MAX 1000u

typedef struct {
  uint32_t magic;
  uint32_t version;
  uint32_t warmup;
  uint32_t samples;
  uint32_t state;
  uint32_t capture;          /* 1: outputs as bytes beside their signatures */
  uint32_t poison;           /* the word that fills activations and scratch before every invocation */
  uint32_t input_set_count;  /* 1, or one set per sample */
  uint32_t input_bytes;      /* of all sets together, padding included */
  uint32_t reserved;         /* 0 */
  uint32_t limit_low;        /* most instructions of one invocation; 0: no limit */
  uint32_t limit_high;
  uint32_t crc;              /* CRC-32 of the block up to here */
} helx_loader_block;

#endif /* HELX_WORKER_RUNNER_LOADER_BLOCK_H_ */

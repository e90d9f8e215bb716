/* SHA-256 (FIPS 180-4) for the target. */
#ifndef HELX_WORKER_RUNNER_SHA256_H_
#define HELX_WORKER_RUNNER_SHA256_H_

#include <stdint.h>

typedef struct {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
} helx_sha256;

void helx_sha256_begin(helx_sha256* hash);
void helx_sha256_update(helx_sha256* hash, const void* data, uint32_t bytes);
void helx_sha256_end(helx_sha256* hash, uint8_t digest[32]);
void helx_sha256_of(const void* data, uint32_t bytes, uint8_t digest[32]);

#endif /* HELX_WORKER_RUNNER_SHA256_H_ */

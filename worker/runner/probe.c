/* A diagnostic build's intermediate tensors: linked in only when the generated code calls it. */
#include "board.h"
#include "frames.h"
#include "framing.h"
#include "helx_model.h"
#include "runner.h"

void helx_probe(uint32_t operator_index, uint32_t output, const void* data, uint32_t bytes) {
  const uint8_t* from = data;
  uint32_t offset = 0;
  do {
    const uint32_t left = bytes - offset;
    const uint32_t count = left < HELX_PROBE_BYTES_MAX ? left : HELX_PROBE_BYTES_MAX;
    helx_frame_begin(HELX_FRAME_PROBE);
    helx_frame_put_u32(helx_invocation);
    helx_frame_put_u32(operator_index);
    helx_frame_put_u32(output);
    helx_frame_put_u32(bytes);
    helx_frame_put_u32(offset);
    helx_frame_put(from + offset, count);
    helx_frame_end();
    offset += count;
  } while (offset < bytes);
}

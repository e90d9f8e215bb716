#include "framing.h"

#include <string.h>

#include "board.h"
#include "frames.h"
#include "sha256.h"

static struct {
  uint8_t bytes[HELX_FRAME_BYTES_MAX];
  uint32_t used;
  uint32_t sequence;
  helx_sha256 hash;
} stream;

uint32_t helx_crc32(const void* data, uint32_t bytes) {
  /* One entry per nibble: 64 bytes of table, two look-ups per byte. */
  static const uint32_t kTable[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const uint8_t* p = data;
  uint32_t crc = 0xffffffff;
  for (uint32_t i = 0; i < bytes; ++i) {
    crc ^= p[i];
    crc = (crc >> 4) ^ kTable[crc & 15];
    crc = (crc >> 4) ^ kTable[crc & 15];
  }
  return ~crc;
}

void helx_frames_begin(void) {
  stream.sequence = 0;
  helx_sha256_begin(&stream.hash);
}

void helx_frame_put(const void* data, uint32_t bytes) {
  memcpy(stream.bytes + stream.used, data, bytes);
  stream.used += bytes;
}

void helx_frame_put_u32(uint32_t value) { helx_frame_put(&value, 4); }
void helx_frame_put_u64(uint64_t value) { helx_frame_put(&value, 8); }

void helx_frame_begin(uint8_t type) {
  stream.used = 0;
  helx_frame_put(&type, 1);
  helx_frame_put_u32(stream.sequence);
  stream.used = HELX_FRAME_HEADER_BYTES; /* the length is filled in at the end */
}

/* Consistent overhead byte stuffing (Cheshire and Baker 1999): no zero inside, a zero on either side. */
static void SendStuffed(const uint8_t* bytes, uint32_t count) {
  helx_board_uart_put(0);
  uint32_t i = 0;
  for (;;) {
    uint32_t run = 0;
    while (run < 254 && i + run < count && bytes[i + run] != 0) ++run;
    helx_board_uart_put((uint8_t)(run + 1));
    for (uint32_t k = 0; k < run; ++k) helx_board_uart_put(bytes[i + k]);
    i += run;
    if (i == count) break;
    if (run < 254) {
      ++i; /* the zero that the run's length stands for */
      if (i == count) {
        helx_board_uart_put(1);
        break;
      }
    }
  }
  helx_board_uart_put(0);
}

void helx_frame_end(void) {
  const uint16_t length = (uint16_t)(stream.used - HELX_FRAME_HEADER_BYTES);
  memcpy(stream.bytes + 5, &length, 2);
  helx_frame_put_u32(helx_crc32(stream.bytes, stream.used));
  helx_sha256_update(&stream.hash, stream.bytes, stream.used);
  ++stream.sequence;
  SendStuffed(stream.bytes, stream.used);
}

void helx_frames_finish(uint32_t status) {
  uint8_t digest[32];
  helx_sha256_end(&stream.hash, digest);
  helx_frame_begin(HELX_FRAME_FINAL);
  helx_frame_put_u32(status);
  helx_frame_put_u32(stream.sequence);
  helx_frame_put(digest, 32);
  helx_frame_end();
  helx_board_uart_drain();
  helx_board_reset();
}

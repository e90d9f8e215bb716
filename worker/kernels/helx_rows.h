/* A sliding window of padded input rows, for convolutions that read no pixel outside the image.
 *
 * The last `count` rows of the (vertically padded) input are kept in a ring, each with its left and right padding filled in
 * with the input's zero point. Kernels then need no border cases, zero points fold into the bias exactly, and because every
 * input row is copied before it is needed, an output may overwrite its input (see helx_engine's in-place rule).
 */
#ifndef HELX_ROWS_H_
#define HELX_ROWS_H_

#include <stdint.h>
#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

/* memmove to lower addresses and memset, for runs of a few dozen bytes at any alignment, which the C library does byte by byte. */
static inline void helx_copy_bytes(int8_t* to, const int8_t* from, int32_t bytes) {
#if defined(__ARM_FEATURE_MVE)
  /* Written out: gcc 12 surrounds the tail-predicated loop with moves. */
  __asm__ volatile(
      "wlstp.8 lr, %2, 2f\n"
      "1: vldrb.u8 q0, [%1], #16\n"
      "vstrb.8 q0, [%0], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : "+r"(to), "+r"(from)
      : "r"(bytes)
      : "lr", "q0", "memory", "cc");
#else
  for (; bytes >= 4; bytes -= 4, to += 4, from += 4) __builtin_memcpy(to, from, 4);
  for (; bytes > 0; --bytes) *to++ = *from++;
#endif
}

static inline void helx_fill_bytes(int8_t* to, int32_t value, int32_t bytes) {
#if defined(__ARM_FEATURE_MVE)
  const int8x16_t vector = vdupq_n_s8((int8_t)value);
  for (; bytes >= 16; bytes -= 16, to += 16) vst1q_s8(to, vector);
#endif
  const uint32_t word = (uint32_t)(uint8_t)value * 0x01010101u;
  for (; bytes >= 4; bytes -= 4, to += 4) __builtin_memcpy(to, &word, 4);
  for (; bytes > 0; --bytes) *to++ = (int8_t)value;
}

typedef struct {
  int32_t in_h;
  int32_t row_bytes;    /* of an input row that are copied: columns in use * channels */
  int32_t row_stride;   /* of an input row in the tensor */
  int32_t left_bytes;   /* padding columns * channels */
  int32_t padded_bytes; /* left + row + right */
  int32_t count;        /* rows in the ring: (filter_h - 1) * dilation_h + 1 */
  int32_t zero_point;
} helx_rows_shape;

typedef struct {
  const int8_t* input; /* image */
  int8_t* ring;        /* count * padded_bytes, then HELX_ROWS_SLACK bytes that may be read */
  int32_t next;        /* the first row that is not in the ring yet; may be negative or beyond the image */
  int32_t slot;        /* where it goes */
} helx_rows;

enum { HELX_ROWS_SLACK = 16 };

static inline void helx_rows_start(helx_rows* rows, const helx_rows_shape* shape,
                                   const int8_t* input, int8_t* ring, int32_t first) {
  rows->input = input;
  rows->ring = ring;
  rows->next = first;
  rows->slot = 0;
  helx_fill_bytes(ring, shape->zero_point, shape->count * shape->padded_bytes);
}

/* Makes [last + 1 - count, last] the rows in the ring. Returns the slot of the oldest; slots follow each other modulo count. */
static inline int32_t helx_rows_advance(helx_rows* rows, const helx_rows_shape* shape,
                                        int32_t last) {
  for (; rows->next <= last; ++rows->next) {
    int8_t* row = rows->ring + rows->slot * shape->padded_bytes + shape->left_bytes;
    if (rows->next >= 0 && rows->next < shape->in_h) {
      helx_copy_bytes(row, rows->input + rows->next * shape->row_stride, shape->row_bytes);
    } else {
      helx_fill_bytes(row, shape->zero_point, shape->row_bytes);
    }
    if (++rows->slot == shape->count) rows->slot = 0;
  }
  return rows->slot;
}

#endif /* HELX_ROWS_H_ */

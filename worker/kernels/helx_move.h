/* Kernels that move elements without looking at them. Strides, offsets and sizes are in bytes unless said otherwise. */
#ifndef HELX_MOVE_H_
#define HELX_MOVE_H_

#include <stdint.h>

typedef struct {
  int32_t bytes;
} helx_copy_params;

void helx_copy(const helx_copy_params* p, const void* input, void* output);

/* Copies `run` bytes at every position of a box of up to eight dimensions. Strides may be 0 (repeat) or negative (reverse). */
typedef struct {
  int32_t rank; /* 0..8 */
  int32_t run;
  int32_t input_offset, output_offset;
  int32_t size[8];
  int32_t input_stride[8];
  int32_t output_stride[8];
} helx_move_params;

void helx_move(const helx_move_params* p, const void* input, void* output);

/* Writes one element of 1, 2, 4 or 8 bytes `count` times. */
typedef struct {
  int32_t count;
  int32_t bytes;
  uint64_t value; /* the element, little-endian */
} helx_fill_params;

void helx_fill(const helx_fill_params* p, void* output);
/* The same with the element read from memory. */
void helx_fill_from(const helx_fill_params* p, const void* value, void* output);

/* output[b][o][i][...] = input[b][o][index[b][i]][...]. */
typedef struct {
  int32_t batches; /* positions of the leading dimensions that input and indices share */
  int32_t outer;
  int32_t axis;    /* entries to choose from */
  int32_t indices; /* per batch */
  int32_t run;     /* bytes of an entry */
} helx_gather_params;

/* 0 when an index is out of range. */
int32_t helx_gather_i16(const helx_gather_params* p, const void* input, const int16_t* indices,
                        void* output);
int32_t helx_gather_i32(const helx_gather_params* p, const void* input, const int32_t* indices,
                        void* output);
int32_t helx_gather_i64(const helx_gather_params* p, const void* input, const int64_t* indices,
                        void* output);

/* Every row of `indices` names a slice of the input by its leading `depth` coordinates. */
typedef struct {
  int32_t rows;
  int32_t depth; /* 0..8 */
  int32_t run;   /* bytes of a slice */
  int32_t size[8];
  int32_t stride[8];
} helx_gather_nd_params;

/* 0 when an index is out of range. */
int32_t helx_gather_nd_i16(const helx_gather_nd_params* p, const void* input,
                           const int16_t* indices, void* output);
int32_t helx_gather_nd_i32(const helx_gather_nd_params* p, const void* input,
                           const int32_t* indices, void* output);
int32_t helx_gather_nd_i64(const helx_gather_nd_params* p, const void* input,
                           const int64_t* indices, void* output);

/* Puts rows of `updates` where `indices` says; the output holds zeros before. Rows that meet are added for numbers. */
int32_t helx_scatter_nd_f32(const helx_gather_nd_params* p, const int32_t* indices,
                            const float* updates, float* output);
int32_t helx_scatter_nd_i32(const helx_gather_nd_params* p, const int32_t* indices,
                            const int32_t* updates, int32_t* output);
int32_t helx_scatter_nd_8(const helx_gather_nd_params* p, const int32_t* indices,
                          const uint8_t* updates, uint8_t* output);

/* Copies a box into a tensor at a position that is known at run time, clamped so that the box lies inside. */
typedef struct {
  int32_t rank;
  int32_t bytes; /* of an element */
  int32_t size[8];   /* of the tensor, in elements */
  int32_t update[8]; /* of the box, in elements */
} helx_update_slice_params;

void helx_update_slice_i32(const helx_update_slice_params* p, const void* update,
                           const int32_t* start, void* output);
void helx_update_slice_i64(const helx_update_slice_params* p, const void* update,
                           const int64_t* start, void* output);

/* Takes a box of the output's size out of a tensor at a position that is known at run time; 0 when it leaves the tensor. */
int32_t helx_slice_i32(const helx_update_slice_params* p, const void* input, const int32_t* start,
                       void* output);
int32_t helx_slice_i64(const helx_update_slice_params* p, const void* input, const int64_t* start,
                       void* output);

/* output[outer][axis][run] with the entry at axis position index[...] set to `on`, the others `off`. */
typedef struct {
  int32_t outer, depth, inner;
  int32_t bytes; /* of an element */
} helx_one_hot_params;

void helx_one_hot_i32(const helx_one_hot_params* p, const int32_t* indices, const void* on,
                      const void* off, void* output);
void helx_one_hot_i64(const helx_one_hot_params* p, const int64_t* indices, const void* on,
                      const void* off, void* output);

/* Reverses the first length[b] entries along one dimension, for every batch. All sizes in entries of `run` bytes. */
typedef struct {
  int32_t batches, batch_stride;
  int32_t entries, entry_stride;
  int32_t others, other_stride; /* what lies between or outside the two dimensions */
  int32_t middles, middle_stride;
  int32_t run;
} helx_reverse_sequence_params;

int32_t helx_reverse_sequence_i32(const helx_reverse_sequence_params* p, const void* input,
                                  const int32_t* lengths, void* output);
int32_t helx_reverse_sequence_i64(const helx_reverse_sequence_params* p, const void* input,
                                  const int64_t* lengths, void* output);

/* A queue of `slots` entries of `run` bytes: drops the oldest, appends the input, hands out all, oldest first. */
typedef struct {
  int32_t slots;
  int32_t run;
} helx_queue_params;

void helx_queue(const helx_queue_params* p, const void* input, void* state, void* output);

#endif /* HELX_MOVE_H_ */

/* Layers that carry state from one invocation to the next. */
#ifndef HELX_STATE_H_
#define HELX_STATE_H_

#include <stdint.h>

/* SVDF: a memory of the last products of every filter, weighted over time and summed over `rank` filters per unit. */
typedef struct {
  int32_t batches, in_depth, filters, memory, rank;
  int32_t state_zero_point, output_zero_point;
  int32_t multiplier_in, shift_in;   /* products to the state's scale */
  int32_t multiplier_out, shift_out; /* weighted memories to the output's scale */
  const int8_t* feature_weights; /* [filters][in_depth] */
  const int32_t* feature_bias;   /* [filters]: -input zero point * sum(feature weights) */
  const void* time_weights;      /* [filters][memory], of the state's type */
  const int32_t* bias;           /* [filters / rank], with -state zero point * sum(time weights) */
} helx_svdf_params;

/* state: [batches][filters][memory]. */
void helx_svdf_s8_s8(const helx_svdf_params* p, const int8_t* input, int8_t* state,
                     int8_t* output);
void helx_svdf_s8_s16(const helx_svdf_params* p, const int8_t* input, int16_t* state,
                      int8_t* output);

typedef struct {
  int32_t batches, in_depth, filters, memory, rank;
  float lowest, highest;
  const float* feature_weights;
  const float* time_weights;
  const float* bias; /* or 0 */
} helx_svdf_f32_params;

void helx_svdf_f32(const helx_svdf_f32_params* p, const float* input, float* state, float* output);

/* Sequences: `steps` of every batch, the batches or the steps being the outer dimension of input and output. */
typedef struct {
  int32_t batches, steps, time_major;
  int32_t in_depth; /* of the input */
  int32_t cells;
  int32_t out_depth; /* of the output and the hidden state; `cells` without a projection */
} helx_lstm_shape;

/* One gate's products; zero points are folded into the biases. */
typedef struct {
  const int8_t* input_weights;     /* [cells][in_depth] */
  const int8_t* recurrent_weights; /* [cells][out_depth] */
  const int64_t* input_bias;       /* [cells] */
  const int64_t* recurrent_bias;   /* [cells] */
  int32_t input_multiplier, input_shift; /* for int16 activations as in helx_channel_s16 */
  int32_t recurrent_multiplier, recurrent_shift;
} helx_lstm_gate;

/* LSTM with int8 or int16 activations, int16 cells and gates by table (TFLite Micro's arithmetic). */
typedef struct {
  helx_lstm_shape shape;
  helx_lstm_gate input, forget, cell, output;
  int32_t tanh_multiplier, tanh_shift; /* of the cell, as in helx_sigmoid_s16_params */
  int32_t forget_multiplier, forget_shift;
  int32_t input_multiplier, input_shift;
  int32_t output_multiplier, output_shift;
  int32_t output_zero_point;
  int32_t cell_clip; /* 0: none */
  const uint16_t* table;
} helx_lstm_params;

/* scratch: 4 times cells, rounded up to a multiple of 4; then in_depth + out_depth for int8. out_depth == cells. */
void helx_lstm_s8(const helx_lstm_params* p, const int8_t* input, int8_t* hidden, int16_t* cell,
                  int16_t* scratch, int8_t* output);
void helx_lstm_s16(const helx_lstm_params* p, const int16_t* input, int16_t* hidden, int16_t* cell,
                   int16_t* scratch, int16_t* output);

/* The same for the DSP extension; of every filter, each four whole weights are stored in the order 0, 2, 1, 3. */
void helx_dsp_lstm_s16(const helx_lstm_params* p, const int16_t* input, int16_t* hidden,
                       int16_t* cell, int16_t* scratch, int16_t* output);

/* One gate of the full form; pointers may be 0. */
typedef struct {
  const int8_t* input_weights;     /* 0: the gate is one minus the forget gate */
  const int8_t* recurrent_weights;
  const int16_t* cell_weights; /* peephole, [cells] */
  const int16_t* norm_weights; /* layer normalisation, [cells] */
  const int32_t* norm_bias;
  const int32_t* input_bias;
  const int32_t* recurrent_bias;
  int32_t input_multiplier, input_shift;
  int32_t recurrent_multiplier, recurrent_shift;
  int32_t cell_multiplier, cell_shift;
  int32_t norm_multiplier, norm_shift;
  int32_t variance_limit;
} helx_lstm_full_gate;

/* LSTM with layer normalisation, projection, peepholes or coupled gates; int8 activations, int16 cells, gates in 16-bit
 * fixed point (the arithmetic of TFLite for applications). */
typedef struct {
  helx_lstm_shape shape;
  helx_lstm_full_gate input, forget, cell, output;
  int32_t cell_integer_bits; /* 0..6 */
  int32_t cell_clip;         /* 0: none */
  int32_t hidden_multiplier, hidden_shift, hidden_zero_point;
  const int8_t* projection_weights; /* [out_depth][cells], or 0 */
  const int32_t* projection_bias;
  int32_t projection_multiplier, projection_shift;
  int32_t projection_clip; /* 0: none */
  int32_t output_zero_point;
} helx_lstm_full_params;

/* scratch: 8 * cells bytes of gates, then cells bytes. */
void helx_lstm_full_s8(const helx_lstm_full_params* p, const int8_t* input, int8_t* hidden,
                       int16_t* cell, int16_t* scratch, int8_t* output);

typedef struct {
  const float* input_weights; /* 0: the gate is one minus the forget gate */
  const float* recurrent_weights;
  const float* cell_weights; /* peephole, or 0 */
  const float* norm_weights; /* layer normalisation, or 0 */
  const float* bias;         /* or 0 */
} helx_lstm_f32_gate;

typedef struct {
  helx_lstm_shape shape;
  helx_lstm_f32_gate input, forget, cell, output;
  float cell_clip; /* 0: none */
  const float* projection_weights; /* or 0 */
  const float* projection_bias;
  float projection_clip; /* 0: none */
} helx_lstm_f32_params;

/* scratch: 4 * cells floats. */
void helx_lstm_f32(const helx_lstm_f32_params* p, const float* input, float* hidden, float* cell,
                   float* scratch, float* output);

#endif /* HELX_STATE_H_ */

// Lowerings of int8 convolutions and fully-connected layers to kernels for instruction-set extensions.
//
// Each returns nothing when its kernels cannot do the case exactly; the portable kernels then take it. What the kernels read
// is packed here: the layouts are defined in the kernels' headers (worker/kernels/mve_*.h, dsp_*.h).
#ifndef HELX_WORKER_ENGINE_OPS_INT8_KERNELS_H_
#define HELX_WORKER_ENGINE_OPS_INT8_KERNELS_H_

#include <optional>
#include <vector>

#include "worker/engine/ops/common.h"

namespace helx::engine {

// Filters with what follows their sums: y = clamp(requantise(bias + sum) + zero_point).
struct Int8Filters {
  int32_t count = 0;
  int32_t depth = 0;
  std::vector<int8_t> weights;           // [count][depth]
  std::vector<int32_t> bias;             // with -input zero point * sum(weights) folded in
  std::vector<FixedMultiplier> scales;   // [count]
  int32_t output_zero_point = 0;
  IntegerRange range{-128, 127};
};

struct Int8Convolution {
  int32_t batches = 1;
  Window rows{}, columns{};
  int32_t in_c = 0;
  int32_t groups = 1;  // CONV_2D only
  bool depthwise = false;
  int32_t input_zero_point = 0;
  // CONV_2D: depth = taps * in_c / groups in TFLite's order. DEPTHWISE_CONV_2D: depth = taps.
  Int8Filters filters;
};

struct Int8FullyConnected {
  int32_t rows = 0;
  Int8Filters filters;
};

// Function, parameters, scratch and aliases; the tensor arguments and `macs` are the caller's. The first two choose by the
// board's core.
std::optional<Lowering> LowerForIsa(const Int8Convolution& c, const LowerContext& context);
std::optional<Lowering> LowerForIsa(const Int8FullyConnected& f, const LowerContext& context);
std::optional<Lowering> LowerMveConvolution(const Int8Convolution& c, const LowerContext& context);
std::optional<Lowering> LowerMveFullyConnected(const Int8FullyConnected& f,
                                               const LowerContext& context);
std::optional<Lowering> LowerDspConvolution(const Int8Convolution& c, const LowerContext& context);
std::optional<Lowering> LowerDspFullyConnected(const Int8FullyConnected& f,
                                               const LowerContext& context);

// A depthwise convolution of one input channel is a convolution with as many filters.
Int8Convolution AsConvolution(const Int8Convolution& c);
// One output position per image, whose window is contiguous and begins where the image does.
bool IsFullyConnected(const Int8Convolution& c);

// How a kernel that keeps input rows in a ring (helx_rows.h) sees the input.
struct RowsShape {
  int32_t in_h;
  int32_t row_bytes;
  int32_t row_stride;
  int32_t left_bytes;
  int32_t padded_bytes;
  int32_t count;
  int32_t zero_point;
};
RowsShape MakeRowsShape(const Int8Convolution& c);
// ".rows = {...}" of type helx_rows_shape.
std::string RowsField(const RowsShape& shape);
// Whether such a kernel may write its output where its input lies: every output row ends before the first input row that has
// not been copied into the ring when it is written.
bool RowsAllowInPlace(const Int8Convolution& c);
// The output in the input's place where RowsAllowInPlace, else nothing.
std::vector<Alias> RowsAliases(const Int8Convolution& c, const LowerContext& context);

// The fields with which the parameters of both sets' direct convolutions begin: sizes, and the runs of contiguous bytes that
// a window is gathered by.
std::vector<std::string> GatherFields(const Int8Convolution& c, const RowsShape& rows);

inline int32_t RoundUp(int32_t value, int32_t unit) { return (value + unit - 1) / unit * unit; }

// Little-endian bytes of a packed stream.
class PackedStream {
 public:
  void Byte(int32_t value) { bytes_.push_back(static_cast<uint8_t>(value)); }
  void Half(int32_t value);
  void Word(int32_t value);
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_INT8_KERNELS_H_

// Comparison of 16 MiB tensors: every element differs, half of them within the tolerance. "operand"
// counts the bytes of both tensors.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base/splitmix64.h"
#include "core/tensor/compare_kernel.h"

namespace helx {
namespace {

constexpr int64_t kBytes = int64_t{16} << 20;

struct Operands {
  TensorSpec spec;
  std::string actual;
  std::string reference;
};

template <typename T>
Operands Make(DType dtype) {
  const auto count = static_cast<size_t>(kBytes) / sizeof(T);
  std::vector<T> actual(count), reference(count);
  SplitMix64 random(1);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t draw = random.Next();
    const bool within = (draw >> 63) != 0;
    if constexpr (std::is_integral_v<T>) {
      // Differs by 1, or by 3 to 66.
      reference[i] = static_cast<T>(static_cast<int>(draw % 120) - 60);
      actual[i] = static_cast<T>(reference[i] + (within ? 1 : 3 + static_cast<int>(draw >> 32 & 63)));
    } else {
      // 1 to 2, off by up to 1e-3 of it, or by 1e-2 and more.
      reference[i] = static_cast<T>(1 + static_cast<double>(draw >> 40 & 0x3fffff) * 0x1p-22);
      const double part = static_cast<double>(draw & 0xffff) * 0x1p-16;
      actual[i] = static_cast<T>(reference[i] * (within ? 1 + 1e-4 + 8e-4 * part : 1.01 + part));
    }
  }
  Operands operands{{0, "t", dtype, {static_cast<int64_t>(count)}}, {}, {}};
  operands.actual.assign(reinterpret_cast<const char*>(actual.data()), kBytes);
  operands.reference.assign(reinterpret_cast<const char*>(reference.data()), kBytes);
  return operands;
}

void Run(benchmark::State& state, const Operands& operands, const Tolerance& tolerance,
         CompareIsa isa) {
  if (isa == CompareIsa::kAvx2 && BestCompareIsa() != isa) {
    state.SkipWithError("this processor has no AVX2");
    return;
  }
  const auto elements = operands.spec.shape[0];
  for (auto _ : state) {
    const auto comparison = CompareTensorWith(isa, operands.spec, operands.actual,
                                              operands.reference, tolerance, NanPolicy::kNeverMatch);
    const int64_t mismatches = comparison->mismatches;
    if (mismatches < elements * 49 / 100 || mismatches > elements * 51 / 100) {
      state.SkipWithError("half of the elements should mismatch");
      return;
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 2 * kBytes);
}

template <typename T>
void Bench(benchmark::State& state, DType dtype, double absolute, double relative) {
  static const Operands operands = Make<T>(dtype);
  Run(state, operands, {absolute, relative}, static_cast<CompareIsa>(state.range(0)));
}

#define HELX_BENCH(name, type, dtype, absolute, relative)                            \
  void name(benchmark::State& state) { Bench<type>(state, dtype, absolute, relative); } \
  BENCHMARK(name)->ArgName("avx2")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond)

HELX_BENCH(Int8, int8_t, DType::kInt8, 1, 0);
HELX_BENCH(Int8Relative, int8_t, DType::kInt8, 1, 1e-3);
// The allowance is 1 below a magnitude of 50, then 2: a table per magnitude.
HELX_BENCH(Int8RelativeSteps, int8_t, DType::kInt8, 1, 0.02);
HELX_BENCH(Int16, int16_t, DType::kInt16, 1, 1e-3);
HELX_BENCH(Int32, int32_t, DType::kInt32, 1, 1e-3);
HELX_BENCH(Int64, int64_t, DType::kInt64, 1, 1e-3);
HELX_BENCH(Float32, float, DType::kFloat32, 0, 1e-3);

}  // namespace
}  // namespace helx

BENCHMARK_MAIN();

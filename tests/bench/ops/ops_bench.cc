// Interpreter speed in multiply-accumulates per second of one core, and the bounds pass.
//
// "acc32" inputs are int8-ranged, so the certificate allows int32 lanes; "acc64" inputs span 40
// bits, so the same convolution runs in 64-bit lanes. "packed" inputs are acc32's as int8 elements,
// and the outputs are as narrow as the certificate allows; the others are i64 elements. Further convolutions are given as words
// CIN,COUT,GROUPS,KERNEL,SIZE (square, stride 1, padded by half the kernel), and are packed.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdio>
#include <string>

#include "core/ops/corpus/builder.h"
#include "core/ops/load.h"
#include "core/ops/run.h"
#include "core/ops/whg1.h"

namespace helx::ops {
namespace {

struct ConvCase {
  int64_t cin, cout, groups, kernel, size;
};

constexpr ConvCase kCases[] = {
    {32, 32, 1, 3, 32},   // 3x3
    {64, 64, 1, 1, 25},   // pointwise
    {64, 64, 64, 3, 25},  // depthwise
    {640, 128, 1, 1, 1},  // fully connected
    {3, 16, 1, 3, 32},    // few input channels
};

std::string ConvFile(const ConvCase& c, int64_t magnitude) {
  Params p;
  p.cin = c.cin;
  p.cout = c.cout;
  p.groups = c.groups;
  p.kh = p.kw = c.kernel;
  p.pt = p.pb = p.pl = p.pr = c.kernel / 2;
  p.n = c.cout;
  p.mult.assign(c.cout, 1 << 20);
  p.post_bias.assign(c.cout, 0);
  p.shift.assign(c.cout, 31);
  p.bias.assign(c.cout, 7);
  p.w.resize(c.cout * c.cin / c.groups * c.kernel * c.kernel);
  for (size_t i = 0; i < p.w.size(); ++i) p.w[i] = static_cast<int32_t>(i * 37 % 255) - 127;
  Graph graph;
  Input input;
  input.fixed = true;
  input.c = c.cin;
  input.h_cap = input.w_cap = c.size;
  input.lo = -magnitude;
  input.hi = magnitude;
  graph.inputs = {input};
  graph.max_elems = 1 << 24;
  graph.nodes.push_back({Op::kConv, {0}, p});
  graph.outputs = {1};
  return WriteWhg1(graph);
}

void RunConv(benchmark::State& state, const ConvCase& c, int64_t magnitude, bool packed) {
  const Result<PlannedGraph> loaded = LoadWhg1(ConvFile(c, magnitude));
  if (!loaded.ok()) {
    state.SkipWithError(loaded.refusal().Text().c_str());
    return;
  }
  Instance instance(&loaded.value());
  Tensor x{{c.cin, c.size, c.size}, {}};
  for (int64_t i = 0; i < x.shape.elements(); ++i) x.data.push_back(i * 89 % 255 - 127);
  const std::vector<Tensor> inputs = {x};
  if (packed) {
    const std::vector<PackedTensor> bytes = {Pack(x, ElementType::kI8)};
    for (auto _ : state) benchmark::DoNotOptimize(instance.DecodePacked(bytes).ok());
  } else {
    for (auto _ : state) benchmark::DoNotOptimize(instance.Decode(inputs).ok());
  }
  const double macs =
      static_cast<double>(c.size * c.size * c.cout) * (c.cin / c.groups) * c.kernel * c.kernel;
  state.counters["MAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsIterationInvariantRate);
}

void ConvAcc32(benchmark::State& state) { RunConv(state, kCases[state.range(0)], 127, false); }
void ConvPacked(benchmark::State& state) { RunConv(state, kCases[state.range(0)], 127, true); }
void ConvAcc64(benchmark::State& state) {
  RunConv(state, kCases[state.range(0)], int64_t{1} << 40, false);
}
BENCHMARK(ConvAcc32)->DenseRange(0, std::size(kCases) - 1);
BENCHMARK(ConvPacked)->DenseRange(0, std::size(kCases) - 1);
BENCHMARK(ConvAcc64)->DenseRange(0, std::size(kCases) - 1);

// Load, the bounds pass included, of 2^22 weights.
void LoadLargeConv(benchmark::State& state) {
  const std::string file = ConvFile({1024, 4096, 1, 1, 1}, 127);
  for (auto _ : state) benchmark::DoNotOptimize(LoadWhg1(file).ok());
  state.counters["weights/s"] =
      benchmark::Counter(1024.0 * 4096, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(LoadLargeConv);

bool AddGivenConv(const char* word) {
  ConvCase c{};
  if (std::sscanf(word, "%ld,%ld,%ld,%ld,%ld", &c.cin, &c.cout, &c.groups, &c.kernel, &c.size) !=
      5) {
    return false;
  }
  benchmark::RegisterBenchmark((std::string("GivenConv/") + word).c_str(),
                               [c](benchmark::State& state) { RunConv(state, c, 127, true); });
  return true;
}

}  // namespace
}  // namespace helx::ops

int main(int argc, char** argv) {
  // Pages stay with the process between decodes, as in a program that runs many: the kernel's price
  // of fresh ones would hide the sums' own.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (helx::ops::AddGivenConv(argv[i])) continue;
    std::fprintf(stderr, "%s: not CIN,COUT,GROUPS,KERNEL,SIZE\n", argv[i]);
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

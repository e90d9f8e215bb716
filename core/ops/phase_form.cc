#include "core/ops/phase_form.h"

#include "core/ops/lower/forms.h"

namespace helx::ops {
namespace {

// The conv's weight at (o, dy, dx, c, j, i), 0 outside the kernel.
int32_t PhaseWeight(const Params& p, int64_t c, int64_t o, int64_t ky, int64_t kx) {
  if (ky >= p.kh || kx >= p.kw) return 0;
  return p.w[((c * p.cout + o) * p.kh + ky) * p.kw + kx];
}

}  // namespace

uint32_t AddPhaseForm(const Params& p, uint32_t value, Graph* graph) {
  const int64_t stride = p.sh;
  const int64_t qh = (p.kh + stride - 1) / stride;
  const int64_t qw = (p.kw + stride - 1) / stride;
  Params conv;
  conv.cin = p.cin;
  conv.cout = p.cout * stride * stride;
  conv.kh = qh;
  conv.kw = qw;
  conv.pt = conv.pb = qh - 1;
  conv.pl = conv.pr = qw - 1;
  conv.rnd = p.rnd;
  conv.n = p.n == 1 ? 1 : conv.cout;
  for (int64_t o = 0; o < p.cout; ++o) {
    for (int64_t phase = 0; phase < stride * stride; ++phase) {
      const int64_t dy = phase / stride;
      const int64_t dx = phase % stride;
      conv.bias.push_back(p.bias[o]);
      if (static_cast<int64_t>(conv.mult.size()) < conv.n) {
        conv.mult.push_back(p.mult[p.n == 1 ? 0 : o]);
        conv.post_bias.push_back(p.post_bias[p.n == 1 ? 0 : o]);
        conv.shift.push_back(p.shift[p.n == 1 ? 0 : o]);
      }
      for (int64_t c = 0; c < p.cin; ++c) {
        for (int64_t j = 0; j < qh; ++j) {
          for (int64_t i = 0; i < qw; ++i) {
            conv.w.push_back(
                PhaseWeight(p, c, o, dy + stride * (qh - 1 - j), dx + stride * (qw - 1 - i)));
          }
        }
      }
    }
  }
  Params shuffle;
  shuffle.r = stride;
  Params crop;
  crop.pt = p.pt;
  crop.pl = p.pl;
  crop.pb = stride * qh - p.kh + p.pb;
  crop.pr = stride * qw - p.kw + p.pr;
  const uint32_t sums = AddNode(graph, Op::kConv, {value}, std::move(conv));
  const uint32_t shuffled = AddNode(graph, Op::kPixelShuffle, {sums}, shuffle);
  return AddNode(graph, Op::kCrop, {shuffled}, crop);
}

}  // namespace helx::ops

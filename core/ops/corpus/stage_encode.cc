#include "core/ops/corpus/stage_encode.h"

#include <algorithm>
#include <array>

namespace helx::ops {
namespace {

constexpr uint64_t kRansLow = uint64_t{1} << 31;

// Pushes symbols last to first, as a range decoder pops them first to last.
class RansEncoder {
 public:
  // An interval of `size` of 65536 slots from `start`.
  void Push(uint64_t start, uint64_t size) {
    if (state_ >= size << 47) {
      words_.push_back(static_cast<uint32_t>(state_));
      state_ >>= 32;
    }
    state_ = (state_ / size) * 65536 + state_ % size + start;
  }

  std::string Bytes() const {
    std::string bytes = RansStateBytes(state_);
    for (auto word = words_.rbegin(); word != words_.rend(); ++word) {
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(*word >> (8 * i) & 0xFF));
    }
    return bytes;
  }

 private:
  uint64_t state_ = kRansLow;
  std::vector<uint32_t> words_;
};

// One read of the mans decoder: `count` bits of value `bits`.
struct BitRead {
  int bits;
  int count;
};

struct MansStep {
  size_t dist;
  int lane;
  int symbol;
};

// What the decoder does, in order: an in step, or reads of known bits.
struct MansAction {
  bool in_step;
  MansStep step;
  std::vector<BitRead> reads;
};

class MansEncoder {
 public:
  MansEncoder(const std::vector<MansCodingDist>& dists,
              const std::vector<std::vector<MansPosition>>& calls)
      : dists_(dists) {
    for (const std::vector<MansPosition>& call : calls) Plan(call);
  }

  std::string Bytes() {
    // Backwards from states 0: each step finds the state that leads to the one after it.
    std::array<int, 2> states{};
    std::vector<BitRead> reversed;
    for (auto action = actions_.rbegin(); action != actions_.rend(); ++action) {
      if (action->in_step) {
        reversed.push_back(Before(action->step, &states[action->step.lane]));
      } else {
        reversed.insert(reversed.end(), action->reads.rbegin(), action->reads.rend());
      }
    }
    reversed.push_back({states[1], 8});
    reversed.push_back({states[0], 8});

    // The last read is the integer's lowest bits; the marker is above the first.
    std::vector<bool> bits;
    for (const BitRead& read : reversed) {
      for (int i = 0; i < read.count; ++i) bits.push_back(read.bits >> i & 1);
    }
    bits.push_back(true);
    std::string bytes((bits.size() + 7) / 8, '\0');
    for (size_t i = 0; i < bits.size(); ++i) {
      if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
    }
    return bytes;
  }

 private:
  void InStep(const MansPosition& position, size_t l) {
    if (!position.present) return;
    const MansCodingDist& dist = dists_[position.dist];
    const bool plain =
        dist.escape == 0 || (position.value > -dist.escape && position.value < dist.escape);
    const int symbol = plain ? static_cast<int>(position.value) : -dist.escape;
    actions_.push_back({true, {position.dist, static_cast<int>(l % 2), symbol}, {}});
  }

  void OutStep(const MansPosition& position) {
    if (!position.present) return;
    const int escape = dists_[position.dist].escape;
    const int64_t magnitude = std::abs(position.value);
    if (escape == 0 || (position.value > -escape && position.value < escape)) return;
    const int v = static_cast<int>(2 * (magnitude - escape) + (position.value < 0));
    const bool narrow = v < 8;
    actions_.push_back({false, {}, {{narrow, 1}, {v, narrow ? 3 : 16}}});
  }

  // The decoder's order within a call (section 5E.2).
  void Plan(const std::vector<MansPosition>& call) {
    size_t l = 0;
    while (l < call.size()) {
      const size_t count = l + 3 < call.size() ? 4 : 1;
      for (size_t i = l; i < l + count; ++i) InStep(call[i], i);
      for (size_t i = l; i < l + count; ++i) OutStep(call[i]);
      l += count;
    }
  }

  // Replaces the state after `step` with the one before it; gives the bits the step reads.
  BitRead Before(const MansStep& step, int* state) const {
    const MansCodingDist& dist = dists_[step.dist];
    int slot = 0;
    for (size_t j = 0; j < dist.freq.size(); ++j) {
      for (int kappa = dist.freq[j]; kappa < 2 * dist.freq[j]; ++kappa, ++slot) {
        if (dist.sym[j] != step.symbol) continue;
        int count = 0;
        while ((kappa << count) < 256) ++count;
        const int base = (kappa << count) - 256;
        if (*state < base || *state >= base + (1 << count)) continue;
        const BitRead read{*state - base, count};
        *state = slot;
        return read;
      }
    }
    return {0, 0};
  }

  const std::vector<MansCodingDist>& dists_;
  std::vector<MansAction> actions_;
};

}  // namespace

std::string RansStateBytes(uint64_t state) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(state >> (8 * i) & 0xFF));
  return bytes;
}

std::string EncodeRans64(const std::vector<RansCodingTable>& tables,
                         const std::vector<size_t>& index, const std::vector<int64_t>& values) {
  RansEncoder encoder;
  for (size_t i = values.size(); i-- > 0;) {
    const RansCodingTable& table = tables[index[i]];
    const int64_t plain = table.symbols() - (table.escape ? 1 : 0);
    int64_t symbol = values[i];
    if (symbol < 0 || symbol >= plain) {
      const int64_t z = symbol >= 0 ? 2 * symbol : -2 * symbol - 1;
      encoder.Push(static_cast<uint64_t>(z) >> 16, 1);
      encoder.Push(static_cast<uint64_t>(z) & 0xFFFF, 1);
      symbol = table.symbols() - 1;
    }
    encoder.Push(table.cdf[symbol], table.cdf[symbol + 1] - table.cdf[symbol]);
  }
  return encoder.Bytes();
}

MansCodingDist MakeMansDist(int escape) {
  MansCodingDist dist;
  dist.escape = escape;
  const int lo = escape == 0 ? -4 : -escape;
  const int hi = escape == 0 ? 4 : escape - 1;
  for (int symbol = lo; symbol <= hi; ++symbol) {
    dist.sym.push_back(symbol);
    dist.freq.push_back(1);
  }
  dist.freq[0] = 256 - (hi - lo);
  return dist;
}

std::string EncodeMans(const std::vector<MansCodingDist>& dists,
                       const std::vector<std::vector<MansPosition>>& calls) {
  return MansEncoder(dists, calls).Bytes();
}

}  // namespace helx::ops

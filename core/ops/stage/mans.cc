// mans_decode (docs/integer-operators.md, section 5E.2).
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "core/ops/base64.h"
#include "core/ops/stage/fields.h"

namespace helx::ops {
namespace {

struct MansSlot {
  int base = 0;
  int bits = 0;
  int symbol = 0;
};

struct MansDist {
  std::array<MansSlot, 256> slots;
  int escape = 0;
};

struct MansInput {
  std::vector<MansDist> dists;
  struct Position {
    size_t dist;
    bool present;
  };
  // Positions of all calls, and where each call starts (with the total at the end).
  std::vector<Position> positions;
  std::vector<int64_t> starts;
  std::string bytes;
};

bool ReadDist(const Json& json, MansDist* dist) {
  if (!json.HasExactly({"esc", "freq", "sym"}) || !json.Find("freq")->is_integers() ||
      !json.Find("sym")->is_integers()) {
    return false;
  }
  const auto escape = json.Find("esc")->IntegerIn(0, 32767);
  const std::vector<Json>& freq = json.Find("freq")->items();
  const std::vector<Json>& sym = json.Find("sym")->items();
  if (!escape || freq.size() != sym.size() || freq.empty() || freq.size() > 256) return false;
  dist->escape = static_cast<int>(*escape);
  int used = 0;
  bool has_escape = dist->escape == 0;
  for (size_t j = 0; j < freq.size(); ++j) {
    const auto count = freq[j].IntegerIn(1, 256 - used);
    const auto symbol = sym[j].IntegerIn(-32768, 32767);
    if (!count || !symbol) return false;
    has_escape = has_escape || *symbol == -dist->escape;
    for (int t = 0; t < *count; ++t) {
      const int kappa = static_cast<int>(*count) + t;
      int bits = 0;
      while ((kappa << bits) < 256) ++bits;
      dist->slots[used + t] = {(kappa << bits) - 256, bits, static_cast<int>(*symbol)};
    }
    used += static_cast<int>(*count);
  }
  return used == 256 && has_escape;
}

class Mans : public StageStream {
 public:
  Mans(std::shared_ptr<const MansInput> in, int64_t bits) : in_(std::move(in)), bits_(bits) {}

  // S0 and S1.
  bool Open() {
    for (int& state : states_) state = Read(8);
    return bits_ >= 0;
  }

  std::unique_ptr<StageStream> Clone() const override { return std::make_unique<Mans>(*this); }
  int64_t size() const override { return static_cast<int64_t>(in_->positions.size()); }

  std::optional<StageRefusal> Next(int64_t* value) override {
    if (done_ == decoded_) {
      if (const auto refusal = DecodeMore()) return refusal;
    }
    *value = ahead_[done_ - first_ahead_];
    ++done_;
    return std::nullopt;
  }

 private:
  // read(k) of section 5E.2: bits past the integer's start are zeros, and bits_ goes negative.
  int Read(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) {
      --bits_;
      const bool set = bits_ >= 0 && (static_cast<uint8_t>(in_->bytes[bits_ / 8]) >> bits_ % 8 & 1);
      value = value << 1 | static_cast<int>(set);
    }
    return value;
  }

  void InStep(int64_t position, int lane, int64_t* value) {
    const MansInput::Position& at = in_->positions[position];
    *value = 0;
    if (!at.present) return;
    const MansSlot& slot = in_->dists[at.dist].slots[states_[lane]];
    states_[lane] = slot.base + Read(slot.bits);
    *value = slot.symbol;
    last_in_step_ = position;
  }

  std::optional<StageRefusal> OutStep(int64_t position, int64_t* value) {
    const MansInput::Position& at = in_->positions[position];
    const int escape = in_->dists[at.dist].escape;
    if (!at.present || escape == 0 || *value != -escape) return std::nullopt;
    const int v = Read(1) == 1 ? Read(3) : Read(16);
    const int magnitude = v / 2 + escape;
    *value = v % 2 == 0 ? magnitude : -magnitude;
    if (bits_ < 0) return StageRefusal{Code::kTruncated, position};
    return std::nullopt;
  }

  // The next group of four, or the next single position of a call's tail.
  std::optional<StageRefusal> DecodeMore() {
    while (decoded_ == in_->starts[call_ + 1]) ++call_;
    const int64_t offset = decoded_ - in_->starts[call_];
    const bool group = decoded_ + 3 < in_->starts[call_ + 1];
    const int count = group ? 4 : 1;
    first_ahead_ = decoded_;
    for (int i = 0; i < count; ++i) {
      InStep(decoded_ + i, static_cast<int>((offset + i) % 2), &ahead_[i]);
    }
    if (group && bits_ < 0) return StageRefusal{Code::kTruncated, last_in_step_};
    for (int i = 0; i < count; ++i) {
      if (const auto refusal = OutStep(decoded_ + i, &ahead_[i])) return refusal;
    }
    if (!group && bits_ < 0) {
      const bool present = in_->positions[decoded_].present;
      return StageRefusal{Code::kTruncated, present ? decoded_ : last_in_step_};
    }
    decoded_ += count;
    return std::nullopt;
  }

  std::shared_ptr<const MansInput> in_;
  int64_t bits_;
  std::array<int, 2> states_{};
  size_t call_ = 0;
  int64_t done_ = 0;
  int64_t decoded_ = 0;
  int64_t last_in_step_ = -1;
  // Decoded values of positions first_ahead_ and on.
  int64_t first_ahead_ = 0;
  std::array<int64_t, 4> ahead_{};
};

bool TypesHold(const Json& in) {
  if (!in.HasExactly({"bytes", "calls", "dists"}) || !in.Find("bytes")->is_string() ||
      !in.Find("calls")->is_array() || !in.Find("dists")->is_array()) {
    return false;
  }
  const std::vector<Json>& calls = in.Find("calls")->items();
  return std::all_of(calls.begin(), calls.end(), [](const Json& call) {
    return call.HasExactly({"idx", "mask"}) && call.Find("idx")->is_integers() &&
           call.Find("mask")->is_integers();
  });
}

}  // namespace

OpenedStage OpenMans(const Json& in) {
  if (!TypesHold(in)) return AtOpen(Code::kShape);
  const auto bytes = Base64Decode(in.Find("bytes")->text());
  if (!bytes) return AtOpen(Code::kShape);
  auto input = std::make_shared<MansInput>();
  input->bytes = *bytes;
  for (const Json& json : in.Find("dists")->items()) {
    input->dists.emplace_back();
    if (!ReadDist(json, &input->dists.back())) return AtOpen(Code::kTables);
  }
  const std::vector<Json>& calls = in.Find("calls")->items();
  for (const Json& call : calls) {
    for (const Json& index : call.Find("idx")->items()) {
      if (!index.IntegerIn(0, static_cast<int64_t>(input->dists.size()) - 1)) {
        return AtOpen(Code::kIndex);
      }
    }
  }
  input->starts.push_back(0);
  for (const Json& call : calls) {
    const std::vector<Json>& index = call.Find("idx")->items();
    const std::vector<Json>& mask = call.Find("mask")->items();
    if (index.size() != mask.size()) return AtOpen(Code::kShape);
    for (size_t l = 0; l < index.size(); ++l) {
      const auto present = mask[l].IntegerIn(0, 1);
      if (!present) return AtOpen(Code::kShape);
      const auto dist = static_cast<size_t>(*index[l].IntegerIn(kI64Min, kI64Max));
      input->positions.push_back({dist, *present == 1});
    }
    input->starts.push_back(static_cast<int64_t>(input->positions.size()));
  }
  if (bytes->empty() || bytes->back() == 0) return AtOpen(Code::kMarker);
  int top = 7;
  while ((static_cast<uint8_t>(bytes->back()) >> top & 1) == 0) --top;
  const int64_t bits = 8 * (static_cast<int64_t>(bytes->size()) - 1) + top;
  auto stream = std::make_unique<Mans>(std::move(input), bits);
  if (!stream->Open()) return AtOpen(Code::kTruncated);
  return stream;
}

}  // namespace helx::ops

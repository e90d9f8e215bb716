// rans64_decode (docs/integer-operators.md, section 5E.1).
#include <algorithm>
#include <memory>

#include "core/ops/base64.h"
#include "core/ops/stage/fields.h"

namespace helx::ops {
namespace {

constexpr uint64_t kLow = uint64_t{1} << 31;
constexpr uint64_t kHigh = uint64_t{1} << 63;

struct RansTable {
  std::vector<int64_t> cdf;
  bool escape = false;
  int64_t offset = 0;
};

struct RansInput {
  std::vector<RansTable> tables;
  std::vector<uint32_t> words;
  std::vector<size_t> index;
};

bool ReadTable(const Json& json, RansTable* table) {
  if (!json.HasExactly({"cdf", "esc", "off"}) || !json.Find("cdf")->is_integers()) return false;
  const auto escape = json.Find("esc")->IntegerIn(0, 1);
  const auto offset = json.Find("off")->IntegerIn(kI32Min, kI32Max);
  if (!escape || !offset) return false;
  table->escape = *escape == 1;
  table->offset = *offset;
  for (const Json& item : json.Find("cdf")->items()) {
    const auto value = item.IntegerIn(0, 65536);
    if (!value) return false;
    table->cdf.push_back(*value);
  }
  const std::vector<int64_t>& cdf = table->cdf;
  return cdf.size() >= 2 && cdf.front() == 0 && cdf.back() == 65536 &&
         std::adjacent_find(cdf.begin(), cdf.end(), std::greater_equal<int64_t>()) == cdf.end();
}

class Rans64 : public StageStream {
 public:
  // The input is shared: it never changes, so a copy of the object is its position alone.
  Rans64(std::shared_ptr<const RansInput> in, uint64_t state) : in_(std::move(in)), state_(state) {}

  std::unique_ptr<StageStream> Clone() const override { return std::make_unique<Rans64>(*this); }
  int64_t size() const override { return static_cast<int64_t>(in_->index.size()); }

  std::optional<StageRefusal> Next(int64_t* value) override {
    const int64_t i = done_++;
    const StageRefusal truncated{Code::kTruncated, i};
    const RansTable& table = in_->tables[in_->index[i]];
    const auto slot = static_cast<int64_t>(state_ & 0xFFFF);
    const auto above = std::upper_bound(table.cdf.begin(), table.cdf.end(), slot);
    const int64_t symbol = above - table.cdf.begin() - 1;
    const int64_t start = table.cdf[symbol];
    state_ = static_cast<uint64_t>(*above - start) * (state_ >> 16) +
             static_cast<uint64_t>(slot - start);
    if (!Renormalise()) return truncated;
    *value = symbol + table.offset;
    if (!table.escape || symbol + 2 != static_cast<int64_t>(table.cdf.size())) return std::nullopt;
    int64_t z = 0;
    for (const int shift : {0, 16}) {
      z |= static_cast<int64_t>(state_ & 0xFFFF) << shift;
      state_ >>= 16;
      if (!Renormalise()) return truncated;
    }
    *value = (z % 2 == 0 ? z / 2 : -((z + 1) / 2)) + table.offset;
    return std::nullopt;
  }

  std::optional<StageRefusal> Close() override {
    if (state_ != kLow) return StageRefusal{Code::kFinal, size()};
    if (next_word_ != in_->words.size()) return StageRefusal{Code::kTrailing, size()};
    return std::nullopt;
  }

 private:
  bool Renormalise() {
    if (state_ >= kLow) return true;
    if (next_word_ == in_->words.size()) return false;
    state_ = state_ << 32 | in_->words[next_word_++];
    return true;
  }

  std::shared_ptr<const RansInput> in_;
  uint64_t state_;
  size_t next_word_ = 2;
  int64_t done_ = 0;
};

}  // namespace

OpenedStage OpenRans64(const Json& in) {
  if (!in.HasExactly({"bytes", "idx", "tables"}) || !in.Find("bytes")->is_string() ||
      !in.Find("idx")->is_integers() || !in.Find("tables")->is_array()) {
    return AtOpen(Code::kShape);
  }
  const auto bytes = Base64Decode(in.Find("bytes")->text());
  if (!bytes) return AtOpen(Code::kShape);
  auto input = std::make_shared<RansInput>();
  for (const Json& json : in.Find("tables")->items()) {
    input->tables.emplace_back();
    if (!ReadTable(json, &input->tables.back())) return AtOpen(Code::kTables);
  }
  for (const Json& json : in.Find("idx")->items()) {
    const auto index = json.IntegerIn(0, static_cast<int64_t>(input->tables.size()) - 1);
    if (!index) return AtOpen(Code::kIndex);
    input->index.push_back(*index);
  }
  if (bytes->size() % 4 != 0) return AtOpen(Code::kAlign);
  if (bytes->size() < 8) return AtOpen(Code::kTruncated);
  for (size_t at = 0; at < bytes->size(); at += 4) {
    uint32_t word = 0;
    for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<uint8_t>((*bytes)[at + i]);
    input->words.push_back(word);
  }
  const uint64_t state = input->words[0] | static_cast<uint64_t>(input->words[1]) << 32;
  if (state < kLow || state >= kHigh) return AtOpen(Code::kState);
  return std::make_unique<Rans64>(std::move(input), state);
}

}  // namespace helx::ops

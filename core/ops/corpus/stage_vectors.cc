// stage/<operator>.jsonl (docs/integer-operators.md, section 14.7.8).
#include <string>

#include "core/ops/base64.h"
#include "core/ops/corpus/builder.h"
#include "core/ops/corpus/stage_encode.h"

namespace helx::ops {
namespace {

class RansFile {
 public:
  explicit RansFile(CorpusBuilder* corpus) : corpus_(corpus) {}

  void Write() {
    for (int i = 0; i < 16; ++i) Random(i);
    const int64_t least = kI32Min;
    const int64_t most = kI32Max;
    Coded("empty/00", {});
    Coded("escape/00", {-1, 1, least, most, 0, 65535, -65536});
    std::vector<RansCodingTable> broken = {kTable};
    broken[0].cdf[0] = 1;
    Add("refuse/tables", Encoded({0}), {0}, broken);
    Add("refuse/index", Encoded({0}), {1}, {kTable});
    Add("refuse/align", Encoded({0}) + '\0', {0}, {kTable});
    Add("refuse/truncated_open", Encoded({0}).substr(0, 4), {0}, {kTable});
    Add("refuse/state_low", RansStateBytes((uint64_t{1} << 31) - 1), {}, {kTable});
    Add("refuse/state_high", RansStateBytes(uint64_t{1} << 63), {}, {kTable});
    const std::vector<int64_t> forty(40, 0);
    Add("refuse/truncated", Shortened(Encoded(forty)), std::vector<size_t>(40, 0), {kTable});
    Add("refuse/truncated_escape", Shortened(Encoded({least})), {0}, {kTable});
    Add("refuse/final", RansStateBytes((uint64_t{1} << 31) + 1), {}, {kTable});
    Add("refuse/trailing", Encoded({}) + std::string(4, '\0'), {}, {kTable});
  }

 private:
  static inline const RansCodingTable kTable{{0, 32768, 65536}, true, 0};

  static std::string Encoded(const std::vector<int64_t>& values) {
    return EncodeRans64({kTable}, std::vector<size_t>(values.size(), 0), values);
  }
  static std::string Shortened(const std::string& bytes) {
    return bytes.substr(0, bytes.size() - 4);
  }
  void Coded(const std::string& rest, const std::vector<int64_t>& values) {
    Add(rest, Encoded(values), std::vector<size_t>(values.size(), 0), {kTable});
  }

  void Add(const std::string& rest, const std::string& bytes, const std::vector<size_t>& index,
           const std::vector<RansCodingTable>& tables) {
    std::vector<std::string> texts;
    for (const RansCodingTable& table : tables) {
      texts.push_back(JsonObject()
                          .Raw("cdf", JsonIntegers(table.cdf))
                          .Integer("esc", table.escape)
                          .Integer("off", table.offset)
                          .Str());
    }
    const std::string in = JsonObject()
                               .Text("bytes", Base64Encode(bytes))
                               .Raw("idx", JsonIntegers(index))
                               .Raw("tables", JsonArray(texts))
                               .Str();
    corpus_->AddStage("stage/rans64_decode.jsonl", "rans64_decode/" + rest, "rans64_decode", in);
  }

  void Random(int number) {
    const std::string rest = "rand/" + TwoDigits(number);
    Stream stream = corpus_->StreamOf("rans64_decode/" + rest);
    std::vector<RansCodingTable> tables(2);
    for (RansCodingTable& table : tables) {
      const int64_t symbols = stream.Draw(2, 8);
      for (int64_t i = 0; i < symbols; ++i) table.cdf.push_back(i * (65536 / symbols));
      table.cdf.push_back(65536);
      table.escape = stream.Draw(0, 1) == 1;
      table.offset = stream.Draw(-5, 5);
    }
    const int64_t count = stream.Draw(0, 32);
    std::vector<size_t> index;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) {
      index.push_back(static_cast<size_t>(stream.Draw(0, 1)));
      const RansCodingTable& table = tables[index.back()];
      int64_t value = stream.Draw(0, table.symbols() - 1);
      if (table.escape && value == table.symbols() - 1) value = stream.Draw(kI32Min, kI32Max);
      values.push_back(value);
    }
    Add(rest, EncodeRans64(tables, index, values), index, tables);
  }

  CorpusBuilder* corpus_;
};

class MansFile {
 public:
  explicit MansFile(CorpusBuilder* corpus) : corpus_(corpus) {}

  void Write() {
    for (int i = 0; i < 16; ++i) Random(i);
    Coded("mask/00", 1, {0, -3, 4, 0, -1, 2, 0, 1}, {0, 1, 1, 0, 1, 1, 0, 1});
    Coded("mask/01", 1, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0});
    for (int64_t tail = 1; tail <= 3; ++tail) {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < 4 + tail; ++i) values.push_back(i - 4);
      Coded("tail/" + std::to_string(tail), 1, values, {});
    }
    Coded("escape/3bit", 0, {2, -2, 5, -5, 0, 3}, {});
    Coded("escape/16bit", 0, {6, -6, 32769, -32769, 1, 100}, {});

    const std::vector<std::vector<MansPosition>> one = {{{0, true, 0}}};
    const std::string bytes = EncodeMans(kDists, one);
    std::vector<MansCodingDist> broken = kDists;
    broken[0].freq[0] = 252;
    AddRaw("refuse/tables", bytes, {{{0}, {1}}}, broken);
    AddRaw("refuse/index", bytes, {{{2}, {1}}}, kDists);
    AddRaw("refuse/shape", bytes, {{{0}, {}}}, kDists);
    AddRaw("refuse/marker_empty", "", {{{0}, {1}}}, kDists);
    AddRaw("refuse/marker_zero", std::string(1, '\0'), {{{0}, {1}}}, kDists);
    AddRaw("refuse/truncated_open", "\x01", {{{0}, {1}}}, kDists);
    const auto zeros_then = [](char last) { return std::string(2, '\0') + last; };
    AddRaw("refuse/truncated_group", zeros_then(1), {{{0, 0, 0, 0}, {1, 1, 1, 0}}}, kDists);
    AddRaw("refuse/truncated_escape", zeros_then(4), {{{1, 1, 0, 1}, {1, 1, 1, 1}}}, kDists);
    AddRaw("refuse/truncated_tail", zeros_then(2), {{{1, 1}, {1, 1}}}, kDists);
  }

 private:
  struct Call {
    std::vector<int64_t> index;
    std::vector<int64_t> mask;
  };
  static inline const std::vector<MansCodingDist> kDists = {MakeMansDist(2), MakeMansDist(0)};

  void AddRaw(const std::string& rest, const std::string& bytes, const std::vector<Call>& calls,
              const std::vector<MansCodingDist>& dists) {
    std::vector<std::string> call_texts;
    for (const Call& call : calls) {
      call_texts.push_back(JsonObject()
                               .Raw("idx", JsonIntegers(call.index))
                               .Raw("mask", JsonIntegers(call.mask))
                               .Str());
    }
    std::vector<std::string> dist_texts;
    for (const MansCodingDist& dist : dists) {
      dist_texts.push_back(JsonObject()
                               .Integer("esc", dist.escape)
                               .Raw("freq", JsonIntegers(dist.freq))
                               .Raw("sym", JsonIntegers(dist.sym))
                               .Str());
    }
    const std::string in = JsonObject()
                               .Text("bytes", Base64Encode(bytes))
                               .Raw("calls", JsonArray(call_texts))
                               .Raw("dists", JsonArray(dist_texts))
                               .Str();
    corpus_->AddStage("stage/mans_decode.jsonl", "mans_decode/" + rest, "mans_decode", in);
  }

  void Encode(const std::string& rest, const std::vector<MansCodingDist>& dists,
              const std::vector<std::vector<MansPosition>>& calls) {
    std::vector<Call> lists;
    for (const std::vector<MansPosition>& call : calls) {
      lists.emplace_back();
      for (const MansPosition& position : call) {
        lists.back().index.push_back(static_cast<int64_t>(position.dist));
        lists.back().mask.push_back(position.present);
      }
    }
    AddRaw(rest, EncodeMans(dists, calls), lists, dists);
  }

  // One call with one dist; an empty mask is all ones.
  void Coded(const std::string& rest, size_t dist, const std::vector<int64_t>& values,
             const std::vector<int64_t>& mask) {
    std::vector<MansPosition> call;
    for (size_t i = 0; i < values.size(); ++i) {
      call.push_back({dist, mask.empty() || mask[i] == 1, values[i]});
    }
    Encode(rest, kDists, {call});
  }

  void Random(int number) {
    const std::string rest = "rand/" + TwoDigits(number);
    Stream stream = corpus_->StreamOf("mans_decode/" + rest);
    std::vector<MansCodingDist> dists;
    for (int i = 0; i < 2; ++i) {
      const int escape = static_cast<int>(stream.Draw(0, 6));
      dists.push_back(MakeMansDist(escape < 2 ? 0 : escape));
    }
    std::vector<std::vector<MansPosition>> calls(2);
    for (std::vector<MansPosition>& call : calls) {
      call.resize(stream.Draw(0, 11));
      for (MansPosition& position : call) {
        position.dist = static_cast<size_t>(stream.Draw(0, 1));
        position.present = stream.Draw(0, 3) > 0;
        const int escape = dists[position.dist].escape;
        const int64_t most = escape == 0 ? 4 : escape + 20;
        if (position.present) position.value = stream.Draw(-most, most);
      }
    }
    Encode(rest, dists, calls);
  }

  CorpusBuilder* corpus_;
};

struct PredictorInput {
  bool interleaved = false;
  std::vector<int64_t> shape;
  std::vector<int64_t> residuals;

  std::string Text() const {
    return JsonObject()
        .Integer("hi", 1000)
        .Text("layout", interleaved ? "interleaved" : "planar")
        .Integer("lo", -1000)
        .Raw("res", JsonIntegers(residuals))
        .Raw("shape", JsonIntegers(shape))
        .Str();
  }
};

std::vector<int64_t> DrawShape(Stream* stream) {
  const int64_t c = stream->Draw(1, 3);
  const int64_t h = stream->Draw(1, 5);
  const int64_t w = stream->Draw(1, 5);
  return {c, h, w};
}

void AddPredictor(const std::string& op, CorpusBuilder* corpus) {
  const std::string path = "stage/" + op + ".jsonl";
  std::vector<PredictorInput> inputs;
  for (int i = 0; i < 8; ++i) {
    const std::string id = op + "/rand/" + TwoDigits(i);
    Stream stream = corpus->StreamOf(id);
    PredictorInput input;
    input.interleaved = i % 2 == 1;
    input.shape = DrawShape(&stream);
    input.residuals = stream.Draws(input.shape[0] * input.shape[1] * input.shape[2], -40, 40);
    corpus->AddStage(path, id, op, input.Text());
    inputs.push_back(input);
  }
  const auto refuse = [&](const std::string& code, auto change) {
    for (const bool interleaved : {false, true}) {
      PredictorInput input = inputs[interleaved ? 1 : 0];
      change(&input.residuals);
      corpus->AddStage(path, op + "/refuse/" + code + (interleaved ? "/interleaved" : "/planar"),
                       op, input.Text());
    }
  };
  using List = std::vector<int64_t>;
  refuse("shape", [](List* residuals) { residuals->pop_back(); });
  refuse("symbol", [](List* residuals) { residuals->front() = int64_t{1} << 31; });
  refuse("range", [](List* residuals) { residuals->back() = 10000; });
}

struct DequantInput {
  bool interleaved = false;
  std::vector<int64_t> shape, step, offset, symbols;

  std::string Text() const {
    return JsonObject()
        .Text("layout", interleaved ? "interleaved" : "planar")
        .Raw("off", JsonIntegers(offset))
        .Raw("shape", JsonIntegers(shape))
        .Raw("step", JsonIntegers(step))
        .Raw("sym", JsonIntegers(symbols))
        .Str();
  }
};

void AddDequant(CorpusBuilder* corpus) {
  const std::string path = "stage/dequant.jsonl";
  DequantInput first;
  for (int i = 0; i < 8; ++i) {
    const std::string id = "dequant/rand/" + TwoDigits(i);
    Stream stream = corpus->StreamOf(id);
    DequantInput input;
    input.interleaved = i % 2 == 1;
    input.shape = DrawShape(&stream);
    input.step = stream.Draws(input.shape[0], 1, 100);
    input.offset = stream.Draws(input.shape[0], -50, 50);
    input.symbols = stream.Draws(input.shape[0] * input.shape[1] * input.shape[2], -99, 99);
    corpus->AddStage(path, id, "dequant", input.Text());
    if (i == 0) first = input;
  }
  DequantInput shape = first;
  shape.step.pop_back();
  corpus->AddStage(path, "dequant/refuse/shape", "dequant", shape.Text());
  DequantInput symbol = first;
  symbol.symbols.front() = int64_t{1} << 31;
  corpus->AddStage(path, "dequant/refuse/symbol", "dequant", symbol.Text());
}

void AddScaleIndex(CorpusBuilder* corpus) {
  const std::string path = "stage/scale_index.jsonl";
  const auto add = [&](const std::string& rest, const std::vector<int64_t>& t,
                       const std::string& v) {
    corpus->AddStage(path, "scale_index/" + rest, "scale_index",
                     JsonObject().Raw("t", JsonIntegers(t)).Raw("v", v).Str());
  };
  std::vector<int64_t> first_t, first_v;
  for (int i = 0; i < 8; ++i) {
    const std::string rest = "rand/" + TwoDigits(i);
    Stream stream = corpus->StreamOf("scale_index/" + rest);
    std::vector<int64_t> t = {stream.Draw(-99, 0)};
    while (t.size() < 8) t.push_back(t.back() + stream.Draw(1, 20));
    const std::vector<int64_t> v = stream.Draws(16, -120, 120);
    add(rest, t, JsonIntegers(v));
    if (i == 0) {
      first_t = t;
      first_v = v;
    }
  }
  add("empty/00", {}, "[-1,0,1]");
  std::vector<int64_t> equal = first_t;
  equal[1] = equal[0];
  add("refuse/tables", equal, JsonIntegers(first_v));
  // 2^63 is no i64: the list is written around it.
  const std::string rest_of_v =
      JsonIntegers(std::vector<int64_t>(first_v.begin() + 1, first_v.end()));
  add("refuse/symbol", first_t, "[9223372036854775808," + rest_of_v.substr(1));
}

}  // namespace

void AddStageVectors(CorpusBuilder* corpus) {
  RansFile(corpus).Write();
  MansFile(corpus).Write();
  AddPredictor("pred_delta", corpus);
  AddPredictor("pred_med", corpus);
  AddDequant(corpus);
  AddScaleIndex(corpus);
}

}  // namespace helx::ops

#include "core/ops/stage/stage.h"

#include <gtest/gtest.h>

#include <random>

#include "core/ops/base64.h"
#include "core/ops/corpus/stage_encode.h"

namespace helx::ops {
namespace {

// "code at", or the integers.
std::string Outcome(std::string_view op, const std::string& in) {
  const auto json = ParseJson(in, nullptr);
  if (!json) return "not canonical";
  const auto text = [](const StageOutcome& outcome) {
    if (const auto* refusal = std::get_if<StageRefusal>(&outcome)) {
      return std::string(CodeName(refusal->code)) + " " + std::to_string(refusal->at);
    }
    return JsonIntegers(std::get<0>(outcome));
  };
  const std::string whole = text(RunStage(op, *json, StageMode::kWhole));
  EXPECT_EQ(text(RunStage(op, *json, StageMode::kStep)), whole);
  return whole;
}

std::string Rans(const std::string& bytes, const std::string& idx, const std::string& tables) {
  return Outcome("rans64_decode",
                 "{\"bytes\":" + bytes + ",\"idx\":" + idx + ",\"tables\":" + tables + "}");
}

// The two words of the state 2^31 alone.
const char* const kEmptyStream = "\"AAAAgAAAAAA=\"";
const char* const kTable = "{\"cdf\":[0,32768,65536],\"esc\":0,\"off\":0}";

std::string OneTable(const std::string& table) { return "[" + table + "]"; }

TEST(Rans64, TypesAreCheckedFirst) {
  EXPECT_EQ(Rans(kEmptyStream, "[]", OneTable(kTable)), "[]");
  EXPECT_EQ(Rans("1", "[]", OneTable(kTable)), "shape -1");
  EXPECT_EQ(Rans("\"A\"", "[]", OneTable(kTable)), "shape -1") << "not base64";
  EXPECT_EQ(Rans("\"A\"", "[]", "[1]"), "shape -1") << "before tables";
  EXPECT_EQ(Rans(kEmptyStream, "[\"a\"]", OneTable(kTable)), "shape -1");
  EXPECT_EQ(Rans(kEmptyStream, "0", OneTable(kTable)), "shape -1");
  EXPECT_EQ(Rans(kEmptyStream, "[]", "0"), "shape -1");
  EXPECT_EQ(Outcome("rans64_decode", "{\"idx\":[],\"tables\":[]}"), "shape -1");
  EXPECT_EQ(Outcome("rans64_decode", "[]"), "shape -1");
  EXPECT_EQ(Outcome("rans64_decode", "{\"bytes\":\"\",\"idx\":[],\"more\":0,\"tables\":[]}"),
            "shape -1");
}

TEST(Rans64, EveryFaultOfATableIsTables) {
  for (const std::string table :
       {"1", "{}", "{\"cdf\":[0,65536],\"esc\":0}", "{\"cdf\":0,\"esc\":0,\"off\":0}",
        "{\"cdf\":[\"0\",65536],\"esc\":0,\"off\":0}", "{\"cdf\":[],\"esc\":0,\"off\":0}",
        "{\"cdf\":[65536],\"esc\":0,\"off\":0}", "{\"cdf\":[1,65536],\"esc\":0,\"off\":0}",
        "{\"cdf\":[0,5,5,65536],\"esc\":0,\"off\":0}", "{\"cdf\":[0,65535],\"esc\":0,\"off\":0}",
        "{\"cdf\":[0,65537],\"esc\":0,\"off\":0}", "{\"cdf\":[0,6,5,65536],\"esc\":0,\"off\":0}",
        "{\"cdf\":[0,65536],\"esc\":2,\"off\":0}", "{\"cdf\":[0,65536],\"esc\":-1,\"off\":0}",
        "{\"cdf\":[0,65536],\"esc\":0,\"off\":2147483648}",
        "{\"cdf\":[0,65536],\"esc\":0,\"off\":-2147483649}"}) {
    EXPECT_EQ(Rans(kEmptyStream, "[5]", OneTable(table)), "tables -1") << table;
  }
  for (const std::string table : {"{\"cdf\":[0,65536],\"esc\":1,\"off\":2147483647}",
                                  "{\"cdf\":[0,65536],\"esc\":0,\"off\":-2147483648}"}) {
    EXPECT_EQ(Rans(kEmptyStream, "[]", OneTable(table)), "[]") << table;
  }
}

TEST(Rans64, IndicesAndTheOrderOfOpen) {
  EXPECT_EQ(Rans(kEmptyStream, "[-1]", OneTable(kTable)), "index -1");
  EXPECT_EQ(Rans(kEmptyStream, "[99999999999999999999]", OneTable(kTable)), "index -1");
  EXPECT_EQ(Rans(kEmptyStream, "[0]", "[]"), "index -1");
  EXPECT_EQ(Rans("\"AAA=\"", "[1]", OneTable(kTable)), "index -1") << "before align";
  EXPECT_EQ(Rans("\"AAA=\"", "[]", OneTable(kTable)), "align -1");
  EXPECT_EQ(Rans("\"\"", "[]", OneTable(kTable)), "truncated -1");
  EXPECT_EQ(Rans("\"AAAAAAAAAAA=\"", "[]", OneTable(kTable)), "state -1");
}

TEST(Rans64, OutputsCarryTheOffset) {
  // One symbol of the whole interval never changes the state.
  EXPECT_EQ(
      Rans(kEmptyStream, "[0,0]", OneTable("{\"cdf\":[0,65536],\"esc\":0,\"off\":-2147483648}")),
      "[-2147483648,-2147483648]");
}

TEST(Rans64, DecodesWhatTheEncoderWrote) {
  std::mt19937_64 random(11);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  for (int round = 0; round < 200; ++round) {
    RansCodingTable table;
    table.cdf = {0};
    while (table.cdf.back() < 65536) {
      table.cdf.push_back(std::min<int64_t>(65536, table.cdf.back() + draw(1, 30000)));
    }
    table.escape = draw(0, 1) == 1;
    std::vector<int64_t> values(draw(0, 60));
    for (int64_t& v : values) {
      v = table.escape ? draw(-40000, 40000) : draw(0, table.symbols() - 1);
    }
    const std::string bytes = EncodeRans64({table}, std::vector<size_t>(values.size(), 0), values);
    const std::string in_table = "{\"cdf\":" + JsonIntegers(table.cdf) +
                                 ",\"esc\":" + std::to_string(table.escape) + ",\"off\":0}";
    EXPECT_EQ(Rans(JsonString(Base64Encode(bytes)),
                   JsonIntegers(std::vector<int>(values.size(), 0)), OneTable(in_table)),
              JsonIntegers(values));
  }
}

std::string Mans(const std::string& bytes, const std::string& calls, const std::string& dists) {
  return Outcome("mans_decode", "{\"bytes\":" + JsonString(Base64Encode(bytes)) +
                                    ",\"calls\":" + calls + ",\"dists\":" + dists + "}");
}

const char* const kDist = "[{\"esc\":0,\"freq\":[128,128],\"sym\":[-7,9]}]";

TEST(Mans, DecodesByHand) {
  // freq 128 each: slot s < 128 has kappa 128 + s: nb 1 and base 2s (kappa 128..255 all need 1).
  // S0 = 3, S1 = 200: symbols -7 and 9; then 9's slot t = 72: kappa 200, base 144.
  // Bits below the marker, first read highest: 00000011 11001000 1 0 1.
  // S0 = 6 + 1 = 7, S1 = 144 + 0; third position: S0 = 7 is -7, reads 1.
  const uint32_t integer = 1u << 19 | 0b0000001111001000101u;
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes.push_back(static_cast<char>(integer >> (8 * i) & 0xFF));
  EXPECT_EQ(Mans(bytes, "[{\"idx\":[0,0,0],\"mask\":[1,1,1]}]", kDist), "[-7,9,-7]");
}

TEST(Mans, TypesTablesIndicesThenLengths) {
  const std::string one(3, '\x01');
  EXPECT_EQ(Mans(one, "[{\"idx\":[0],\"mask\":[1]}]", "[1]"), "tables -1");
  EXPECT_EQ(Mans(one, "[{\"idx\":[0],\"mask\":[\"1\"]}]", "[1]"), "shape -1");
  EXPECT_EQ(Mans(one, "[{\"idx\":[0]}]", kDist), "shape -1");
  EXPECT_EQ(Mans(one, "[[0]]", kDist), "shape -1");
  EXPECT_EQ(Mans(one, "[{\"idx\":[0],\"mask\":[1,1]},{\"idx\":[1],\"mask\":[1]}]", kDist),
            "index -1")
      << "before the lengths of any call";
  EXPECT_EQ(Mans(one, "[{\"idx\":[0],\"mask\":[2]}]", kDist), "shape -1");
  EXPECT_EQ(Mans("", "[{\"idx\":[0],\"mask\":[2]}]", kDist), "shape -1") << "before the marker";
  for (const std::string dist :
       {"{\"esc\":0,\"freq\":[256,0],\"sym\":[1,2]}", "{\"esc\":0,\"freq\":[255],\"sym\":[1]}",
        "{\"esc\":0,\"freq\":[128,129],\"sym\":[1,2]}", "{\"esc\":0,\"freq\":[256],\"sym\":[1,2]}",
        "{\"esc\":0,\"freq\":[],\"sym\":[]}", "{\"esc\":2,\"freq\":[256],\"sym\":[1]}",
        "{\"esc\":-1,\"freq\":[256],\"sym\":[1]}", "{\"esc\":32768,\"freq\":[256],\"sym\":[1]}",
        "{\"esc\":0,\"freq\":[256],\"sym\":[32768]}", "{\"esc\":0,\"freq\":[256],\"sym\":[-32769]}",
        "{\"esc\":0,\"freq\":[256]}", "{\"esc\":0,\"freq\":[\"256\"],\"sym\":[1]}"}) {
    EXPECT_EQ(Mans(one, "[]", "[" + dist + "]"), "tables -1") << dist;
  }
  EXPECT_EQ(Mans(one, "[]", "[{\"esc\":2,\"freq\":[256],\"sym\":[-2]}]"), "[]");
}

TEST(Mans, TheMarker) {
  EXPECT_EQ(Mans(std::string("\x01\x00", 2), "[]", kDist), "marker -1");
  EXPECT_EQ(Mans("", "[]", kDist), "marker -1");
  EXPECT_EQ(Mans(std::string("\xFF\xFF", 2), "[]", kDist), "truncated -1") << "15 bits of 16";
  EXPECT_EQ(Mans(std::string("\xFF\xFF\x01", 3), "[]", kDist), "[]") << "exactly 16 bits";
}

TEST(Mans, DecodesWhatTheEncoderWrote) {
  std::mt19937_64 random(13);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  for (int round = 0; round < 200; ++round) {
    const std::vector<MansCodingDist> dists = {MakeMansDist(static_cast<int>(draw(2, 100))),
                                               MakeMansDist(0)};
    std::string dist_text;
    for (const MansCodingDist& dist : dists) {
      dist_text += (dist_text.empty() ? "{" : ",{") + std::string("\"esc\":") +
                   std::to_string(dist.escape) + ",\"freq\":" + JsonIntegers(dist.freq) +
                   ",\"sym\":" + JsonIntegers(dist.sym) + "}";
    }
    std::vector<std::vector<MansPosition>> calls(draw(0, 4));
    std::string call_text;
    std::vector<int64_t> values;
    for (auto& call : calls) {
      call.resize(draw(0, 13));
      std::vector<int64_t> index, mask;
      for (MansPosition& position : call) {
        position.dist = static_cast<size_t>(draw(0, 1));
        position.present = draw(0, 3) > 0;
        position.value = position.dist == 1 ? draw(-4, 4) : draw(-30000, 30000);
        if (draw(0, 1) == 0 && position.dist == 0) position.value %= 120;
        index.push_back(static_cast<int64_t>(position.dist));
        mask.push_back(position.present);
        values.push_back(position.present ? position.value : 0);
      }
      call_text += (call_text.empty() ? "{" : ",{") + std::string("\"idx\":") +
                   JsonIntegers(index) + ",\"mask\":" + JsonIntegers(mask) + "}";
    }
    EXPECT_EQ(Mans(EncodeMans(dists, calls), "[" + call_text + "]", "[" + dist_text + "]"),
              JsonIntegers(values));
  }
}

std::string Predict(std::string_view op, const std::string& layout, const std::string& shape,
                    const std::string& res, const std::string& lo = "-100",
                    const std::string& hi = "100") {
  return Outcome(op, "{\"hi\":" + hi + ",\"layout\":" + layout + ",\"lo\":" + lo +
                         ",\"res\":" + res + ",\"shape\":" + shape + "}");
}

TEST(Predictors, ByHand) {
  // Rows: 1, 1+2 / delta: column 0 predicts from above, others from the left.
  EXPECT_EQ(Predict("pred_delta", "\"planar\"", "[1,2,2]", "[1,2,3,4]"), "[1,3,4,8]");
  // med at (1,1): L = 4, A = 3, Q = 1: Q <= min so max 4; 4 + 4.
  EXPECT_EQ(Predict("pred_med", "\"planar\"", "[1,2,2]", "[1,2,3,4]"), "[1,3,4,8]");
  // L = 6, A = 5, Q = 9 >= max: min 5.
  EXPECT_EQ(Predict("pred_med", "\"planar\"", "[1,2,2]", "[9,-4,-3,0]"), "[9,5,6,5]");
  // L = 12, A = 5, Q = 9 between: 12 + 5 - 9 = 8.
  EXPECT_EQ(Predict("pred_med", "\"planar\"", "[1,2,2]", "[9,-4,3,0]"), "[9,5,12,8]");
  // Interleaved, two channels side by side.
  EXPECT_EQ(Predict("pred_delta", "\"interleaved\"", "[2,1,2]", "[1,10,2,20]"), "[1,10,3,30]");
}

TEST(Predictors, Refusals) {
  const char* const planar = "\"planar\"";
  EXPECT_EQ(Predict("pred_delta", "\"other\"", "[1,1,1]", "[0]"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1]", "[0]"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[0,1,1]", "[]"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[65536,1,1]", "[0]"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[65535,65535,65535]", "[0]"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,1]", "[0]", "1", "0"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,1]", "[0]", "-2147483649"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,1]", "[0]", "0", "2147483648"), "shape -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,1]", "[2147483648]", "1", "0"), "shape -1")
      << "before symbol";
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,1]", "[-2147483649]"), "symbol -1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,2]", "[100,1]"), "range 1");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,2]", "[-101,1]"), "range 0");
  EXPECT_EQ(Predict("pred_delta", planar, "[1,1,2]", "[100,-200]"), "[100,-100]");
}

std::string Dequantise(const std::string& shape, const std::string& step, const std::string& off,
                       const std::string& sym) {
  return Outcome("dequant", "{\"layout\":\"interleaved\",\"off\":" + off + ",\"shape\":" + shape +
                                ",\"step\":" + step + ",\"sym\":" + sym + "}");
}

TEST(Dequant, ByHandAndRefusals) {
  EXPECT_EQ(Dequantise("[2,1,2]", "[3,-2]", "[1,100]", "[1,2,3,4]"), "[4,96,10,92]");
  EXPECT_EQ(Dequantise("[1,1,1]", "[-2147483648]", "[2147483647]", "[-2147483648]"),
            "[4611686020574871551]");  // 2^62 + 2^31 - 1
  EXPECT_EQ(Dequantise("[1,1,1]", "[2147483648]", "[0]", "[0]"), "shape -1");
  EXPECT_EQ(Dequantise("[1,1,1]", "[0]", "[-2147483649]", "[0]"), "shape -1");
  EXPECT_EQ(Dequantise("[1,1,1]", "[0,0]", "[0]", "[0]"), "shape -1");
  EXPECT_EQ(Dequantise("[1,1,1]", "[0]", "[]", "[0]"), "shape -1");
  EXPECT_EQ(Dequantise("[1,1,1]", "[0]", "[0]", "[]"), "shape -1");
  EXPECT_EQ(Dequantise("[1,1,1]", "[0]", "[0]", "[2147483648]"), "symbol -1");
}

TEST(ScaleIndex, CountsThresholdsNotAbove) {
  const auto run = [](const std::string& t, const std::string& v) {
    return Outcome("scale_index", "{\"t\":" + t + ",\"v\":" + v + "}");
  };
  EXPECT_EQ(run("[-5,0,7]", "[-6,-5,-1,0,6,7,8]"), "[0,1,1,2,2,3,3]");
  EXPECT_EQ(run("[7,7]", "[]"), "tables -1");
  EXPECT_EQ(run("[9223372036854775808]", "[]"), "tables -1");
  EXPECT_EQ(run("[9223372036854775807]", "[9223372036854775807]"), "[1]");
  EXPECT_EQ(run("[7,6]", "[9223372036854775808]"), "tables -1") << "before v";
  EXPECT_EQ(run("[]", "[-9223372036854775809]"), "symbol -1");
  EXPECT_EQ(run("[]", "[null]"), "shape -1");
  std::vector<int> many(65536);
  for (int i = 0; i < 65536; ++i) many[i] = i;
  EXPECT_EQ(run(JsonIntegers(many), "[]"), "tables -1");
  many.pop_back();
  EXPECT_EQ(run(JsonIntegers(many), "[70000]"), "[65535]");
}

}  // namespace
}  // namespace helx::ops

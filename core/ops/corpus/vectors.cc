#include "core/ops/corpus/vectors.h"

#include <algorithm>

#include "core/ops/base64.h"
#include "core/ops/json.h"
#include "core/ops/load.h"
#include "core/ops/stage/stage.h"

namespace helx::ops {
namespace {

constexpr std::string_view kBothProfiles = "[\"acc32\",\"acc64\"]";
// A decode with more elements, all its values together, is declined (a GiB as i64): a graph of a
// few bytes can ask for any memory.
constexpr int64_t kMostElements = int64_t{1} << 27;

// A decode's tensors as canonical JSON and as the run takes them.
struct Decode {
  std::string text;
  std::vector<Tensor> tensors;
};

std::string TensorText(const std::string& shape, const std::string& data) {
  return JsonObject().Raw("data", data).Raw("shape", shape).Str();
}

std::string TensorText(const Tensor& tensor) {
  return TensorText(
      JsonIntegers(std::vector<int64_t>{tensor.shape.c, tensor.shape.h, tensor.shape.w}),
      JsonIntegers(tensor.data));
}

// A shape of another length than three is one that no run admits.
Tensor AsTensor(const RawTensor& raw) {
  if (raw.shape.size() != 3) return {};
  return {{raw.shape[0], raw.shape[1], raw.shape[2]}, {raw.data.begin(), raw.data.end()}};
}

Decode FromRaw(const RawDecode& raw) {
  Decode decode;
  std::vector<std::string> texts;
  for (const RawTensor& tensor : raw) {
    texts.push_back(TensorText(JsonIntegers(tensor.shape), JsonIntegers(tensor.data)));
    decode.tensors.push_back(AsTensor(tensor));
  }
  decode.text = JsonArray(texts);
  return decode;
}

// Integers beyond i64 make the tensor one that run step 1 refuses.
bool ReadIntegers(const Json& json, std::vector<int64_t>* values) {
  for (const Json& item : json.items()) {
    const auto value = item.IntegerIn(kI64Min, kI64Max);
    if (!value) return false;
    values->push_back(*value);
  }
  return true;
}

bool FromJson(const Json& json, Decode* decode) {
  if (!json.is_array()) return false;
  for (const Json& item : json.items()) {
    if (!item.HasExactly({"data", "shape"}) || !item.Find("data")->is_integers() ||
        !item.Find("shape")->is_integers()) {
      return false;
    }
    RawTensor raw;
    const bool fits = ReadIntegers(*item.Find("shape"), &raw.shape) &&
                      ReadIntegers(*item.Find("data"), &raw.data);
    decode->tensors.push_back(fits ? AsTensor(raw) : Tensor());
  }
  decode->text = json.Text();
  return true;
}

std::string ExpectText(const Result<std::vector<Tensor>>& outcome) {
  if (!outcome.ok()) return JsonObject().Text("refuse", CodeName(outcome.refusal().code)).Str();
  std::vector<std::string> tensors;
  for (const Tensor& tensor : outcome.value()) tensors.push_back(TensorText(tensor));
  return JsonObject().Raw("out", JsonArray(tensors)).Str();
}

// The decode's outcome, empty with `*error` when it is declined.
std::optional<std::string> Outcome(Instance* instance, const std::vector<Tensor>& inputs,
                                   std::string* error) {
  const int64_t elements = instance->ElementsOf(inputs);
  if (elements > kMostElements) {
    *error = "a decode of " + std::to_string(elements) + " elements, all values together, is " +
             "larger than the " + std::to_string(kMostElements) + " that are evaluated";
    return std::nullopt;
  }
  return ExpectText(instance->Decode(inputs));
}

std::optional<std::string> GraphLine(std::string_view id, const std::string& whg1,
                                     const std::vector<Decode>& decodes, std::string* error) {
  const Result<PlannedGraph> loaded = LoadWhg1(whg1);
  std::vector<std::string> decode_texts;
  std::string profiles(kBothProfiles);
  if (loaded.ok()) {
    if (loaded.value().verdict == Verdict::kAcc64) profiles = "[\"acc64\"]";
    Instance instance(&loaded.value());
    for (const Decode& decode : decodes) {
      const auto outcome = Outcome(&instance, decode.tensors, error);
      if (!outcome) return std::nullopt;
      decode_texts.push_back(JsonObject().Raw("expect", *outcome).Raw("in", decode.text).Str());
    }
  }
  return JsonObject()
             .Raw("decodes", JsonArray(decode_texts))
             .Text("graph", Base64Encode(whg1))
             .Text("id", id)
             .Text("load", loaded.ok() ? "ok" : CodeName(loaded.refusal().code))
             .Raw("profiles", profiles)
             .Str() +
         "\n";
}

std::string StageExpectText(const StageOutcome& outcome) {
  if (const auto* refusal = std::get_if<StageRefusal>(&outcome)) {
    return JsonObject().Integer("at", refusal->at).Text("refuse", CodeName(refusal->code)).Str();
  }
  return JsonObject().Raw("out", JsonIntegers(*std::get_if<0>(&outcome))).Str();
}

std::string StageLine(std::string_view id, std::string_view op, const Json& in) {
  const std::string whole = StageExpectText(RunStage(op, in, StageMode::kWhole));
  const std::string step = StageExpectText(RunStage(op, in, StageMode::kStep));
  // A disagreement of the modes must not look like an expectation.
  const std::string expect = whole == step ? whole : JsonObject().Raw("step", step).Str();
  return JsonObject()
             .Raw("expect", expect)
             .Text("id", id)
             .Raw("in", in.Text())
             .Raw("modes", "[\"step\",\"whole\"]")
             .Text("op", op)
             .Raw("profiles", std::string(kBothProfiles))
             .Str() +
         "\n";
}

std::string TextList(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(JsonString(value));
  return JsonArray(quoted);
}

std::optional<RecomputedLine> RecomputeGraph(std::string_view file, const Json& json,
                                             std::string* error) {
  *error = "not a graph vector";
  if (!json.HasExactly({"decodes", "graph", "id", "load", "profiles"}) ||
      !json.Find("id")->is_string() || !json.Find("graph")->is_string() ||
      !json.Find("decodes")->is_array()) {
    return std::nullopt;
  }
  const auto whg1 = Base64Decode(json.Find("graph")->text());
  if (!whg1) {
    *error = "graph is not base64";
    return std::nullopt;
  }
  std::vector<Decode> decodes;
  for (const Json& item : json.Find("decodes")->items()) {
    decodes.emplace_back();
    if (!item.HasExactly({"expect", "in"}) || !FromJson(*item.Find("in"), &decodes.back())) {
      *error = "a decode is not {expect, in}";
      return std::nullopt;
    }
  }
  const std::string_view id = json.Find("id")->text();
  auto line = GraphLine(id, *whg1, decodes, error);
  if (!line) {
    *error = std::string(id) + ": " + *error;
    return std::nullopt;
  }
  return RecomputedLine{std::string(id), std::move(*line), NpuLine(file, id, *whg1)};
}

std::optional<RecomputedLine> RecomputeStage(const Json& json, std::string* error) {
  *error = "not a stage vector";
  if (!json.HasExactly({"expect", "id", "in", "modes", "op", "profiles"}) ||
      !json.Find("id")->is_string() || !json.Find("op")->is_string()) {
    return std::nullopt;
  }
  const std::string_view id = json.Find("id")->text();
  const std::string_view op = json.Find("op")->text();
  const std::vector<std::string_view>& names = StageOperatorNames();
  if (std::find(names.begin(), names.end(), op) == names.end()) {
    *error = "no such stage operator";
    return std::nullopt;
  }
  return RecomputedLine{std::string(id), StageLine(id, op, *json.Find("in")), ""};
}

}  // namespace

std::string GraphVectorLine(std::string_view id, const std::string& whg1,
                            const std::vector<RawDecode>& decodes) {
  std::vector<Decode> converted;
  for (const RawDecode& raw : decodes) converted.push_back(FromRaw(raw));
  std::string error;
  return GraphLine(id, whg1, converted, &error).value_or("");
}

std::string StageVectorLine(std::string_view id, std::string_view op, const std::string& in) {
  const std::optional<Json> json = ParseJson(in, nullptr);
  return json ? StageLine(id, op, *json) : std::string();
}

std::string NpuLine(std::string_view file, std::string_view id, const std::string& whg1) {
  const Result<PlannedGraph> loaded = LoadWhg1(whg1);
  if (!loaded.ok()) return "";
  const NpuVerdict npu = ComputeNpuVerdict(loaded.value().graph, loaded.value().verdict);
  return JsonObject()
             .Text("file", file)
             .Text("id", id)
             .Raw("npu", npu.npu ? "true" : "false")
             .Raw("npu_flags", TextList(npu.flags))
             .Raw("npu_reasons", TextList(npu.reasons))
             .Str() +
         "\n";
}

std::optional<RecomputedLine> RecomputeLine(VectorKind kind, std::string_view file,
                                            std::string_view line, std::string* error) {
  const std::optional<Json> json = ParseJsonLine(line, error);
  if (!json) return std::nullopt;
  return kind == VectorKind::kGraph ? RecomputeGraph(file, *json, error)
                                    : RecomputeStage(*json, error);
}

bool DecodeLine(Instance* instance, std::string_view line, std::string* outcome,
                std::string* error) {
  const std::optional<Json> json = ParseJsonLine(line, error);
  if (!json) return false;
  Decode decode;
  if (!FromJson(*json, &decode)) {
    *error = "not a list of {data, shape}";
    return false;
  }
  auto text = Outcome(instance, decode.tensors, error);
  if (text) *outcome = std::move(*text);
  return text.has_value();
}

std::optional<VectorKind> KindOfFile(std::string_view path) {
  const auto in_folder = [path](std::string_view folder) {
    return path.substr(0, folder.size()) == folder;
  };
  if (path.size() < 6 || path.substr(path.size() - 6) != ".jsonl") return std::nullopt;
  if (in_folder("vectors/") || in_folder("graphs/")) return VectorKind::kGraph;
  if (in_folder("stage/")) return VectorKind::kStage;
  return std::nullopt;
}

}  // namespace helx::ops

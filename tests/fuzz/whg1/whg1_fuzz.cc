// libFuzzer target for the byte forms core/ops reads: WHG1 files, canonical JSON, vector lines and
// the registered network forms.
//
// The first byte chooses the reader. A WHG1 input has its checksums repaired first, so that
// mutations reach the later load steps; whatever loads is run on its ranges' ends. Invariants: a
// file that reads is written back byte for byte, the outputs of a decode lie in the intervals the
// bounds pass recorded, decodes of narrow elements give what those of 64-bit ones give, and a
// vector line as recomputed is recomputed to itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/ops/base64.h"
#include "core/ops/corpus/vectors.h"
#include "core/ops/json.h"
#include "core/ops/load.h"
#include "core/ops/lower/lowering.h"
#include "core/ops/run.h"
#include "core/ops/whg1.h"

namespace helx::ops {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Put32(std::string* bytes, size_t at, uint32_t value) {
  for (int i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

void RepairChecksums(std::string* bytes) {
  if (bytes->size() < 64) return;
  Put32(bytes, 36, static_cast<uint32_t>(bytes->size()));
  Put32(bytes, 40, Crc32(std::string_view(*bytes).substr(64)));
  Put32(bytes, 60, Crc32(std::string_view(*bytes).substr(0, 60)));
}

// A decode whose inputs are all their range's end, on small shapes only.
void Decode(Instance* instance, Instance* packed, const PlannedGraph& planned, bool high) {
  std::vector<Tensor> inputs;
  std::vector<PackedTensor> packed_inputs;
  for (const Input& input : planned.graph.inputs) {
    if (input.state) continue;
    const Shape shape = input.fixed ? Shape{input.c, input.h_cap, input.w_cap}
                                    : Shape{input.c, std::min<int64_t>(input.h_cap, 3),
                                            std::min<int64_t>(input.w_cap, 3)};
    if (shape.elements() > 4096) return;
    inputs.push_back({shape, Elements(shape.elements(), high ? input.hi : input.lo)});
    packed_inputs.push_back(Pack(inputs.back(), NarrowestType({input.lo, input.hi})));
  }
  const auto outcome = instance->Decode(inputs);
  const auto narrow = packed->DecodePacked(packed_inputs);
  Require(outcome.ok() == narrow.ok());
  if (!outcome.ok()) {
    Require(outcome.refusal().code == narrow.refusal().code);
    return;
  }
  for (size_t i = 0; i < outcome.value().size(); ++i) {
    const Interval bounds = planned.bounds.values[planned.graph.outputs[i]].out;
    Require(Unpack(narrow.value()[i]) == outcome.value()[i]);
    for (const int64_t v : outcome.value()[i].data) Require(v >= bounds.lo && v <= bounds.hi);
  }
}

// Keeps one execution short: the work of a node grows with its parameters.
bool IsShort(const Graph& graph, size_t bytes) {
  return graph.max_elems <= (1 << 16) && graph.nodes.size() <= 64 && bytes <= 8192 &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.params.kh * node.params.kw <= 64; });
}

void Whg1(std::string bytes, bool repair) {
  if (repair) RepairChecksums(&bytes);
  const Result<Graph> read = ReadWhg1(bytes);
  if (read.ok()) Require(WriteWhg1(read.value()) == bytes);
  const Result<PlannedGraph> loaded = LoadWhg1(bytes);
  if (!loaded.ok() || !IsShort(loaded.value().graph, bytes.size())) return;
  Instance instance(&loaded.value());
  Instance packed(&loaded.value());
  Decode(&instance, &packed, loaded.value(), false);
  Decode(&instance, &packed, loaded.value(), true);
}

void JsonText(std::string_view text) {
  const auto json = ParseJson(text, nullptr);
  if (json) Require(json->Text() == text);
}

void VectorLine(const std::string& line, bool graph) {
  std::string error;
  if (graph) {
    const auto json = ParseJsonLine(line, &error);
    const Json* member = json ? json->Find("graph") : nullptr;
    const auto whg1 = member != nullptr ? Base64Decode(member->text()) : std::nullopt;
    const Result<Graph> read = ReadWhg1(whg1.value_or(""));
    if (read.ok() && !IsShort(read.value(), whg1->size())) return;
  }
  const auto recomputed =
      RecomputeLine(graph ? VectorKind::kGraph : VectorKind::kStage, "f", line, &error);
  Require(recomputed.has_value() || !error.empty());
  if (!recomputed) return;
  // Both modes of a stage operator agreed, and what was recomputed is recomputed to itself.
  Require(recomputed->line.find("{\"expect\":{\"step\"") != 0);
  const auto again =
      RecomputeLine(graph ? VectorKind::kGraph : VectorKind::kStage, "f", recomputed->line, &error);
  Require(again.has_value() && again->line == recomputed->line);
}

void Lowered(std::string_view text, size_t which) {
  const LoweringInfo& info = Lowerings()[which % Lowerings().size()];
  std::vector<Member> members;
  for (const std::string_view name : info.members) {
    members.push_back({std::string(name), std::string(text)});
  }
  const auto roles =
      Lower(info, members, info.fields.empty() ? EntryFields{} : EntryFields{{"c", 2}});
  if (!roles.ok()) return;
  for (const RoleGraph& role : roles.value()) Require(ReadWhg1(role.bytes).ok());
}

}  // namespace
}  // namespace helx::ops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      helx::ops::Whg1(rest, false);
      break;
    case 1:
    case 2:
    case 3:
      helx::ops::Whg1(rest, true);
      break;
    case 4:
      helx::ops::JsonText(rest);
      break;
    case 5:
      helx::ops::VectorLine(rest + "\n", data[0] / 8 % 2 == 1);
      break;
    default:
      helx::ops::Lowered(rest, data[0] / 8);
      break;
  }
  return 0;
}

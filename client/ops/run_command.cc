// run and describe.
#include <cstdio>

#include "client/ops/commands.h"
#include "client/ops/files.h"
#include "core/ops/corpus/vectors.h"
#include "core/ops/load.h"
#include "core/ops/run.h"

namespace helx::ops {
namespace {

std::string ShapeText(const Shape& shape) {
  const auto dim = [](int64_t v) { return v == kUnknown ? std::string("?") : std::to_string(v); };
  return dim(shape.c) + "x" + dim(shape.h) + "x" + dim(shape.w);
}

void PrintValue(const PlannedGraph& planned, uint32_t id) {
  const ValueBounds& value = planned.bounds.values[id];
  std::string line = "  " + std::to_string(id) + " " + std::string(value.op);
  if (id >= planned.graph.inputs.size()) {
    for (const uint32_t arg : planned.graph.nodes[id - planned.graph.inputs.size()].args) {
      line += " " + std::to_string(arg);
    }
  }
  line += " -> " + ShapeText(planned.shapes[id]);
  for (const NamedInterval& named : value.named) {
    line += " " + named.CertificateName() + " [" + ToText(named.interval.lo) + ", " +
            ToText(named.interval.hi) + "]";
  }
  std::printf("%s\n", line.c_str());
}

void PrintFailures(const char* profile, const std::vector<Failure>& failures) {
  for (const Failure& failure : failures) {
    std::printf("does not meet %s: value %u, %s\n", profile, failure.id, failure.name.c_str());
  }
}

void PrintWords(const char* name, const std::vector<std::string>& words) {
  std::string line = name;
  for (const std::string& word : words) line += " " + word;
  std::printf("%s\n", line.c_str());
}

}  // namespace

int Complain(const std::string& what, int status) {
  std::fprintf(stderr, "wai-verify: %s\n", what.c_str());
  return status;
}

int RunCommand(const Words& words) {
  if (words.size() != 2) return Complain("run takes GRAPH.whg1 and DECODES.jsonl", kUsage);
  std::string error;
  const auto bytes = ReadFile(words[0], &error);
  const auto decodes = bytes ? ReadFile(words[1], &error) : std::nullopt;
  if (!decodes) return Complain(error, kUsage);
  const Result<PlannedGraph> loaded = LoadWhg1(*bytes);
  if (!loaded.ok()) return Complain(words[0] + ": " + loaded.refusal().Text(), kMalformed);
  Instance instance(&loaded.value());
  std::string_view rest = *decodes;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end == rest.npos ? end : end + 1);
    rest.remove_prefix(line.size());
    std::string outcome;
    if (!DecodeLine(&instance, line, &outcome, &error)) {
      return Complain(words[1] + ":" + std::to_string(number) + ": " + error, kUsage);
    }
    std::printf("%s\n", outcome.c_str());
  }
  return kMet;
}

int DescribeCommand(const Words& words) {
  if (words.size() != 1) return Complain("describe takes GRAPH.whg1", kUsage);
  std::string error;
  const auto bytes = ReadFile(words[0], &error);
  if (!bytes) return Complain(error, kUsage);
  const Result<PlannedGraph> result = PlanWhg1(*bytes);
  if (!result.ok()) return Complain(words[0] + ": " + result.refusal().Text(), kMalformed);
  const PlannedGraph& planned = result.value();
  std::printf("%zu inputs, %zu nodes, %zu outputs, %zu states, max_elems %lld\n",
              planned.graph.inputs.size(), planned.graph.nodes.size(), planned.graph.outputs.size(),
              planned.graph.updates.size(), static_cast<long long>(planned.graph.max_elems));
  for (uint32_t id = 0; id < planned.graph.values(); ++id) PrintValue(planned, id);
  PrintFailures("acc32", planned.bounds.fail_acc32);
  PrintFailures("acc64", planned.bounds.fail_acc64);
  const NpuVerdict npu = ComputeNpuVerdict(planned.graph, planned.verdict);
  std::printf("verdict %s\n", std::string(VerdictName(planned.verdict)).c_str());
  PrintWords("npu reasons:", npu.reasons);
  PrintWords("npu flags:", npu.flags);
  return planned.verdict == Verdict::kNone ? kNotMet : kMet;
}

}  // namespace helx::ops

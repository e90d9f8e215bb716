#include "client/cli/memory_view.h"

#include <algorithm>

#include "client/cli/text.h"
#include "core/bundle/layout.h"

namespace helx::cli {
namespace {

constexpr int64_t kMapWidth = 32;

std::string Text(const Json& object, const char* name) {
  return Printable(object[name].get_ref<const std::string&>());
}

int64_t Number(const Json& object, const char* name) { return object[name].get<int64_t>(); }

std::string Lifetime(const Json& tensor) {
  return std::to_string(Number(tensor, "first")) + " to " + std::to_string(Number(tensor, "last"));
}

void PrintTensors(const Json& plan, std::ostream& out) {
  Table table({"Tensor", "Offset", "Bytes", "Steps", "Name"}, {true, true, true, false, false});
  for (const Json& tensor : plan["tensors"]) {
    table.Add({std::to_string(Number(tensor, "number")), Grouped(Number(tensor, "offset")),
               Grouped(Number(tensor, "bytes")), Lifetime(tensor), Text(tensor, "name")});
  }
  if (!table.empty()) table.Print(out);
}

// One bar per operator, its length the share of the arena.
void PrintOperators(const Json& plan, std::ostream& out) {
  const int64_t arena = std::max<int64_t>(Number(plan, "arena_bytes"), 1);
  const int64_t peak = Number(plan, "peak_bytes");
  Table table({"Step", "Operator", "In use", "Scratch", "Of the arena"},
              {true, false, true, true, false});
  for (const Json& step : plan["operators"]) {
    const int64_t live = Number(step, "live_bytes");
    const auto bar = static_cast<size_t>(static_cast<double>(live) / static_cast<double>(arena) *
                                         static_cast<double>(kMapWidth));
    table.Add({std::to_string(Number(step, "step")),
               std::to_string(Number(step, "index")) + " " + Text(step, "name"), Grouped(live),
               Grouped(Number(step, "scratch_bytes")),
               std::string(bar, '#') + (live == peak ? " peak" : "")});
  }
  if (!table.empty()) table.Print(out);
}

}  // namespace

absl::StatusOr<Json> MemoryPlanOf(const LoadedBundle& bundle) {
  HELX_ASSIGN_OR_RETURN(const std::string text, bundle.ReadArtifact(kMemoryPlanPath));
  return ParseJson(text);
}

absl::Status PrintMemoryPlan(const LoadedBundle& bundle, std::ostream& out) {
  HELX_ASSIGN_OR_RETURN(const Json plan, MemoryPlanOf(bundle));
  out << "Arena " << Grouped(Number(plan, "arena_bytes")) << " bytes, at most "
      << Grouped(Number(plan, "peak_bytes")) << " in use\n";
  PrintTensors(plan, out);
  PrintOperators(plan, out);
  return absl::OkStatus();
}

}  // namespace helx::cli

#include "core/bundle/memory_plan.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/arena_map.h"
#include "core/bundle/layout.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

// What a section may hold beyond the plan: an arena is 16 bytes at least, weights and variables end
// with bytes that kernels may read over, and fill the last KiB.
constexpr uint64_t kPaddingBytes = 2048;

struct Plan {
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t variable_bytes = 0;
  int64_t weight_bytes = 0;
  std::string arena, code, weights;  // names of regions
};

absl::StatusOr<int64_t> Bytes(const Json& object, const char* name, std::string_view where) {
  HELX_ASSIGN_OR_RETURN(const int64_t bytes, JsonInt(object, name, where));
  if (bytes < 0) {
    return InvalidArgument(std::string(where) + "." + name + " is " + std::to_string(bytes) +
                           "; expected: 0 or more");
  }
  return bytes;
}

absl::Status CheckMembers(const Json& value, const std::string& where,
                          std::initializer_list<std::string_view> names) {
  if (!value.is_object()) return InvalidArgument(where + " is not an object");
  for (const auto& [name, member] : value.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return InvalidArgument(where + " has the member " + ShownText(name) +
                             "; allowed: " + JoinNames(names));
    }
  }
  return absl::OkStatus();
}

// Name, subgraph and ordinal of a tensor or an operator.
absl::Status CheckNamed(const Json& item, const char* ordinal, const std::string& where) {
  HELX_RETURN_IF_ERROR(JsonString(item, "name", where).status());
  HELX_RETURN_IF_ERROR(Bytes(item, "subgraph", where).status());
  return Bytes(item, ordinal, where).status();
}

absl::Status CheckInArena(const ArenaExtent& extent, const std::string& where, int64_t arena) {
  if (extent.offset <= arena && extent.bytes <= arena - extent.offset) return absl::OkStatus();
  return InvalidArgument(where + " has " + std::to_string(extent.bytes) + " bytes at " +
                         std::to_string(extent.offset) + ", outside the arena of " +
                         std::to_string(arena));
}

// An operator's scratch memory, which it needs at its own step, and what it says is in use then.
struct PlannedStep {
  ArenaExtent scratch;
  int64_t live_bytes = 0;
};

absl::StatusOr<PlannedStep> ParseStep(const Json& step, const std::string& where, int64_t arena) {
  HELX_RETURN_IF_ERROR(CheckMembers(step, where,
                                    {"index", "kernel", "live_bytes", "macs", "name",
                                     "scratch_bytes", "scratch_offset", "step", "subgraph"}));
  HELX_RETURN_IF_ERROR(CheckNamed(step, "index", where));
  HELX_RETURN_IF_ERROR(JsonString(step, "kernel", where).status());
  HELX_RETURN_IF_ERROR(Bytes(step, "macs", where).status());
  PlannedStep planned;
  HELX_ASSIGN_OR_RETURN(planned.live_bytes, Bytes(step, "live_bytes", where));
  HELX_ASSIGN_OR_RETURN(planned.scratch.bytes, Bytes(step, "scratch_bytes", where));
  HELX_ASSIGN_OR_RETURN(planned.scratch.offset, Bytes(step, "scratch_offset", where));
  HELX_ASSIGN_OR_RETURN(planned.scratch.first, JsonInt(step, "step", where));
  planned.scratch.last = planned.scratch.first;
  HELX_RETURN_IF_ERROR(CheckInArena(planned.scratch, where, arena));
  return planned;
}

absl::StatusOr<ArenaExtent> ParseTensor(const Json& tensor, const std::string& where,
                                        int64_t arena) {
  HELX_RETURN_IF_ERROR(CheckMembers(
      tensor, where, {"bytes", "first", "last", "name", "number", "offset", "subgraph"}));
  HELX_RETURN_IF_ERROR(CheckNamed(tensor, "number", where));
  ArenaExtent extent;
  HELX_ASSIGN_OR_RETURN(extent.offset, Bytes(tensor, "offset", where));
  HELX_ASSIGN_OR_RETURN(extent.bytes, Bytes(tensor, "bytes", where));
  HELX_ASSIGN_OR_RETURN(extent.first, JsonInt(tensor, "first", where));
  HELX_ASSIGN_OR_RETURN(extent.last, JsonInt(tensor, "last", where));
  HELX_RETURN_IF_ERROR(CheckInArena(extent, where, arena));
  if (extent.first > extent.last) {
    return InvalidArgument(where + " is last used before it is first used");
  }
  return extent;
}

// The map over time, from tensors and scratch memory.
absl::Status CheckMap(std::vector<ArenaExtent> extents, const std::vector<PlannedStep>& steps,
                      int64_t peak_bytes) {
  std::vector<int64_t> times;
  for (const PlannedStep& step : steps) {
    extents.push_back(step.scratch);
    times.push_back(step.scratch.first);
  }
  const std::vector<int64_t> live = LiveBytes(extents, times);
  int64_t peak = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    peak = std::max(peak, live[i]);
    if (live[i] == steps[i].live_bytes) continue;
    return InvalidArgument(ItemPath("memory.operators", i) + ".live_bytes is " +
                           std::to_string(steps[i].live_bytes) + "; tensors and scratch memory " +
                           "then take " + std::to_string(live[i]));
  }
  if (peak == peak_bytes) return absl::OkStatus();
  return InvalidArgument("memory.peak_bytes is " + std::to_string(peak_bytes) +
                         "; its operators need " + std::to_string(peak));
}

absl::StatusOr<Plan> ParsePlan(std::string_view text) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseJson(text));
  const std::string where = "memory";
  HELX_RETURN_IF_ERROR(
      CheckMembers(value, where,
                   {"arena_bytes", "operators", "peak_bytes", "placement", "scratch_bytes",
                    "tensors", "variable_bytes", "weight_bytes"}));
  Plan plan;
  HELX_ASSIGN_OR_RETURN(plan.arena_bytes, Bytes(value, "arena_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.scratch_bytes, Bytes(value, "scratch_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.variable_bytes, Bytes(value, "variable_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.weight_bytes, Bytes(value, "weight_bytes", where));
  HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonList(value, "tensors", where));
  std::vector<ArenaExtent> extents(tensors->size());
  for (size_t i = 0; i < tensors->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(
        extents[i], ParseTensor((*tensors)[i], ItemPath("memory.tensors", i), plan.arena_bytes));
  }
  HELX_ASSIGN_OR_RETURN(const Json* operators, JsonList(value, "operators", where));
  std::vector<PlannedStep> steps(operators->size());
  int64_t scratch = 0;
  for (size_t i = 0; i < operators->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(
        steps[i], ParseStep((*operators)[i], ItemPath("memory.operators", i), plan.arena_bytes));
    scratch = std::max(scratch, steps[i].scratch.bytes);
  }
  if (scratch != plan.scratch_bytes) {
    return InvalidArgument("memory.scratch_bytes is " + std::to_string(plan.scratch_bytes) +
                           "; its operators need " + std::to_string(scratch));
  }
  HELX_ASSIGN_OR_RETURN(const int64_t peak_bytes, Bytes(value, "peak_bytes", where));
  HELX_RETURN_IF_ERROR(CheckMap(std::move(extents), steps, peak_bytes));
  HELX_ASSIGN_OR_RETURN(const Json* placement, JsonMember(value, "placement", where));
  HELX_RETURN_IF_ERROR(CheckMembers(*placement, "memory.placement", {"arena", "code", "weights"}));
  HELX_ASSIGN_OR_RETURN(plan.arena, JsonString(*placement, "arena", "memory.placement"));
  HELX_ASSIGN_OR_RETURN(plan.code, JsonString(*placement, "code", "memory.placement"));
  HELX_ASSIGN_OR_RETURN(plan.weights, JsonString(*placement, "weights", "memory.placement"));
  return plan;
}

absl::Status CheckReserved(const char* name, int64_t planned, uint64_t reserved) {
  const auto bytes = static_cast<uint64_t>(planned);
  if (bytes <= reserved && reserved - bytes <= kPaddingBytes) return absl::OkStatus();
  return RefuseEvidence("memory_plan_mismatch", std::string(kMemoryPlanPath) + " plans " +
                                                    std::to_string(bytes) + " bytes as " + name +
                                                    "; the image reserves " +
                                                    std::to_string(reserved));
}

// Where a section must lie by the plan; empty when the plan does not say.
std::string_view PlannedRegion(const Plan& plan, std::string_view section) {
  if (section == ".text" || section == ".rodata" || section == ".helx_request") return plan.code;
  if (section == ".helx_weights") return plan.weights;
  if (section == ".helx_arena" || section == ".helx_variables") return plan.arena;
  return "";
}

absl::Status CheckPlacement(const Plan& plan, const Image& image, const Platform& platform,
                            const PlacementEntry& asked) {
  struct Part {
    const char* name;
    const std::string& planned;
    const std::string& asked;
  };
  const std::array<Part, 3> parts = {{{"arena", plan.arena, asked.arena},
                                      {"code", plan.code, asked.code},
                                      {"weights", plan.weights, asked.weights}}};
  for (const Part& part : parts) {
    if (FindRegion(platform.regions, part.planned) == nullptr) {
      return RefuseEvidence("placement_mismatch", std::string(kMemoryPlanPath) + " places " +
                                                      part.name + " in " + ShownText(part.planned) +
                                                      ", which " + std::string(platform.name) +
                                                      " does not have");
    }
    if (!part.asked.empty() && part.asked != part.planned) {
      return RefuseEvidence("placement_mismatch", std::string(kMemoryPlanPath) + " places " +
                                                      part.name + " in " + part.planned +
                                                      "; the request asks for " + part.asked);
    }
  }
  for (const ImageSection& section : image.sections) {
    const std::string_view name = PlannedRegion(plan, section.name);
    if (name.empty()) continue;
    const MemoryRegion& region = *FindRegion(platform.regions, name);
    if (section.address < region.address ||
        section.address + section.bytes > uint64_t{region.address} + region.bytes) {
      return RefuseEvidence("placement_mismatch", "the image has " + section.name + " at " +
                                                      HexAddress(section.address) +
                                                      ", outside of " + std::string(name) +
                                                      ", where " + kMemoryPlanPath + " places it");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMemoryPlan(std::string_view text, const Image& image, const Platform& platform,
                             const FrozenRequest& request) {
  const auto plan = ParsePlan(text);
  if (!plan.ok()) {
    return RefuseEvidence("memory_plan_invalid",
                          std::string(kMemoryPlanPath) + ": " + MessageOf(plan.status()));
  }
  HELX_RETURN_IF_ERROR(CheckReserved("arena", plan->arena_bytes, image.sizes.arena_bytes));
  HELX_RETURN_IF_ERROR(
      CheckReserved("variables", plan->variable_bytes, image.sizes.variable_bytes));
  HELX_RETURN_IF_ERROR(CheckReserved("weights", plan->weight_bytes, image.sizes.weight_bytes));
  return CheckPlacement(*plan, image, platform, request.placement);
}

}  // namespace helx

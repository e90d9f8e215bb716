#include "core/bundle/memory_plan.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/yaml_scalar.h"
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

// The bytes of scratch memory of an operator.
absl::StatusOr<int64_t> PlannedScratch(const Json& step, const std::string& where) {
  HELX_RETURN_IF_ERROR(
      CheckMembers(step, where, {"index", "kernel", "macs", "name", "scratch_bytes", "subgraph"}));
  HELX_RETURN_IF_ERROR(CheckNamed(step, "index", where));
  HELX_RETURN_IF_ERROR(JsonString(step, "kernel", where).status());
  HELX_RETURN_IF_ERROR(Bytes(step, "macs", where).status());
  return Bytes(step, "scratch_bytes", where);
}

absl::Status CheckPlannedTensor(const Json& tensor, const std::string& where, int64_t arena) {
  HELX_RETURN_IF_ERROR(CheckMembers(
      tensor, where, {"bytes", "first", "last", "name", "number", "offset", "subgraph"}));
  HELX_RETURN_IF_ERROR(CheckNamed(tensor, "number", where));
  HELX_ASSIGN_OR_RETURN(const int64_t offset, Bytes(tensor, "offset", where));
  HELX_ASSIGN_OR_RETURN(const int64_t bytes, Bytes(tensor, "bytes", where));
  HELX_ASSIGN_OR_RETURN(const int64_t first, JsonInt(tensor, "first", where));
  HELX_ASSIGN_OR_RETURN(const int64_t last, JsonInt(tensor, "last", where));
  if (offset > arena || bytes > arena - offset) {
    return InvalidArgument(where + " has " + std::to_string(bytes) + " bytes at " +
                           std::to_string(offset) + ", outside the arena of " +
                           std::to_string(arena));
  }
  if (first > last) return InvalidArgument(where + " is last used before it is first used");
  return absl::OkStatus();
}

absl::StatusOr<Plan> ParsePlan(std::string_view text) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseJson(text));
  const std::string where = "memory";
  HELX_RETURN_IF_ERROR(CheckMembers(value, where,
                                    {"arena_bytes", "operators", "placement", "scratch_bytes",
                                     "tensors", "variable_bytes", "weight_bytes"}));
  Plan plan;
  HELX_ASSIGN_OR_RETURN(plan.arena_bytes, Bytes(value, "arena_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.scratch_bytes, Bytes(value, "scratch_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.variable_bytes, Bytes(value, "variable_bytes", where));
  HELX_ASSIGN_OR_RETURN(plan.weight_bytes, Bytes(value, "weight_bytes", where));
  HELX_ASSIGN_OR_RETURN(const Json* tensors, JsonList(value, "tensors", where));
  for (size_t i = 0; i < tensors->size(); ++i) {
    HELX_RETURN_IF_ERROR(
        CheckPlannedTensor((*tensors)[i], ItemPath("memory.tensors", i), plan.arena_bytes));
  }
  HELX_ASSIGN_OR_RETURN(const Json* operators, JsonList(value, "operators", where));
  int64_t scratch = 0;
  for (size_t i = 0; i < operators->size(); ++i) {
    HELX_ASSIGN_OR_RETURN(const int64_t bytes,
                          PlannedScratch((*operators)[i], ItemPath("memory.operators", i)));
    scratch = std::max(scratch, bytes);
  }
  if (scratch != plan.scratch_bytes) {
    return InvalidArgument("memory.scratch_bytes is " + std::to_string(plan.scratch_bytes) +
                           "; its operators need " + std::to_string(scratch));
  }
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
  if (plan->scratch_bytes > plan->arena_bytes) {
    return RefuseEvidence("memory_plan_invalid",
                          std::string(kMemoryPlanPath) + " plans more scratch memory than arena");
  }
  return CheckPlacement(*plan, image, platform, request.placement);
}

}  // namespace helx

#include "core/bundle/measurements.h"

#include "core/base/yaml_scalar.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

constexpr char kExact[] = "exact";

Metric OfImage(uint64_t value) { return {static_cast<int64_t>(value), "elf", kExact, ""}; }

std::string NumberText(const Metric& metric) {
  return metric.value ? std::to_string(*metric.value) : "null";
}

absl::Status CheckBasis(const std::string& name, const Metric& stated, const Metric& expected) {
  if (stated.basis == expected.basis && stated.accuracy == expected.accuracy) {
    return absl::OkStatus();
  }
  return RefuseEvidence("measurement_basis", name + " is stated as " + ShownText(stated.basis) +
                                                 ", " + ShownText(stated.accuracy) + "; it is " +
                                                 ShownText(expected.basis) + ", " +
                                                 ShownText(expected.accuracy));
}

// A number that only the runner knows: there exactly when `expected` has one.
absl::Status CheckReported(const std::string& name, const Metric& stated, const Metric& expected) {
  HELX_RETURN_IF_ERROR(CheckBasis(name, stated, expected));
  if (stated.value.has_value() == expected.value.has_value()) return absl::OkStatus();
  if (!stated.value) {
    return RefuseEvidence("measurement_missing", name + " is null (" + ShownText(stated.reason) +
                                                     "), but the run measured it");
  }
  return RefuseEvidence("measurement_unexpected",
                        name + " is " + NumberText(stated) +
                            ", but there was nothing to measure: " + expected.reason);
}

absl::Status CheckMemory(const MemoryFigures& stated, const MemoryFigures& computed) {
  for (const MemoryMember& row : MemoryMembers()) {
    if (row.member == &MemoryFigures::stack_high_water_bytes) continue;
    const std::string name = std::string("memory.") + row.name;
    HELX_RETURN_IF_ERROR(CheckBasis(name, stated.*row.member, computed.*row.member));
    if ((stated.*row.member).value != (computed.*row.member).value) {
      return RefuseEvidence("memory_mismatch", name + " is " + NumberText(stated.*row.member) +
                                                   "; the image has " +
                                                   NumberText(computed.*row.member));
    }
  }
  return absl::OkStatus();
}

}  // namespace

MemoryFigures MemoryOfImage(const ImageSizes& sizes) {
  MemoryFigures memory;
  memory.rom_bytes = OfImage(sizes.rom_bytes());
  memory.text_bytes = OfImage(sizes.text_bytes);
  memory.rodata_bytes = OfImage(sizes.rodata_bytes);
  memory.weight_bytes = OfImage(sizes.weight_bytes);
  memory.ram_bytes = OfImage(sizes.ram_bytes());
  memory.arena_bytes = OfImage(sizes.arena_bytes);
  memory.variable_bytes = OfImage(sizes.variable_bytes);
  memory.stack_high_water_bytes = {std::nullopt, "runner", kExact, "the image was not executed"};
  return memory;
}

Metric StackHighWater(uint64_t bytes) {
  return {static_cast<int64_t>(bytes), "runner", kExact, ""};
}

Metric InstructionCount(uint64_t counted, const Platform& platform, bool probe) {
  Metric metric;
  if (platform.count_basis.empty()) {
    metric.reason = "this platform counts no instructions";
    return metric;
  }
  metric.basis = std::string(platform.count_basis);
  metric.accuracy = kExact;
  if (probe) {
    metric.reason =
        "a diagnostic build reports between operators, which its instructions would include";
  } else {
    metric.value = static_cast<int64_t>(counted);
  }
  return metric;
}

absl::Status CheckMeasurements(const ResultDocument& result, const FrozenRequest& request,
                               const Platform& platform, const ImageSizes& sizes) {
  if (result.core != platform.core) {
    return RefuseEvidence("core_mismatch", "the core is stated as " + ShownText(result.core) +
                                               "; " + std::string(platform.name) + " has a " +
                                               std::string(platform.core));
  }
  MemoryFigures computed = MemoryOfImage(sizes);
  HELX_RETURN_IF_ERROR(CheckMemory(result.memory, computed));
  const Metric& stack = result.memory.stack_high_water_bytes;
  if (result.executed) computed.stack_high_water_bytes = StackHighWater(sizes.stack_bytes);
  HELX_RETURN_IF_ERROR(
      CheckReported("memory.stack_high_water_bytes", stack, computed.stack_high_water_bytes));
  if (stack.value && static_cast<uint64_t>(*stack.value) > sizes.stack_bytes) {
    return RefuseEvidence("stack_exceeded", "memory.stack_high_water_bytes is " +
                                                NumberText(stack) + "; the image reserves " +
                                                std::to_string(sizes.stack_bytes));
  }
  const Metric expected = InstructionCount(1, platform, request.probe);
  for (const Sample& sample : result.samples) {
    const std::string name = "samples[" + std::to_string(sample.index) + "].instructions";
    HELX_RETURN_IF_ERROR(CheckReported(name, sample.instructions, expected));
    if (sample.instructions.value == 0) {
      return RefuseEvidence("measurement_missing",
                            name + " is 0, which no run gives; what was not measured is null");
    }
  }
  return absl::OkStatus();
}

}  // namespace helx

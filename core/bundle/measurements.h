// The numbers of a result: how a producer states them, and what a reader holds them to.
#ifndef HELX_CORE_BUNDLE_MEASUREMENTS_H_
#define HELX_CORE_BUNDLE_MEASUREMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/bundle/image.h"
#include "core/bundle/result.h"
#include "core/experiment/frozen_request.h"
#include "core/experiment/platform.h"

namespace helx {

// The figures of an image that was not executed: the stack's high-water mark is null.
MemoryFigures MemoryOfImage(const ImageSizes& sizes);

// The high-water mark as the runner reported it.
Metric StackHighWater(uint64_t bytes);

// The instruction count of one invocation. Null for a platform that counts none, and for a
// diagnostic build, whose image reports between operators.
Metric InstructionCount(uint64_t counted, const Platform& platform, bool probe);

// Holds the platform's core, the image's figures and the basis and accuracy of every number to what
// platform, image and request give. What only the runner saw, counts and the high-water mark, must
// be there exactly when it could be measured, and the mark within the stack. Refusals:
// core_mismatch, memory_mismatch, measurement_basis, measurement_missing, measurement_unexpected,
// stack_exceeded.
absl::Status CheckMeasurements(const ResultDocument& result, const FrozenRequest& request,
                               const Platform& platform, const ImageSizes& sizes);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_MEASUREMENTS_H_

// build/memory.json: where the engine placed the model's tensors and what it expects of the image.
#ifndef HELX_CORE_BUNDLE_MEMORY_PLAN_H_
#define HELX_CORE_BUNDLE_MEMORY_PLAN_H_

#include <string_view>

#include "core/base/status.h"
#include "core/bundle/image.h"
#include "core/experiment/frozen_request.h"
#include "core/experiment/platform.h"

namespace helx {

// Holds the plan to the image that was linked from it and to what the request placed. Refusals:
// memory_plan_invalid (not the document, or tensors outside the arena), memory_plan_mismatch (the
// image reserves something else), placement_mismatch (the image's parts lie elsewhere than the plan
// says, or the plan elsewhere than the request asks).
absl::Status CheckMemoryPlan(std::string_view text, const Image& image, const Platform& platform,
                             const FrozenRequest& request);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_MEMORY_PLAN_H_

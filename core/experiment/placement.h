// Where the parts of an image go, as a document asks for it.
#ifndef HELX_CORE_EXPERIMENT_PLACEMENT_H_
#define HELX_CORE_EXPERIMENT_PLACEMENT_H_

#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/status.h"

namespace helx {

// Names of the platform's memory regions ("ITCM", "DTCM", "SRAM"); an empty one is the planner's
// choice.
struct PlacementEntry {
  std::string code;     // code, and constants that are not the model's
  std::string weights;  // the model's constants
  std::string arena;    // activations, scratch memory and variables

  bool empty() const { return code.empty() && weights.empty() && arena.empty(); }

  friend bool operator==(const PlacementEntry&, const PlacementEntry&) = default;
};

// {"arena","code","weights"}, without what is empty.
Json PlacementToJson(const PlacementEntry& placement);

// The member "placement" of `object`, all empty when there is none. INVALID_ARGUMENT for anything
// but names of at most 32 of A-Z a-z 0-9 _.
absl::StatusOr<PlacementEntry> PlacementFromJson(const Json& object, std::string_view where);

bool IsRegionName(std::string_view text);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_PLACEMENT_H_

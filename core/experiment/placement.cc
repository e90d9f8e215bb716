#include "core/experiment/placement.h"

#include <algorithm>
#include <utility>

namespace helx {
namespace {

constexpr size_t kRegionNameBytes = 32;

}  // namespace

bool IsRegionName(std::string_view text) {
  return !text.empty() && text.size() <= kRegionNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Json PlacementToJson(const PlacementEntry& placement) {
  Json json = Json::object();
  if (!placement.arena.empty()) json["arena"] = placement.arena;
  if (!placement.code.empty()) json["code"] = placement.code;
  if (!placement.weights.empty()) json["weights"] = placement.weights;
  return json;
}

absl::StatusOr<PlacementEntry> PlacementFromJson(const Json& object, std::string_view where) {
  PlacementEntry placement;
  if (!object.contains("placement")) return placement;
  const Json& value = object["placement"];
  const std::string path = std::string(where) + ".placement";
  if (!value.is_object()) return InvalidArgument(path + " is not an object");
  for (auto [name, text] :
       {std::pair{"arena", &placement.arena}, std::pair{"code", &placement.code},
        std::pair{"weights", &placement.weights}}) {
    if (!value.contains(name)) continue;
    HELX_ASSIGN_OR_RETURN(*text, JsonString(value, name, path));
    if (!IsRegionName(*text)) {
      return InvalidArgument(path + "." + name + " is not the name of a memory region");
    }
  }
  return placement;
}

}  // namespace helx

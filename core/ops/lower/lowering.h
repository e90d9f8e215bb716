// Lowerings of the registered network forms to WHG1 (docs/integer-operators.md, section 13).
#ifndef HELX_CORE_OPS_LOWER_LOWERING_H_
#define HELX_CORE_OPS_LOWER_LOWERING_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/graph.h"
#include "core/ops/result.h"

namespace helx::ops {

struct Member {
  std::string name;
  std::string bytes;
};

// An entry's fields beside its members, by name ("c" of world_model/1).
using EntryFields = std::map<std::string, int64_t>;

// One row of section 13.0's table.
struct LoweringInfo {
  std::string_view id;
  std::string_view capability;
  std::vector<std::string_view> members;
  std::vector<std::string_view> fields;
  std::vector<std::string_view> roles;

  // The id before its slash: the corpus names a lowering's vectors by it.
  std::string_view form() const { return id.substr(0, id.find('/')); }
};

const std::vector<LoweringInfo>& Lowerings();
// Null when there is none.
const LoweringInfo* FindLowering(std::string_view id);
const LoweringInfo* FindLoweringOfCapability(std::string_view capability);

struct RoleGraph {
  std::string role;
  // The WHG1 file; it passes load steps 1 to 6.
  std::string bytes;
};

// The graphs in section 13.0's role order, or the refusal: kMember, kForm, kLayer, kUnsupported or
// kLimit, the first in this order that any part of the set gives.
Result<std::vector<RoleGraph>> Lower(const LoweringInfo& lowering,
                                     const std::vector<Member>& members, const EntryFields& fields);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_LOWER_LOWERING_H_

#include "core/ops/lower/lowering.h"

#include <algorithm>

#include "core/ops/lower/forms.h"
#include "core/ops/whg1.h"

namespace helx::ops {
namespace {

const Member* FindMember(const std::vector<Member>& members, std::string_view name) {
  const auto at = std::find_if(members.begin(), members.end(),
                               [&](const Member& member) { return member.name == name; });
  return at == members.end() ? nullptr : &*at;
}

// Which refusal of several is the set's: the code section 13.0 orders first.
bool Precedes(Code a, Code b) { return static_cast<int>(a) < static_cast<int>(b); }
static_assert(Code::kForm < Code::kLayer && Code::kLayer < Code::kUnsupported &&
              Code::kUnsupported < Code::kLimit);

std::optional<Refusal> CheckMembers(const LoweringInfo& lowering,
                                    const std::vector<Member>& members) {
  for (const std::string_view name : lowering.members) {
    if (FindMember(members, name) == nullptr) {
      return Refusal{Code::kMember, std::string(name) + " is missing"};
    }
  }
  if (members.size() != lowering.members.size()) {
    return Refusal{Code::kMember, "the set has a member the lowering does not take"};
  }
  return std::nullopt;
}

std::optional<Refusal> CheckFields(const LoweringInfo& lowering, const EntryFields& fields) {
  for (const std::string_view name : lowering.fields) {
    if (fields.find(std::string(name)) == fields.end()) {
      return LimitFault("the field " + std::string(name) + " is missing");
    }
  }
  if (fields.size() != lowering.fields.size()) return LimitFault("an extra field");
  return std::nullopt;
}

Result<Graph> LowerRole(const LoweringInfo& lowering, size_t role, std::string_view bytes,
                        const EntryFields& fields) {
  const std::string_view form = lowering.form();
  if (form == "int_conv") return LowerWhm(bytes, "int_conv");
  if (form == "int_hyper") return LowerWhm(bytes, role == 0 ? "int_hyper_h" : "int_hyper_g");
  if (form == "gru_cell") return LowerGruCell(bytes);
  if (form == "int_mlp") return LowerMlp(bytes);
  if (form == "tflite_int8") return LowerTfq(bytes);
  if (role == 1) return LowerWhm(bytes, "world_g");
  const auto c = fields.find("c");
  return LowerWorldTransition(bytes,
                              c == fields.end() ? std::nullopt : std::optional<int64_t>(c->second));
}

// The WHG1 file of a lowered graph; load steps 1 to 6 hold for it.
Result<std::string> Encode(const Graph& graph) {
  if (FileSize(graph) > 0xFFFFFFFF) return LimitFault("the WHG1 file passes 2^32 - 1 bytes");
  std::string bytes = WriteWhg1(graph);
  const Result<Graph> read = ReadWhg1(bytes);
  if (!read.ok()) return LimitFault("the lowered graph is refused: " + read.refusal().Text());
  return bytes;
}

}  // namespace

const std::vector<LoweringInfo>& Lowerings() {
  static const auto* const kTable = new std::vector<LoweringInfo>{
      {"int_conv/1", "wai.neural.int_conv", {"net.whm"}, {}, {"net"}},
      {"int_hyper/1", "wai.neural.int_hyper", {"h_s.whm", "g_s.whm"}, {}, {"h_s", "g_s"}},
      {"world_model/1", "wai.world.model", {"T.whm", "g_s.whm"}, {"c"}, {"T", "g_s"}},
      {"gru_cell/1", "wai.neural.gru", {"cell.whm"}, {}, {"cell"}},
      {"int_mlp/1", "wai.neural.mlp", {"net.whm"}, {}, {"net"}},
      {"tflite_int8/1", "wai.neural.tflite_int8", {"model.tfq"}, {}, {"main"}},
  };
  return *kTable;
}

const LoweringInfo* FindLowering(std::string_view id) {
  for (const LoweringInfo& info : Lowerings()) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

const LoweringInfo* FindLoweringOfCapability(std::string_view capability) {
  for (const LoweringInfo& info : Lowerings()) {
    if (info.capability == capability) return &info;
  }
  return nullptr;
}

Result<std::vector<RoleGraph>> Lower(const LoweringInfo& lowering,
                                     const std::vector<Member>& members,
                                     const EntryFields& fields) {
  if (const auto refusal = CheckMembers(lowering, members)) return *refusal;
  std::optional<Refusal> first = CheckFields(lowering, fields);
  std::vector<RoleGraph> roles;
  // Members and roles of every lowering are in the same order.
  for (size_t role = 0; role < lowering.roles.size(); ++role) {
    const std::string_view name = lowering.members[role];
    const Result<Graph> graph = LowerRole(lowering, role, FindMember(members, name)->bytes, fields);
    Result<std::string> bytes = graph.ok() ? Encode(graph.value()) : graph.refusal();
    if (bytes.ok()) {
      roles.push_back({std::string(lowering.roles[role]), std::move(bytes.value())});
      continue;
    }
    const Refusal refusal{bytes.refusal().code, std::string(name) + ": " + bytes.refusal().detail};
    if (!first || Precedes(refusal.code, first->code)) first = refusal;
  }
  if (first) return *first;
  return roles;
}

}  // namespace helx::ops

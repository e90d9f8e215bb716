#include "core/ops/certificate.h"

#include <algorithm>

#include "core/ops/json.h"

namespace helx::ops {
namespace {

constexpr std::string_view kCertForm = "wai-ops-bounds/1";

std::string FailuresText(const std::vector<Failure>& failures) {
  std::vector<std::string> entries;
  for (const Failure& failure : failures) {
    entries.push_back("[" + std::to_string(failure.id) + "," + JsonString(failure.name) + "]");
  }
  return JsonArray(entries);
}

std::string ValueText(const ValueBounds& value) {
  std::vector<std::string> named;
  for (const NamedInterval& entry : value.named) {
    named.push_back("[" + JsonString(entry.CertificateName()) + "," + ToText(entry.interval.lo) +
                    "," + ToText(entry.interval.hi) + "]");
  }
  return JsonObject()
      .Integer("id", value.id)
      .Raw("named", JsonArray(named))
      .Text("op", value.op)
      .Str();
}

std::string RoleText(std::string_view role, const Bounds& bounds) {
  std::vector<std::string> values;
  for (const ValueBounds& value : bounds.values) values.push_back(ValueText(value));
  return JsonObject()
      .Raw("fail_acc32", FailuresText(bounds.fail_acc32))
      .Raw("fail_acc64", FailuresText(bounds.fail_acc64))
      .Text("role", role)
      .Raw("values", JsonArray(values))
      .Text("verdict", VerdictName(bounds.verdict()))
      .Str();
}

std::optional<Verdict> VerdictFromName(std::string_view name) {
  for (const Verdict verdict : {Verdict::kNone, Verdict::kAcc64, Verdict::kAcc32}) {
    if (VerdictName(verdict) == name) return verdict;
  }
  return std::nullopt;
}

}  // namespace

std::string HexDigest(const Digest& digest) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 15]);
  }
  return text;
}

std::string SetDigest(const std::vector<Member>& members, HashFunction hash) {
  if (members.size() == 1) return HexDigest(hash(members.front().bytes));
  std::vector<const Member*> sorted;
  for (const Member& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const Member* a, const Member* b) { return a->name < b->name; });
  std::string listing = "wai.prior.set/1\n";
  for (const Member* member : sorted) {
    listing += HexDigest(hash(member->bytes)) + " " + member->name + "\n";
  }
  return HexDigest(hash(listing));
}

Result<Certificate> Certify(std::string_view capability, std::string_view lowering,
                            const std::vector<RoleGraph>& roles, std::string_view set) {
  Verdict weakest = Verdict::kAcc32;
  std::vector<std::string> texts;
  for (const RoleGraph& role : roles) {
    const Result<PlannedGraph> planned = PlanWhg1(role.bytes);
    if (!planned.ok()) {
      return Refusal{planned.refusal().code, role.role + ": " + planned.refusal().detail};
    }
    weakest = std::min(weakest, planned.value().verdict);
    texts.push_back(RoleText(role.role, planned.value().bounds));
  }
  const std::string text = JsonObject()
                               .Text("capability", capability)
                               .Text("cert", kCertForm)
                               .Text("lowering", lowering)
                               .Raw("roles", JsonArray(texts))
                               .Text("set", set)
                               .Text("verdict", VerdictName(weakest))
                               .Str();
  return Certificate{text + "\n", weakest};
}

Result<Certificate> CertifyGraphs(std::string_view capability, std::string_view lowering,
                                  std::vector<RoleGraph> roles, HashFunction hash) {
  std::sort(roles.begin(), roles.end(),
            [](const RoleGraph& a, const RoleGraph& b) { return a.role < b.role; });
  std::vector<Member> members;
  for (const RoleGraph& role : roles) members.push_back({role.role, role.bytes});
  return Certify(capability, lowering, roles, SetDigest(members, hash));
}

std::optional<CertificateClaim> ReadCertificate(std::string_view text, std::string* error) {
  const std::optional<Json> json = ParseJsonLine(text, error);
  if (!json) {
    *error = "not canonical: " + *error;
    return std::nullopt;
  }
  const bool keyed =
      json->HasExactly({"capability", "cert", "lowering", "roles", "set", "verdict"});
  if (!keyed || json->Find("cert")->text() != kCertForm || !json->Find("capability")->is_string() ||
      !json->Find("lowering")->is_string() || !json->Find("roles")->is_array() ||
      !json->Find("set")->is_string()) {
    *error = "not a " + std::string(kCertForm) + " certificate";
    return std::nullopt;
  }
  const auto verdict = VerdictFromName(json->Find("verdict")->text());
  if (!verdict) {
    *error = "the verdict is not acc32, acc64 or none";
    return std::nullopt;
  }
  return CertificateClaim{std::string(json->Find("capability")->text()),
                          std::string(json->Find("lowering")->text()),
                          std::string(json->Find("set")->text()), *verdict};
}

std::optional<Verdict> ProfileFromName(std::string_view name) {
  if (name == "acc32") return Verdict::kAcc32;
  if (name == "acc64") return Verdict::kAcc64;
  return std::nullopt;
}

std::optional<std::string> SinkRefusal(const LoweringInfo& lowering,
                                       const std::vector<Member>& members,
                                       const EntryFields& fields, std::string_view certificate,
                                       Verdict profile, HashFunction hash) {
  const Result<std::vector<RoleGraph>> roles = Lower(lowering, members, fields);
  if (!roles.ok()) return "the lowering refuses the set: " + roles.refusal().Text();
  for (const RoleGraph& role : roles.value()) {
    const Result<PlannedGraph> loaded = LoadWhg1(role.bytes);
    if (!loaded.ok()) {
      return "the lowered graph " + role.role + " does not load: " + loaded.refusal().Text();
    }
  }
  std::string error;
  const auto claim = ReadCertificate(certificate, &error);
  if (!claim) return "the certificate is " + error;
  const std::string digest = SetDigest(members, hash);
  if (claim->set != digest) {
    return "the certificate is of set " + claim->set + ", and this set is " + digest;
  }
  if (claim->lowering != lowering.id) {
    return "the certificate is of lowering " + claim->lowering + ", and " +
           std::string(lowering.id) + " is used";
  }
  if (claim->verdict < profile) {
    return "the certificate's verdict " + std::string(VerdictName(claim->verdict)) +
           " does not meet " + std::string(VerdictName(profile));
  }
  const Result<Certificate> own = Certify(lowering.capability, lowering.id, roles.value(), digest);
  if (!own.ok() || own.value().text != certificate) {
    return "the certificate is not the one this sink's own bounds pass writes";
  }
  return std::nullopt;
}

}  // namespace helx::ops

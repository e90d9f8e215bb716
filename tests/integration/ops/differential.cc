// helx_ops_differential FILE: what core/ops makes of the cases differential_cases.py wrote, against
// what the independent checker made of them (exit 0: all equal, 1: not, 2: the file is unreadable).
#include <cstdio>
#include <string>

#include "client/ops/files.h"
#include "client/ops/sha256.h"
#include "core/ops/base64.h"
#include "core/ops/bounds.h"
#include "core/ops/certificate.h"
#include "core/ops/corpus/vectors.h"
#include "core/ops/json.h"
#include "core/ops/lower/lowering.h"

namespace helx::ops {
namespace {

std::string Text(const Json& doc, std::string_view key) {
  const Json* value = doc.Find(key);
  return value == nullptr ? "" : std::string(value->text());
}

// The recomputed vector line; a graph that loads has its npu verdict after it.
std::string OutcomeOfLine(const Json& doc, VectorKind kind) {
  std::string error;
  const auto made = RecomputeLine(kind, "f", Text(doc, "line") + "\n", &error);
  return made ? made->line + made->npu : "no vector: " + error;
}

std::string ExpectedOfLine(const Json& doc, VectorKind kind) {
  std::string expect = Text(doc, "expect") + "\n";
  const std::string npu = Text(doc, "npu");
  if (kind == VectorKind::kStage || npu.empty()) return expect;
  // The verdict's three fields follow the line's file and id.
  const std::string id = ParseJson(Text(doc, "line"), nullptr)->Find("id")->Text();
  return expect + "{\"file\":\"f\",\"id\":" + id + "," + npu.substr(1) + "\n";
}

std::string CertificateOutcome(const Json& doc) {
  const std::string graph = Base64Decode(Text(doc, "graph")).value_or("");
  const auto certificate = CertifyGraphs("", "", {{"g", graph}}, Sha256);
  return certificate.ok() ? HexDigest(Sha256(certificate.value().text))
                          : std::string(CodeName(certificate.refusal().code));
}

std::string LoweringOutcome(const Json& doc) {
  std::vector<Member> members;
  for (const Json& pair : doc.Find("members")->items()) {
    members.push_back(
        {std::string(pair.items()[0].text()), Base64Decode(pair.items()[1].text()).value_or("")});
  }
  EntryFields fields;
  for (const Json& pair : doc.Find("fields")->items()) {
    fields[std::string(pair.items()[0].text())] =
        pair.items()[1].IntegerIn(kI64Min, kI64Max).value_or(0);
  }
  const auto roles = Lower(*FindLowering(Text(doc, "lowering")), members, fields);
  if (!roles.ok()) return std::string(CodeName(roles.refusal().code));
  std::string text;
  for (const RoleGraph& role : roles.value()) {
    text += (text.empty() ? "" : " ") + role.role + ":" + HexDigest(Sha256(role.bytes));
  }
  return text;
}

// Whether one case's outcomes are equal; says how they differ.
bool Equal(const Json& doc, size_t line) {
  const std::string kind = Text(doc, "kind");
  std::string expect = Text(doc, "expect");
  std::string found;
  if (kind == "graph" || kind == "stage") {
    const VectorKind vector = kind == "graph" ? VectorKind::kGraph : VectorKind::kStage;
    found = OutcomeOfLine(doc, vector);
    expect = ExpectedOfLine(doc, vector);
  } else if (kind == "certificate") {
    found = CertificateOutcome(doc);
  } else if (kind == "lower") {
    found = LoweringOutcome(doc);
  }
  if (found == expect) return true;
  std::printf("case %zu (%s):\n  found    %.2000s\n  expected %.2000s\n", line, kind.c_str(),
              found.c_str(), expect.c_str());
  return false;
}

int Compare(const char* path) {
  std::string error;
  const auto bytes = ReadFile(path, &error);
  if (!bytes) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  size_t cases = 0;
  size_t different = 0;
  for (size_t at = 0; at < bytes->size(); ++cases) {
    const size_t end = bytes->find('\n', at);
    const auto doc = ParseJson(std::string_view(*bytes).substr(at, end - at), &error);
    if (end == std::string::npos || !doc) {
      std::fprintf(stderr, "%s:%zu: %s\n", path, cases + 1, error.c_str());
      return 2;
    }
    if (!Equal(*doc, cases + 1)) ++different;
    at = end + 1;
  }
  std::printf("%zu cases, %zu differ\n", cases, different);
  return cases > 0 && different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace helx::ops

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: helx_ops_differential FILE\n");
    return 2;
  }
  return helx::ops::Compare(argv[1]);
}

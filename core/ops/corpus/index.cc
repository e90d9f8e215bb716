// certificates/ and graphs/lower_<form>.jsonl (docs/integer-operators.md, sections 14.3 and
// 14.7.9).
#include <algorithm>
#include <set>

#include "core/ops/certificate.h"
#include "core/ops/corpus/sets.h"
#include "core/ops/load.h"

namespace helx::ops {
namespace {

std::string InCorpus(const std::string& path) { return std::string(kCorpusFolder) + "/" + path; }

std::string PairsText(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> texts;
  for (const auto& [first, second] : pairs) {
    texts.push_back("[" + JsonString(first) + "," + JsonString(second) + "]");
  }
  return JsonArray(texts);
}

// Writes one set's members, lowered graphs and certificate; gives its index entry.
std::string AddSetFiles(const CorpusSet& set, const std::vector<RoleGraph>& roles,
                        CorpusBuilder* corpus) {
  const std::string digest = SetDigest(set.members, corpus->hash());
  const std::string capability(set.lowering->capability);
  const std::string folder = "certificates/" + capability + "/" + digest;
  std::vector<std::pair<std::string, std::string>> members, graphs;
  for (const Member& member : set.members) {
    const std::string path = "sets/" + set.name + "/" + member.name;
    corpus->AddFile(path, member.bytes);
    members.emplace_back(member.name, InCorpus(path));
  }
  std::sort(members.begin(), members.end());
  for (const RoleGraph& role : roles) {
    const std::string path = folder + "/" + role.role + ".whg1";
    corpus->AddFile(path, role.bytes);
    graphs.emplace_back(role.role, InCorpus(path));
  }
  const Result<Certificate> certificate = Certify(capability, set.lowering->id, roles, digest);
  if (certificate.ok()) corpus->AddFile(folder + ".json", certificate.value().text);
  JsonObject entry;
  entry.Text("capability", capability)
      .Text("digest", digest)
      .Raw("graphs", PairsText(graphs))
      .Text("lowering", set.lowering->id)
      .Raw("members", PairsText(members))
      .Text("name", set.name);
  for (const auto& [field, value] : set.fields) entry.Integer(field, value);
  if (set.claim) entry.Text("claim", VerdictName(*set.claim));
  return entry.Str();
}

// Two decodes on the data inputs' shapes.
void AddLoweringVector(const CorpusSet& set, const RoleGraph& role, CorpusBuilder* corpus) {
  const std::string file = "lower_" + std::string(set.lowering->form());
  const std::string id = file + "/" + set.name + "/" + role.role + "/00";
  Stream stream = corpus->StreamOf(id);
  std::vector<RawDecode> decodes(2);
  const Result<PlannedGraph> planned = PlanWhg1(role.bytes);
  for (int64_t side = 1; planned.ok() && side <= 2; ++side) {
    for (const Input& input : planned.value().graph.inputs) {
      if (input.state) continue;
      const Shape shape =
          input.fixed ? Shape{input.c, input.h_cap, input.w_cap} : Shape{input.c, side, side};
      decodes[side - 1].push_back(Drawn(shape, {input.lo, input.hi}, &stream));
    }
  }
  corpus->AddGraph("graphs/" + file + ".jsonl", id, role.bytes, decodes);
}

std::string CorpusIndexText(std::vector<std::pair<std::string, std::string>> entries) {
  std::sort(entries.begin(), entries.end());
  std::vector<std::string> texts;
  for (const auto& [key, text] : entries) texts.push_back(text);
  return JsonArray(texts) + "\n";
}

bool ReadPairs(const Json& json, std::vector<std::pair<std::string, std::string>>* pairs) {
  if (!json.is_array()) return false;
  for (const Json& item : json.items()) {
    if (!item.is_array() || item.items().size() != 2 || !item.items()[0].is_string() ||
        !item.items()[1].is_string()) {
      return false;
    }
    pairs->emplace_back(std::string(item.items()[0].text()), std::string(item.items()[1].text()));
  }
  return true;
}

// The file at `path`, which starts with the corpus's folder; null when there is none.
const std::string* FileAt(const FileMap& files, const std::string& path) {
  const std::string prefix = std::string(kCorpusFolder) + "/";
  if (path.compare(0, prefix.size(), prefix) != 0) return nullptr;
  const auto at = files.find(path.substr(prefix.size()));
  return at == files.end() ? nullptr : &at->second;
}

bool ReadEntry(const Json& json, const FileMap& files, IndexEntry* entry, std::string* error) {
  *error = "an entry's keys or types are not as section 14.3 states";
  const Json* lowering = json.Find("lowering");
  if (lowering == nullptr) return false;
  entry->set.lowering = FindLowering(lowering->text());
  if (entry->set.lowering == nullptr) {
    *error = "there is no lowering \"" + std::string(lowering->text()) + "\"";
    return false;
  }
  std::set<std::string_view> known = {"capability", "digest",  "graphs",
                                      "lowering",   "members", "name"};
  for (const std::string_view field : entry->set.lowering->fields) {
    known.insert(field);
    const Json* value = json.Find(field);
    const auto number = value == nullptr ? std::nullopt : value->IntegerIn(kI64Min, kI64Max);
    if (!number) return false;
    entry->set.fields[std::string(field)] = *number;
  }
  if (const Json* claim = json.Find("claim")) {
    known.insert("claim");
    entry->set.claim = ProfileFromName(claim->text());
    if (!entry->set.claim) return false;
  }
  if (!json.HasExactly({known.begin(), known.end()})) return false;
  std::vector<std::pair<std::string, std::string>> members;
  if (json.Find("capability")->text() != entry->set.lowering->capability ||
      !json.Find("digest")->is_string() || !json.Find("name")->is_string() ||
      !ReadPairs(*json.Find("graphs"), &entry->graphs) ||
      !ReadPairs(*json.Find("members"), &members)) {
    return false;
  }
  entry->set.name = json.Find("name")->text();
  entry->digest = json.Find("digest")->text();
  for (const auto& [name, path] : members) {
    const std::string* bytes = FileAt(files, path);
    if (bytes == nullptr) {
      *error = "no file " + path;
      return false;
    }
    entry->set.members.push_back({name, *bytes});
  }
  return true;
}

}  // namespace

void AddSets(CorpusBuilder* corpus) {
  std::vector<std::pair<std::string, std::string>> index, falsification;
  for (const CorpusSet& set : GenerateSets(corpus->hash())) {
    const Result<std::vector<RoleGraph>> roles = Lower(*set.lowering, set.members, set.fields);
    if (!roles.ok()) continue;
    const std::string key = std::string(set.lowering->capability) + '\0' + set.name;
    (set.claim ? falsification : index).emplace_back(key, AddSetFiles(set, roles.value(), corpus));
    if (set.claim) continue;
    for (const RoleGraph& role : roles.value()) AddLoweringVector(set, role, corpus);
  }
  corpus->AddFile("certificates/index.json", CorpusIndexText(std::move(index)));
  corpus->AddFile("certificates/falsification.json", CorpusIndexText(std::move(falsification)));
}

std::optional<std::vector<IndexEntry>> ReadIndex(const std::string& text, const FileMap& files,
                                                 std::string* error) {
  const std::optional<Json> json = ParseJsonLine(text, error);
  if (!json) return std::nullopt;
  if (!json->is_array()) {
    *error = "not a list";
    return std::nullopt;
  }
  std::vector<IndexEntry> entries;
  for (const Json& item : json->items()) {
    entries.emplace_back();
    if (!ReadEntry(item, files, &entries.back(), error)) {
      *error = "entry " + std::to_string(entries.size() - 1) + ": " + *error;
      return std::nullopt;
    }
  }
  return entries;
}

}  // namespace helx::ops

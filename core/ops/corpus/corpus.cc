#include "core/ops/corpus/corpus.h"

#include <set>

#include "core/ops/certificate.h"
#include "core/ops/corpus/sets.h"

namespace helx::ops {
namespace {

constexpr const char* kIndex = "certificates/index.json";
constexpr const char* kFalsification = "certificates/falsification.json";
constexpr const char* kExternal = "certificates/external.json";

std::string At(const std::string& path, size_t line) {
  return path + ":" + std::to_string(line) + ": ";
}

const std::string* Find(const FileMap& files, const std::string& path) {
  const auto at = files.find(path);
  return at == files.end() ? nullptr : &at->second;
}

class Verifier {
 public:
  Verifier(const FileMap& files, HashFunction hash) : files_(files), hash_(hash) {}

  CorpusReport Run() {
    Vectors();
    Sets(kIndex);
    Sets(kFalsification);
    External();
    Regenerate();
    return std::move(report_);
  }

 private:
  void Fault(std::string what) { report_.faults.push_back(std::move(what)); }

  void Vectors() {
    std::string npu;
    size_t count = 0;
    for (const auto& [path, text] : files_) {
      if (!KindOfFile(path)) continue;
      ++count;
      npu += VerifyVectorFile(path, text, &report_.faults);
    }
    const std::string* committed = Find(files_, "npu.jsonl");
    if (committed == nullptr || *committed != npu) {
      Fault("npu.jsonl: not the verdicts of the vectors' graphs");
    }
    report_.notes.push_back(std::to_string(count) + " vector files recomputed");
  }

  // The committed lowered graph of a role, or null.
  const std::string* GraphOf(const IndexEntry& entry, const RoleGraph& role) const {
    for (const auto& [name, path] : entry.graphs) {
      const size_t folder = kCorpusFolder.size() + 1;
      if (name == role.role && path.size() > folder) return Find(files_, path.substr(folder));
    }
    return nullptr;
  }

  void OneSet(const IndexEntry& entry) {
    const CorpusSet& set = entry.set;
    const std::string where = set.name + ": ";
    const std::string digest = SetDigest(set.members, hash_);
    if (digest != entry.digest) Fault(where + "the index's digest is not the members'");
    const Result<std::vector<RoleGraph>> roles = Lower(*set.lowering, set.members, set.fields);
    if (!roles.ok()) {
      Fault(where + "the lowering refuses it: " + roles.refusal().Text());
      return;
    }
    std::vector<RoleGraph> committed;
    for (const RoleGraph& role : roles.value()) {
      const std::string* bytes = GraphOf(entry, role);
      if (bytes == nullptr || *bytes != role.bytes) {
        Fault(where + "the committed graph " + role.role + " is not the lowered one");
        return;
      }
      committed.push_back({role.role, *bytes});
      if (!set.claim && !LoadWhg1(*bytes).ok()) Fault(where + role.role + " does not load");
    }
    const std::string path =
        "certificates/" + std::string(set.lowering->capability) + "/" + digest + ".json";
    const std::string* certificate = Find(files_, path);
    const Result<Certificate> own =
        Certify(set.lowering->capability, set.lowering->id, committed, digest);
    if (!own.ok() || certificate == nullptr || *certificate != own.value().text) {
      Fault(path + ": not the certificate of the committed graphs");
      return;
    }
    const Verdict profile = set.claim.value_or(own.value().verdict);
    const auto refusal =
        SinkRefusal(*set.lowering, set.members, set.fields, *certificate, profile, hash_);
    if (set.claim && (own.value().verdict >= *set.claim || !refusal)) {
      Fault(where + "the falsification set meets the profile it must fail");
    }
    if (!set.claim && refusal) Fault(where + *refusal);
  }

  void Sets(const std::string& path) {
    const std::string* text = Find(files_, path);
    std::string error = "missing";
    const auto entries = text == nullptr ? std::nullopt : ReadIndex(*text, files_, &error);
    if (!entries) {
      Fault(path + ": " + error);
      return;
    }
    for (const IndexEntry& entry : *entries) {
      if ((path == kFalsification) != entry.set.claim.has_value()) {
        Fault(path + ": " + entry.set.name + " has a claim it must not, or lacks one");
        continue;
      }
      OneSet(entry);
    }
    report_.notes.push_back(path + ": " + std::to_string(entries->size()) +
                            " sets re-lowered and certified");
  }

  void ExternalEntry(const Json& entry, size_t number) {
    const Json* name = entry.Find("name");
    const bool named = name != nullptr && !name->text().empty();
    const std::string where =
        std::string(kExternal) + ": " +
        (named ? std::string(name->text()) : "entry " + std::to_string(number)) + ": ";
    if (!entry.HasExactly({"certificate", "digest", "job", "members", "name", "profile"})) {
      Fault(where + "an entry's keys are not as section 14.3 states");
      return;
    }
    const auto profile = ProfileFromName(entry.Find("profile")->text());
    const std::string path(entry.Find("certificate")->text());
    const std::string prefix = std::string(kCorpusFolder) + "/";
    const bool inside = path.compare(0, prefix.size(), prefix) == 0;
    const std::string* text = inside ? Find(files_, path.substr(prefix.size())) : nullptr;
    if (!profile || text == nullptr) {
      Fault(where + "no such profile or certificate");
      return;
    }
    std::string error;
    const auto claim = ReadCertificate(*text, &error);
    if (!claim) {
      Fault(where + "the certificate is " + error);
    } else if (claim->set != entry.Find("digest")->text()) {
      Fault(where + "the certificate names another set");
    } else if (claim->verdict < *profile) {
      Fault(where + "the certificate does not meet its profile");
    }
    external_.insert(path.substr(prefix.size()));
    report_.notes.push_back(where +
                            "canonical, names its set and meets its profile; the set is "
                            "not here, so no more was checked");
  }

  void External() {
    const std::string* text = Find(files_, kExternal);
    if (text == nullptr) return;
    std::string error;
    const std::optional<Json> json = ParseJsonLine(*text, &error);
    if (!json || !json->is_array()) {
      Fault(std::string(kExternal) + ": not a canonical list: " + error);
      return;
    }
    size_t number = 0;
    for (const Json& entry : json->items()) ExternalEntry(entry, number++);
  }

  void Regenerate() {
    const FileMap generated = GenerateCorpus(hash_);
    for (const auto& [path, text] : generated) {
      const std::string* committed = Find(files_, path);
      if (committed == nullptr) {
        Fault(path + ": missing");
      } else if (*committed != text) {
        Fault(path + ": not the generated bytes");
      }
    }
    const std::set<std::string> kept = {"README.md", ".gitattributes", kExternal};
    for (const auto& [path, text] : files_) {
      if (generated.count(path) == 0 && kept.count(path) == 0 && external_.count(path) == 0) {
        Fault(path + ": no such file in the corpus");
      }
    }
    report_.notes.push_back(std::to_string(generated.size()) + " files regenerated and compared");
  }

  const FileMap& files_;
  HashFunction hash_;
  CorpusReport report_;
  // Certificates external.json lists.
  std::set<std::string> external_;
};

}  // namespace

FileMap GenerateCorpus(HashFunction hash) {
  CorpusBuilder corpus(hash);
  AddOperatorVectors(&corpus);
  AddPhaseVectors(&corpus);
  AddStateVectors(&corpus);
  AddLoadVectors(&corpus);
  AddRunVectors(&corpus);
  AddStageVectors(&corpus);
  AddSets(&corpus);
  return corpus.Finish();
}

std::string VerifyVectorFile(const std::string& path, std::string_view text,
                             std::vector<std::string>* faults) {
  std::string npu;
  std::set<std::string> ids;
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == text.npos ? end : end + 1);
    text.remove_prefix(line.size());
    std::string error;
    const auto recomputed = RecomputeLine(*KindOfFile(path), path, line, &error);
    if (!recomputed) {
      faults->push_back(At(path, number) + error);
      continue;
    }
    npu += recomputed->npu;
    if (!ids.insert(recomputed->id).second) {
      faults->push_back(At(path, number) + recomputed->id + ": the id is used twice");
    }
    if (recomputed->line != line) {
      faults->push_back(At(path, number) + recomputed->id +
                        ": the outcome differs; recomputed: " + recomputed->line.substr(0, 400));
    }
  }
  return npu;
}

CorpusReport VerifyCorpus(const FileMap& files, HashFunction hash) {
  return Verifier(files, hash).Run();
}

}  // namespace helx::ops

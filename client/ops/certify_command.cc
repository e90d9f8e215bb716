// bounds, certify and lower.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "client/ops/arguments.h"
#include "client/ops/commands.h"
#include "client/ops/files.h"
#include "client/ops/sha256.h"
#include "core/ops/certificate.h"
#include "core/ops/json.h"
#include "core/ops/load.h"
#include "core/ops/lower/lowering.h"

namespace helx::ops {
namespace {

const std::vector<std::string_view> kOptions = {"capability", "lowering", "profile", "check",
                                                "out"};

// What is certified: a set to lower, or graphs on their own.
struct Subject {
  std::string capability;
  std::string lowering;
  // Null for graphs on their own.
  const LoweringInfo* info = nullptr;
  std::vector<Member> members;
  EntryFields fields;
  std::vector<RoleGraph> graphs;
  Verdict profile = Verdict::kAcc64;
  std::optional<std::string> check;
};

// The integer in `text`, an optional sign and at most 100 digits; one beyond i64 is given as the
// type's end, which no field may hold either.
std::optional<int64_t> FieldValue(const std::string& text) {
  const size_t first = text.front() == '-' ? 1 : 0;
  const bool digits = text.find_first_not_of("0123456789", first) == std::string::npos;
  if (!digits || text.size() == first || text.size() - first > 100) return std::nullopt;
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) return first == 1 ? kI64Min : kI64Max;
  return value;
}

bool ReadFields(const Arguments& arguments, EntryFields* fields, std::string* error) {
  for (const std::string& text : arguments.All("field")) {
    const auto pair = SplitPair(text);
    const auto value = pair ? FieldValue(pair->second) : std::nullopt;
    if (!value || !fields->emplace(pair->first, *value).second) {
      *error = "--field " + text + " is not a new NAME=INTEGER";
      return false;
    }
  }
  return true;
}

// The options bounds and certify share.
bool ReadCommon(const Arguments& arguments, Subject* subject, std::string* error) {
  subject->capability = arguments.Get("capability", "");
  subject->lowering = arguments.Get("lowering", "");
  if (!IsUtf8(subject->capability)) {
    *error = "--capability is not UTF-8";
    return false;
  }
  const auto profile = ProfileFromName(arguments.Get("profile", "acc64"));
  if (!profile) {
    *error = "--profile is acc32 or acc64";
    return false;
  }
  subject->profile = *profile;
  if (arguments.Has("check")) {
    subject->check = ReadFile(arguments.Get("check", ""), error);
    if (!subject->check) return false;
  }
  return ReadFields(arguments, &subject->fields, error);
}

// "int_conv/1 of wai.neural.int_conv, …": what may be chosen.
std::string LoweringList() {
  std::string text;
  for (const LoweringInfo& info : Lowerings()) {
    text +=
        (text.empty() ? "" : ", ") + std::string(info.id) + " of " + std::string(info.capability);
  }
  return text;
}

// The lowering of a set: by id where given, and the capability's own.
bool ResolveLowering(Subject* subject, std::string* error) {
  subject->info = subject->lowering.empty() ? FindLoweringOfCapability(subject->capability)
                                            : FindLowering(subject->lowering);
  if (subject->info == nullptr) {
    *error = subject->lowering.empty() && subject->capability.empty() ? "a set needs --capability"
             : subject->lowering.empty()
                 ? "no lowering has the capability \"" + subject->capability + "\""
                 : "there is no lowering \"" + subject->lowering + "\"";
    *error += "; there are " + LoweringList();
    return false;
  }
  if (subject->info->capability != subject->capability) {
    *error = "the capability of " + std::string(subject->info->id) + " is " +
             std::string(subject->info->capability) + ", not \"" + subject->capability + "\"";
    return false;
  }
  return true;
}

// Whether capability and lowering, both only as given for graphs on their own, agree.
bool CheckGraphOptions(const Subject& subject, std::string* error) {
  if (!subject.fields.empty()) {
    *error = "--field is of a set's entry, not of graphs on their own";
    return false;
  }
  if (subject.lowering.empty()) return true;
  const LoweringInfo* info = FindLowering(subject.lowering);
  if (info == nullptr) {
    *error = "there is no lowering \"" + subject.lowering + "\"; there are " + LoweringList();
    return false;
  }
  if (!subject.capability.empty() && info->capability != subject.capability) {
    *error = "the capability of " + subject.lowering + " is " + std::string(info->capability) +
             ", not \"" + subject.capability + "\"";
    return false;
  }
  return true;
}

// Adds a graph of a new role.
bool AddGraph(const std::string& role, std::string bytes, Subject* subject, std::string* error) {
  for (const RoleGraph& graph : subject->graphs) {
    if (graph.role == role) {
      *error = "the role \"" + role + "\" is given twice";
      return false;
    }
  }
  subject->graphs.push_back({role, std::move(bytes)});
  return true;
}

bool AddMember(const std::string& name, std::string bytes, Subject* subject, std::string* error) {
  for (const Member& member : subject->members) {
    if (member.name == name) {
      *error = "the member \"" + name + "\" is given twice";
      return false;
    }
  }
  subject->members.push_back({name, std::move(bytes)});
  return true;
}

void PrintVerdict(const Certificate& certificate, Verdict profile) {
  std::printf("verdict %s, profile %s: %s\n", std::string(VerdictName(certificate.verdict)).c_str(),
              std::string(VerdictName(profile)).c_str(),
              certificate.verdict >= profile ? "met" : "not met");
}

// "net: value 1 (conv): part [0, 2147483648]" and, of a parameter, "net: value 1 (conv): rq.mult".
std::string FailureText(const std::string& role, const PlannedGraph& planned,
                        const Failure& failure) {
  const ValueBounds& value = planned.bounds.values[failure.id];
  std::string text = role + ": value " + std::to_string(failure.id) + " (" + std::string(value.op) +
                     "): " + failure.name;
  const auto named = std::find_if(
      value.named.begin(), value.named.end(),
      [&](const NamedInterval& candidate) { return candidate.CertificateName() == failure.name; });
  if (named == value.named.end()) return text;
  return text + " [" + ToText(named->interval.lo) + ", " + ToText(named->interval.hi) + "]";
}

// What keeps the graphs from the profile, the first of it.
void ComplainOfFailures(const std::vector<RoleGraph>& graphs, Verdict profile) {
  constexpr size_t kMost = 10;
  std::vector<std::string> texts;
  for (const RoleGraph& graph : graphs) {
    const Result<PlannedGraph> planned = PlanWhg1(graph.bytes);
    if (!planned.ok()) continue;
    const Bounds& bounds = planned.value().bounds;
    for (const Failure& failure :
         profile == Verdict::kAcc32 ? bounds.fail_acc32 : bounds.fail_acc64) {
      texts.push_back(FailureText(graph.role, planned.value(), failure));
    }
  }
  for (size_t i = 0; i < std::min(kMost, texts.size()); ++i) {
    Complain(texts[i] + " does not meet " + std::string(VerdictName(profile)), kNotMet);
  }
  if (texts.size() > kMost) {
    Complain(
        "and " + std::to_string(texts.size() - kMost) + " more; the certificate (--out) lists all",
        kNotMet);
  }
}

// How the certificate given to --check differs from the subject's own.
std::string DifferenceText(const std::string& given, const std::string& own) {
  std::string error;
  const auto claim = ReadCertificate(given, &error);
  if (!claim) return "the certificate given is " + error;
  const auto right = ReadCertificate(own, &error);
  if (right && claim->set != right->set) {
    return "the certificate given is of set " + claim->set + ", and this is " + right->set;
  }
  if (right && claim->lowering != right->lowering) {
    return "the certificate given is of lowering \"" + claim->lowering + "\", and \"" +
           right->lowering + "\" is used";
  }
  const auto at = std::mismatch(given.begin(), given.end(), own.begin(), own.end()).first;
  return "the certificate given differs from the one of this set at byte " +
         std::to_string(at - given.begin());
}

int CertifySubject(const Subject& subject, const std::string& out) {
  std::vector<RoleGraph> graphs = subject.graphs;
  if (subject.info != nullptr) {
    Result<std::vector<RoleGraph>> lowered = Lower(*subject.info, subject.members, subject.fields);
    if (!lowered.ok()) {
      return Complain("the lowering refuses the set: " + lowered.refusal().Text(),
                      kLoweringRefuses);
    }
    graphs = std::move(lowered.value());
  }
  const Result<Certificate> certificate =
      subject.info != nullptr ? Certify(subject.capability, subject.info->id, graphs,
                                        SetDigest(subject.members, Sha256))
                              : CertifyGraphs(subject.capability, subject.lowering, graphs, Sha256);
  if (!certificate.ok()) return Complain(certificate.refusal().Text(), kMalformed);
  std::string error;
  if (!out.empty() && !WriteFile(out, certificate.value().text, &error)) {
    return Complain(error, kUsage);
  }
  PrintVerdict(certificate.value(), subject.profile);
  const bool met = certificate.value().verdict >= subject.profile;
  if (!met) ComplainOfFailures(graphs, subject.profile);
  if (subject.check && *subject.check != certificate.value().text) {
    return Complain(DifferenceText(*subject.check, certificate.value().text), kDiffers);
  }
  return met ? kMet : kNotMet;
}

bool ReadFolderMembers(const std::string& folder, std::vector<Member>* members,
                       std::string* error) {
  auto files = ReadTree(folder, error);
  if (!files) return false;
  for (auto& [name, bytes] : *files) members->push_back({name, std::move(bytes)});
  return true;
}

bool IsGraphFile(const std::string& path) {
  return path.size() > 5 && path.substr(path.size() - 5) == ".whg1";
}

// SET...: one folder of members, or .whg1 files.
bool ReadSet(const Words& words, Subject* subject, std::string* error) {
  if (words.empty()) {
    *error = "no set is given";
    return false;
  }
  if (words.size() == 1 && IsFolder(words[0])) {
    return ResolveLowering(subject, error) && ReadFolderMembers(words[0], &subject->members, error);
  }
  for (const std::string& path : words) {
    if (!IsGraphFile(path)) {
      *error = path + ": neither a folder of members nor a .whg1 file";
      return false;
    }
    if (!IsSetName(Stem(path))) {
      *error = path + ": a role is letters, digits, '_' and '.'";
      return false;
    }
    auto bytes = ReadFile(path, error);
    if (!bytes || !AddGraph(Stem(path), std::move(*bytes), subject, error)) return false;
  }
  return CheckGraphOptions(*subject, error);
}

// --member or --whg1 pairs, each given to `add`.
template <typename Add>
bool ReadPairs(const std::vector<std::string>& pairs, Add add, Subject* subject,
               std::string* error) {
  for (const std::string& text : pairs) {
    const auto pair = SplitPair(text);
    if (!pair) {
      *error = "\"" + text + "\" is not NAME=PATH, NAME of letters, digits, '_' and '.'";
      return false;
    }
    auto bytes = ReadFile(pair->second, error);
    if (!bytes || !add(pair->first, std::move(*bytes), subject, error)) return false;
  }
  return true;
}

}  // namespace

int BoundsCommand(const Words& words) {
  std::string error;
  const auto arguments = ParseArguments(words, kOptions, {"field"}, &error);
  if (!arguments) return Complain(error, kUsage);
  Subject subject;
  if (!ReadCommon(*arguments, &subject, &error) || !ReadSet(arguments->words, &subject, &error)) {
    return Complain(error, kUsage);
  }
  return CertifySubject(subject, arguments->Get("out", ""));
}

int CertifyCommand(const Words& words) {
  std::string error;
  const auto arguments = ParseArguments(words, kOptions, {"field", "member", "whg1"}, &error);
  if (!arguments) return Complain(error, kUsage);
  if (!arguments->words.empty()) {
    return Complain("certify takes --member or --whg1, not \"" + arguments->words[0] + "\"",
                    kUsage);
  }
  Subject subject;
  const bool members = arguments->Has("member");
  if (members == arguments->Has("whg1")) {
    return Complain("exactly one of --member and --whg1 is needed", kUsage);
  }
  if (!ReadCommon(*arguments, &subject, &error)) return Complain(error, kUsage);
  if (members && (subject.lowering.empty() || !ResolveLowering(&subject, &error))) {
    return Complain(error.empty() ? "--lowering is needed for --member" : error, kUsage);
  }
  const bool read = members ? ReadPairs(arguments->All("member"), AddMember, &subject, &error)
                            : CheckGraphOptions(subject, &error) &&
                                  ReadPairs(arguments->All("whg1"), AddGraph, &subject, &error);
  if (!read) return Complain(error, kUsage);
  return CertifySubject(subject, arguments->Get("out", ""));
}

int LowerCommand(const Words& words) {
  std::string error;
  const auto arguments =
      ParseArguments(words, {"capability", "lowering", "out"}, {"field"}, &error);
  if (!arguments) return Complain(error, kUsage);
  Subject subject;
  subject.capability = arguments->Get("capability", "");
  subject.lowering = arguments->Get("lowering", "");
  if (arguments->words.size() != 1 || !IsFolder(arguments->words[0]) ||
      arguments->Get("out", "").empty()) {
    return Complain("lower takes one folder of members and --out DIR", kUsage);
  }
  if (!ReadFields(*arguments, &subject.fields, &error) ||
      !ReadSet(arguments->words, &subject, &error)) {
    return Complain(error, kUsage);
  }
  const auto lowered = Lower(*subject.info, subject.members, subject.fields);
  if (!lowered.ok()) {
    return Complain("the lowering refuses the set: " + lowered.refusal().Text(), kLoweringRefuses);
  }
  for (const RoleGraph& role : lowered.value()) {
    const std::string path = arguments->Get("out", "") + "/" + role.role + ".whg1";
    if (!WriteFile(path, role.bytes, &error)) return Complain(error, kUsage);
    std::printf("%s: %zu bytes\n", path.c_str(), role.bytes.size());
  }
  return kMet;
}

}  // namespace helx::ops

// The corpus's sets (docs/integer-operators.md, sections 14.3 and 14.7.9) and the entries of
// certificates/index.json and falsification.json.
#ifndef HELX_CORE_OPS_CORPUS_SETS_H_
#define HELX_CORE_OPS_CORPUS_SETS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/ops/bounds.h"
#include "core/ops/corpus/builder.h"
#include "core/ops/json.h"
#include "core/ops/lower/lowering.h"

namespace helx::ops {

struct CorpusSet {
  std::string name;
  const LoweringInfo* lowering = nullptr;
  EntryFields fields;
  // In the lowering's order.
  std::vector<Member> members;
  // For a falsification set: the profile it is checked against and must fail.
  std::optional<Verdict> claim;
};

// The generated sets, in section 13.0's order of lowerings, then the two falsification sets.
std::vector<CorpusSet> GenerateSets(HashFunction hash);

// An entry of index.json or falsification.json as read back.
struct IndexEntry {
  CorpusSet set;
  std::string digest;
  // Role and path, relative to the corpus's parent.
  std::vector<std::pair<std::string, std::string>> graphs;
};

// The entries of an index whose members' bytes are in `files`; empty, with `*error`, when the
// index is not canonical, not of the form, or names a file that is not there.
std::optional<std::vector<IndexEntry>> ReadIndex(const std::string& text, const FileMap& files,
                                                 std::string* error);

// The corpus's folder name, which index paths start with.
inline constexpr std::string_view kCorpusFolder = "ops-conformance";

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_SETS_H_

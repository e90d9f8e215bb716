// The conformance corpus (docs/integer-operators.md, section 14): generating it and verifying a
// copy. Files are held by path relative to ops-conformance/; reading and writing them is the
// caller's.
#ifndef HELX_CORE_OPS_CORPUS_CORPUS_H_
#define HELX_CORE_OPS_CORPUS_CORPUS_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/ops/corpus/builder.h"
#include "core/ops/hash.h"

namespace helx::ops {

// Every generated file: all but README.md, .gitattributes, certificates/external.json and the
// certificates it lists.
FileMap GenerateCorpus(HashFunction hash);

struct CorpusReport {
  // One line per fault: file, line or id, and what differs. Empty when every byte is as required.
  std::vector<std::string> faults;
  // What was checked, for a person.
  std::vector<std::string> notes;
};

// `files` is every file of the corpus. Recomputes every vector from its inputs, re-lowers every
// set, recomputes its certificate from the committed graphs, requires each falsification set to
// fail its claim and be refused by the sink, checks of the external certificates what can be
// checked without their sets, and compares the whole with GenerateCorpus.
CorpusReport VerifyCorpus(const FileMap& files, HashFunction hash);

// The first part alone: one vector file's lines recomputed. Appends faults; gives npu.jsonl's lines
// for the file.
std::string VerifyVectorFile(const std::string& path, std::string_view text,
                             std::vector<std::string>* faults);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_CORPUS_H_

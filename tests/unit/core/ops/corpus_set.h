// The sets of the conformance corpus, by name.
#ifndef HELX_TESTS_UNIT_CORE_OPS_CORPUS_SET_H_
#define HELX_TESTS_UNIT_CORE_OPS_CORPUS_SET_H_

#include <string>
#include <vector>

#include "client/ops/sha256.h"
#include "core/ops/corpus/sets.h"

namespace helx::ops {

// The set of this name; the first one when there is none.
inline const CorpusSet& SetNamed(const std::string& name) {
  static const auto* const kSets = new std::vector<CorpusSet>(GenerateSets(Sha256));
  for (const CorpusSet& set : *kSets) {
    if (set.name == name) return set;
  }
  return kSets->front();
}

}  // namespace helx::ops

#endif  // HELX_TESTS_UNIT_CORE_OPS_CORPUS_SET_H_

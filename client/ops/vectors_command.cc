#include <cstdio>

#include "client/ops/commands.h"
#include "client/ops/files.h"
#include "client/ops/sha256.h"
#include "core/ops/corpus/corpus.h"
#include "core/ops/corpus/sets.h"

namespace helx::ops {
namespace {

std::string CorpusUnder(const std::string& folder) {
  return folder + "/" + std::string(kCorpusFolder);
}

}  // namespace

int GenerateVectors(const Words& words) {
  if (words.size() != 1 || words[0].empty()) {
    return Complain("vectors gen takes one folder", kUsage);
  }
  const FileMap files = GenerateCorpus(Sha256);
  size_t bytes = 0;
  for (const auto& [path, text] : files) {
    std::string error;
    if (!WriteFile(CorpusUnder(words[0]) + "/" + path, text, &error)) {
      return Complain(error, kUsage);
    }
    bytes += text.size();
  }
  std::printf("%zu files, %zu bytes in %s\n", files.size(), bytes, CorpusUnder(words[0]).c_str());
  return kMet;
}

int VerifyVectors(const Words& words) {
  if (words.size() != 1 || words[0].empty()) {
    return Complain("vectors verify takes one folder", kUsage);
  }
  std::string error;
  const auto files = ReadTree(CorpusUnder(words[0]), &error);
  if (!files) return Complain(error, kUsage);
  const CorpusReport report = VerifyCorpus(*files, Sha256);
  for (const std::string& note : report.notes) std::printf("%s\n", note.c_str());
  for (const std::string& fault : report.faults) Complain(fault, kDiffers);
  if (!report.faults.empty()) {
    std::fprintf(stderr, "wai-verify: %zu faults\n", report.faults.size());
    return kDiffers;
  }
  std::printf("every byte is equal\n");
  return kMet;
}

}  // namespace helx::ops

// A bundle as a run leaves it, made of parts that a test can change before it is written.
#ifndef HELX_TESTS_UNIT_CORE_BUNDLE_BUNDLE_FIXTURE_H_
#define HELX_TESTS_UNIT_CORE_BUNDLE_BUNDLE_FIXTURE_H_

#include <functional>
#include <map>
#include <string>

#include "core/bundle/manifest.h"
#include "core/bundle/reader.h"
#include "core/bundle/result.h"
#include "core/experiment/frozen_request.h"

namespace helx {

// Two samples of a model with the inputs int8[1, 4] "in" and bool[] "flag" and the outputs int8[2,
// 2] "out" and float32[] "score"; explicit inputs, a reference per sample, absolute tolerance 1 on
// output 0. Sample 1 mismatches in output 1.
struct BundleParts {
  FrozenRequest request;
  std::vector<std::string> tensor_contents;  // inputs and references, for request.json
  ResultDocument result;
  std::map<std::string, std::string>
      files;  // everything but request.json, result.json and manifest.json

  // Recomputes what follows from the request: identity, compiled and reported digests, the image
  // (of TestSections) and its hash, and what the result says of its files.
  void Rebind();
  // Makes this the image, and the result say so.
  void SetImage(const std::string& elf);
  // Makes the result name the files as they are.
  void NameFiles();
};

BundleParts ExampleParts();

// The parts of a diagnostic run with the default policy: no counts, implicit zeros, signatures only, no reference.
BundleParts PlainParts();

// ExampleParts with an input set per sample; both hold the same bytes.
BundleParts SequenceParts();

// The content of every file but manifest.json.
std::map<std::string, std::string> BundleFiles(const BundleParts& parts);

// A manifest that lists `files` with their true digests.
Manifest ManifestOf(const std::map<std::string, std::string>& files);

// Writes the files and a manifest into a new folder below the test's temporary folder, and returns
// its path.
std::string WriteFolder(const std::map<std::string, std::string>& files,
                        const std::string& manifest);
std::string WriteFolder(const BundleParts& parts);

}  // namespace helx

#endif  // HELX_TESTS_UNIT_CORE_BUNDLE_BUNDLE_FIXTURE_H_

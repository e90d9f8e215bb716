// experiment.yaml: the strict reader, and its expansion into job documents.
//
// Grammar: docs/formats.md. Every error names file, line, key path, what was found and what is
// allowed; an unknown key also names the nearest known one.
#ifndef HELX_CORE_EXPERIMENT_DOCUMENT_H_
#define HELX_CORE_EXPERIMENT_DOCUMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/experiment/placement.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

struct DocumentLimits {
  size_t document_bytes = 40u << 20;       // with tensor literals
  size_t plain_document_bytes = 1u << 20;  // without
  size_t depth = 32;
  size_t nodes = 100'000;
  int64_t tensor_bytes = int64_t{16} << 20;  // inputs + reference data of one request
  int64_t samples = 1000;
  int64_t warmups = 1000;
  int64_t model_bytes = int64_t{64} << 20;
  int64_t output_bytes = int64_t{16} << 20;  // measured outputs of one request with capture
  size_t jobs = 1000;                        // models x runs of one document
  int64_t all_tensor_bytes = int64_t{256}
                             << 20;  // inputs + reference data over all jobs of one document
};

// A tensor given in a document: its metadata and either literal bytes or a file beside the
// document.
struct TensorEntry {
  TensorSpec spec;
  std::string bytes;  // from `hex`, or from `file` once resolved
  std::string file;   // as written; empty for hex
  Digest digest;  // of the bytes; set by both parsers, computed by JobDocument where it is empty

  // Where the bytes were written does not count.
  friend bool operator==(const TensorEntry& a, const TensorEntry& b) {
    return a.spec == b.spec && a.bytes == b.bytes && a.digest == b.digest;
  }
};

// Tolerances are kept as the shortest decimal text that reads back as the same double.
struct ToleranceText {
  std::string absolute = "0";
  std::string relative = "0";

  friend bool operator==(const ToleranceText&, const ToleranceText&) = default;
};

struct ComparisonEntry {
  ToleranceText default_tolerance;
  std::vector<std::pair<int32_t, ToleranceText>> per_tensor;  // by output ordinal, ascending
  bool nan_match_both = false;

  friend bool operator==(const ComparisonEntry&, const ComparisonEntry&) = default;
};

struct ReferenceEntry {
  std::string origin;  // "files" | "host_litert" | "other"
  std::string description;
  std::vector<TensorEntry> tensors;

  friend bool operator==(const ReferenceEntry&, const ReferenceEntry&) = default;
};

struct TensorIoEntry {
  std::vector<TensorEntry> inputs;                       // empty: implicit zeros
  std::vector<std::vector<TensorEntry>> input_sequence;  // extension; excludes inputs
  std::vector<ReferenceEntry> references;                // one per sample, or none
  ComparisonEntry comparison;

  friend bool operator==(const TensorIoEntry&, const TensorIoEntry&) = default;
};

// Where in a document something stands, for messages: "experiment.yaml:3: model". No part of what the document means, so
// all places are equal.
struct SourcePlace {
  std::string text;
  friend bool operator==(const SourcePlace&, const SourcePlace&) { return true; }
};

// One job as the document asks for it: defaults with one run's overrides applied.
struct JobEntry {
  std::string run;          // empty when `runs` is not written
  std::string model_path;   // as written
  SourcePlace model_place;
  std::string model_stem;   // file name without its last ending
  std::string bundle_path;  // below the results folder: "name", "name/run", "name/run/stem"
  std::string engine = "builtin";
  std::string platform = "corstone-300";
  int64_t warmup = 0;
  int64_t samples = 1;
  std::string state = "reset";  // "reset" | "carry"
  PlacementEntry placement;     // what it leaves out, the planner decides
  bool execute = true;          // fvp.enabled
  bool probe = false;  // a diagnostic build that reports every operator's outputs; not in YAML
  std::optional<TensorIoEntry> tensor_io;

  friend bool operator==(const JobEntry&, const JobEntry&) = default;
};

struct Experiment {
  std::string name;
  std::vector<JobEntry> jobs;  // models x runs, in written order; never empty

  friend bool operator==(const Experiment&, const Experiment&) = default;
};

// Reads the bytes of a file named in a document (relative to it). Injected, so that the reader
// itself touches no disk.
using FileReader = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// Parses and checks a document. `file_name` is for messages. Literals are decoded and every `file:`
// of a tensor is read with `read_file` (models are not). INVALID_ARGUMENT for whatever the grammar
// does not allow. Every error carries a code (ErrorCodeOf), which also ends its message in
// brackets; docs/formats.md lists them.
absl::StatusOr<Experiment> ParseExperiment(std::string_view yaml, const std::string& file_name,
                                           const FileReader& read_file,
                                           const DocumentLimits& limits = {});

// The document again, with every tensor as explicit hexadecimal, as YAML text that parses to an
// equal Experiment.
std::string SaveExperiment(const Experiment& experiment);

// Schema helx.document/v1: what the wire carries for one job. Tensors by digest; the model by
// digest.
// {"schema","acquisition":{"samples","state","warmup"},"engine","execute","model":{"sha256","size"},"platform",
//  "probe": true (a diagnostic build; else the member is absent),
//  "placement": {"arena","code","weights"} (what the document places; absent when it places nothing),
//  "tensor_io": null | {"inputs":[{spec...,
//  "sha256","size"}],"input_sequence":[[...]],"references":[...],"comparison":{...}}}
Json JobDocument(const JobEntry& job, const Digest& model);

// The same read back: tensor bytes stay empty, their digests are set; name, run, model_path and
// bundle_path are unknown.
struct ParsedJobDocument {
  JobEntry job;
  Digest model;
};
absl::StatusOr<ParsedJobDocument> ParseJobDocument(std::string_view canonical,
                                                   const DocumentLimits& limits = {});

// The JSON of a comparison policy, tolerances as text: shared by every document that holds one.
// {"default":{"absolute","relative"},"nan":"never_match"|"match_both","per_tensor":[{"absolute","output","relative"}]}
Json ComparisonToJson(const ComparisonEntry& comparison);
absl::StatusOr<ComparisonEntry> ComparisonFromJson(const Json& value, std::string_view where);

// Every blob a job document names: the model, then the tensors in written order, without
// repetition.
absl::StatusOr<std::vector<Digest>> DocumentBlobs(std::string_view canonical);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_DOCUMENT_H_

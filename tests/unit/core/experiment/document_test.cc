#include "core/experiment/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace helx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::string> NoFiles(const std::string& path) {
  return NotFound("cannot open " + path);
}

absl::StatusOr<Experiment> Parse(const std::string& yaml, const FileReader& files = NoFiles) {
  return ParseExperiment(yaml, "e.yaml", files);
}

std::string CodeOf(const std::string& yaml, const FileReader& files = NoFiles) {
  const auto experiment = Parse(yaml, files);
  return experiment.ok() ? "accepted" : ErrorCodeOf(experiment.status());
}

const char kHead[] = "name: kws\nmodel: kws.tflite\n";

std::string WithPolicy(const std::string& policy, const std::string& settings = "") {
  return std::string(kHead) + "defaults:\n" + settings + "  fvp:\n    tensor_io:\n" + policy;
}

const char kInput[] =
    "      inputs: [{index: 0, name: in, dtype: int8, shape: [2], hex: \"00ff\"}]\n";

TEST(Document, Defaults) {
  const auto experiment = Parse(kHead);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->name, "kws");
  ASSERT_EQ(experiment->jobs.size(), 1u);
  const JobEntry& job = experiment->jobs[0];
  EXPECT_EQ(job.model_path, "kws.tflite");
  EXPECT_EQ(job.model_stem, "kws");
  EXPECT_EQ(job.bundle_path, "kws");
  EXPECT_EQ(job.engine, "builtin");
  EXPECT_EQ(job.platform, "corstone-300");
  EXPECT_EQ(job.warmup, 0);
  EXPECT_EQ(job.samples, 1);
  EXPECT_EQ(job.state, "reset");
  EXPECT_TRUE(job.execute);
  EXPECT_FALSE(job.tensor_io.has_value());
}

TEST(Document, EmptyPolicyIsNotAbsent) {
  const auto experiment = Parse(std::string(kHead) + "defaults: {fvp: {tensor_io: {}}}\n");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  ASSERT_TRUE(experiment->jobs[0].tensor_io.has_value());
  EXPECT_EQ(*experiment->jobs[0].tensor_io, TensorIoEntry());
}

TEST(Document, FullPolicy) {
  const std::string yaml = WithPolicy(
      std::string(kInput) +
          "      references:\n"
          "        - origin: files\n"
          "          description: \"LiteRT 2.14\"\n"
          "          tensors: [{index: 0, name: out, dtype: float32, shape: [], file: o.bin}]\n"
          "      comparison:\n"
          "        default: {absolute: 0.10, relative: 1e-3}\n"
          "        per_tensor: [{output: 2, absolute: 1, relative: 0}, {output: 0, absolute: 2}]\n"
          "        nan: match_both\n",
      "  warmup: 3\n");
  std::string asked;
  const auto experiment = Parse(yaml, [&asked](const std::string& path) {
    asked = path;
    return absl::StatusOr<std::string>(std::string("\0\0\x80\x3f", 4));
  });
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(asked, "o.bin");
  const TensorIoEntry& policy = *experiment->jobs[0].tensor_io;
  EXPECT_EQ(policy.inputs[0].bytes, std::string("\x00\xff", 2));
  // sha256sum of the bytes 00 ff.
  EXPECT_EQ(policy.inputs[0].digest.hash,
            "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8");
  EXPECT_EQ(policy.references[0].description, "LiteRT 2.14");
  EXPECT_TRUE(policy.references[0].tensors[0].spec.shape.empty());
  EXPECT_EQ(policy.comparison.default_tolerance, (ToleranceText{"0.1", "0.001"}));
  EXPECT_THAT(policy.comparison.per_tensor, ElementsAre(std::pair{0, ToleranceText{"2", "0"}},
                                                        std::pair{2, ToleranceText{"1", "0"}}));
  EXPECT_TRUE(policy.comparison.nan_match_both);
}

// A tolerance stands for the double nearest to it: 2^64 + 1 for 2^64, 2^53 + 1 for 2^53.
TEST(Document, TolerancesOfAnyLength) {
  const auto experiment =
      Parse(WithPolicy("      comparison: {default: {absolute: 18446744073709551617, relative: "
                       "9007199254740993}}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->jobs[0].tensor_io->comparison.default_tolerance,
            (ToleranceText{"18446744073709551616", "9007199254740992"}));
}

TEST(Document, RunsMergeMappingsAndReplaceTensorIoWhole) {
  const auto experiment =
      Parse(std::string(kHead) +
            "defaults:\n  warmup: 2\n  fvp:\n    enabled: false\n    tensor_io:\n" + kInput +
            "runs:\n"
            "  - {name: a}\n"
            "  - {name: b, platform: mps2-m4, warmup: 0, fvp: {enabled: true}}\n"
            "  - {name: c, fvp: {tensor_io: {comparison: {nan: match_both}}}}\n");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  ASSERT_EQ(experiment->jobs.size(), 3u);
  const auto& [a, b, c] = std::tie(experiment->jobs[0], experiment->jobs[1], experiment->jobs[2]);
  EXPECT_EQ(a.bundle_path, "kws/a");
  EXPECT_FALSE(a.execute);
  EXPECT_EQ(a.warmup, 2);
  EXPECT_EQ(a.tensor_io->inputs.size(), 1u);
  EXPECT_EQ(b.platform, "mps2-m4");
  EXPECT_EQ(b.warmup, 0);
  EXPECT_TRUE(b.execute);
  EXPECT_EQ(b.tensor_io->inputs.size(), 1u) << "enabled alone leaves tensor_io";
  EXPECT_FALSE(c.execute) << "tensor_io alone leaves enabled";
  EXPECT_TRUE(c.tensor_io->inputs.empty());
  EXPECT_TRUE(c.tensor_io->comparison.nan_match_both);
}

TEST(Document, PlacementsMergePartByPart) {
  const auto experiment = Parse(std::string(kHead) +
                                "defaults: {placement: {weights: DDR, arena: SRAM}}\n"
                                "runs: [{name: a}, {name: b, placement: {arena: DTCM}}]\n");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->jobs[0].placement, (PlacementEntry{"", "DDR", "SRAM"}));
  EXPECT_EQ(experiment->jobs[1].placement, (PlacementEntry{"", "DDR", "DTCM"}));
  EXPECT_EQ(CodeOf(std::string(kHead) + "defaults: {placement: {arena: \"D TCM\"}}\n"),
            "not_allowed");
  EXPECT_EQ(CodeOf(std::string(kHead) + "defaults: {placement: {scratch: DTCM}}\n"), "unknown_key");
}

TEST(Document, BundlePaths) {
  const auto one = Parse("name: exp\nmodel: [sub/a.int8.tflite]\n");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->jobs[0].bundle_path, "exp/a.int8");
  const auto many = Parse("name: exp\nmodel: [a.tflite, b.tflite]\nruns: [{name: r}, {name: s}]\n");
  ASSERT_TRUE(many.ok()) << many.status();
  std::vector<std::string> paths;
  for (const JobEntry& job : many->jobs) paths.push_back(job.bundle_path);
  EXPECT_THAT(paths, ElementsAre("exp/r/a", "exp/s/a", "exp/r/b", "exp/s/b"));
}

TEST(Document, InputSequence) {
  const std::string set = "[{index: 0, name: in, dtype: int8, shape: [1], hex: \"01\"}]";
  const std::string two = "      input_sequence: [" + set + ", " + set + "]\n";
  const auto experiment = Parse(WithPolicy(two, "  samples: 2\n  state: carry\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->jobs[0].tensor_io->input_sequence.size(), 2u);
  EXPECT_EQ(CodeOf(WithPolicy(two, "  samples: 3\n  state: carry\n")), "sequence_count");
  EXPECT_EQ(CodeOf(WithPolicy(two, "  samples: 2\n")), "sequence_acquisition");
  EXPECT_EQ(CodeOf(WithPolicy(two, "  samples: 2\n  state: carry\n  warmup: 1\n")),
            "sequence_acquisition");
  EXPECT_EQ(CodeOf(WithPolicy(two + kInput, "  samples: 2\n  state: carry\n")),
            "sequence_excludes_inputs");
}

struct Case {
  const char* name;
  std::string yaml;
  const char* code;
  const char* message;
};

class DocumentRefuses : public testing::TestWithParam<Case> {};

TEST_P(DocumentRefuses, WithCodeLineAndPath) {
  const auto experiment = Parse(GetParam().yaml);
  ASSERT_FALSE(experiment.ok());
  EXPECT_EQ(experiment.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorCodeOf(experiment.status()), GetParam().code) << experiment.status();
  EXPECT_THAT(MessageOf(experiment.status()), HasSubstr(GetParam().message));
}

std::string Input(const std::string& fields) {
  return WithPolicy("      inputs:\n        - {" + fields + "}\n");
}

INSTANTIATE_TEST_SUITE_P(
    Grammar, DocumentRefuses,
    testing::Values(
        Case{"NotAMapping", "- a\n", "wrong_type", "e.yaml:1: document: found a list"},
        Case{"MissingName", "model: a.tflite\n", "missing_key", "the key name is missing"},
        Case{"MissingModel", "name: a\n", "missing_key", "the key model is missing"},
        Case{"BadName", "name: a/b\nmodel: m\n", "wrong_name", "e.yaml:1: name:"},
        Case{"NameIsFalse", "name: no\nmodel: m\n", "ambiguous_text",
             "put text like this in quotes"},
        Case{"LongName", "name: " + std::string(65, 'a') + "\nmodel: m\n", "wrong_name", "1 to 64"},
        Case{"UnknownKey", "name: a\nmodels: m\n", "unknown_key", "did you mean model?"},
        Case{"UnknownDefault", std::string(kHead) + "defaults: {sample: 3}\n", "unknown_key",
             "e.yaml:3: defaults.sample: unknown key \"sample\"; did you mean samples?"},
        Case{"NullDefaults", std::string(kHead) + "defaults:\n", "wrong_type", "found nothing"},
        Case{"EmptyModelList", "name: a\nmodel: []\n", "empty_list", "e.yaml:2: model"},
        Case{"ModelIsFolder", "name: a\nmodel: sub/\n", "wrong_model", "e.yaml:2: model"},
        Case{"ModelIsParent", "name: a\nmodel: ..\n", "wrong_model", "e.yaml:2: model"},
        Case{"EqualStems", "name: a\nmodel: [x/m.tflite, y/m.tflite]\n", "equal_bundle_paths",
             "results/a/m"},
        Case{"EqualRuns", std::string(kHead) + "runs: [{name: r}, {name: r}]\n",
             "equal_bundle_paths", "results/kws/r"},
        Case{"NamelessRun", std::string(kHead) + "runs: [{warmup: 1}]\n", "missing_key",
             "runs[0]: the key name is missing"},
        Case{"NoRuns", std::string(kHead) + "runs: []\n", "empty_list", "e.yaml:3: runs"},
        Case{"SamplesZero", std::string(kHead) + "defaults: {samples: 0}\n", "out_of_range",
             "from 1 to 1000"},
        Case{"SamplesMany", std::string(kHead) + "defaults: {samples: 1001}\n", "out_of_range",
             "from 1 to 1000"},
        Case{"SamplesOctal", std::string(kHead) + "defaults: {samples: 010}\n", "wrong_type",
             "octal"},
        Case{"SamplesQuoted", std::string(kHead) + "defaults: {samples: '3'}\n", "wrong_type",
             "without quotes"},
        Case{"EnabledYes", std::string(kHead) + "defaults: {fvp: {enabled: yes}}\n", "wrong_type",
             "true or false"},
        Case{"State", std::string(kHead) + "defaults: {state: cary}\n", "not_allowed",
             "did you mean carry?"},
        Case{"BusTrace", std::string(kHead) + "defaults: {fvp: {bus_trace: true}}\n",
             "reserved_fvp_bus_trace", "bus tracing is reserved"},
        Case{"Fence", std::string(kHead) + "defaults: {fvp: {fence: {}}}\n", "reserved_fvp_fence",
             "fencing is reserved"},
        Case{"AotOverrides", std::string(kHead) + "defaults: {aot: {overrides: {a: 1}}}\n",
             "reserved_aot_overrides", "AOT conversion override is reserved"},
        Case{"ReservedInRun", std::string(kHead) + "runs: [{name: r, fvp: {fence: 1}}]\n",
             "reserved_fvp_fence", "runs[0].fvp.fence"},
        Case{"NullPolicy", std::string(kHead) + "defaults: {fvp: {tensor_io: }}\n", "wrong_type",
             "write {}"}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Policy, DocumentRefuses,
    testing::Values(
        Case{"OddHex", Input("index: 0, name: a, dtype: int8, shape: [2], hex: \"00f\""),
             "wrong_hex",
             "e.yaml:7: defaults.fvp.tensor_io.inputs[0].hex: hexadecimal text has an odd"},
        Case{"UpperHex", Input("index: 0, name: a, dtype: int8, shape: [1], hex: \"FF\""),
             "wrong_hex", "lower case"},
        Case{"HexLooksNumeric", Input("index: 0, name: a, dtype: int8, shape: [1], hex: 00"),
             "ambiguous_text", "put text like this in quotes"},
        Case{"ShortHex", Input("index: 0, name: a, dtype: int16, shape: [2], hex: \"0000\""),
             "wrong_length", "found 2 bytes; int16[2] needs 4"},
        Case{"BooleanTwo", Input("index: 0, name: a, dtype: bool, shape: [2], hex: \"0102\""),
             "boolean_byte", "found the byte 2 at element 1"},
        Case{"HexAndFile",
             Input("index: 0, name: a, dtype: int8, shape: [1], hex: \"00\", file: x"),
             "hex_or_file", "both"},
        Case{"NoBytes", Input("index: 0, name: a, dtype: int8, shape: [1]"), "hex_or_file",
             "neither"},
        Case{"MissingFile", Input("index: 0, name: a, dtype: int8, shape: [1], file: x.bin"),
             "unreadable_file", "cannot open x.bin"},
        Case{"Dtype", Input("index: 0, name: a, dtype: int4, shape: [1], hex: \"00\""),
             "not_allowed", "Allowed: bool, int8, uint8, int16, int32, int64, float16, float32"},
        Case{"ZeroDimension", Input("index: 0, name: a, dtype: int8, shape: [0], hex: \"\""),
             "out_of_range", "shape[0]"},
        Case{"DynamicDimension", Input("index: 0, name: a, dtype: int8, shape: [-1], hex: \"\""),
             "out_of_range", "shape[0]"},
        Case{"HugeShape",
             Input("index: 0, name: a, dtype: int8, shape: [2147483647, 2147483647], hex: \"\""),
             "wrong_shape", "2^40"},
        Case{"WrongOrder", Input("index: 1, name: a, dtype: int8, shape: [1], hex: \"00\""),
             "wrong_order", "inputs[0].index: found 1; allowed: 0"},
        Case{"NameNotUtf8", Input("index: 0, name: \"\xff\", dtype: int8, shape: [1], hex: \"00\""),
             "not_utf8", "e.yaml:7"},
        Case{"DuplicateName",
             WithPolicy("      inputs:\n"
                        "        - {index: 0, name: a, dtype: int8, shape: [1], hex: \"00\"}\n"
                        "        - {index: 1, name: a, dtype: int8, shape: [1], hex: \"00\"}\n"),
             "duplicate_name", "e.yaml:8: defaults.fvp.tensor_io.inputs[1].name"},
        Case{"ReferenceCount",
             WithPolicy("      references: [{origin: other, description: d, tensors: [{index: 0, "
                        "name: a, dtype: int8, shape: [1], hex: \"00\"}]}]\n",
                        "  samples: 2\n"),
             "reference_count", "found 1 references for samples: 2"},
        Case{"ReferenceOrigin",
             WithPolicy("      references: [{origin: file, description: d, tensors: []}]\n"),
             "not_allowed", "did you mean files?"},
        Case{"EmptyReference",
             WithPolicy("      references: [{origin: files, description: d, tensors: []}]\n"),
             "empty_list", "references[0].tensors"},
        Case{"NegativeTolerance", WithPolicy("      comparison: {default: {absolute: -1}}\n"),
             "negative_number", "comparison.default.absolute"},
        Case{"NanTolerance", WithPolicy("      comparison: {default: {relative: .nan}}\n"),
             "not_finite", "comparison.default.relative"},
        Case{"InfiniteTolerance", WithPolicy("      comparison: {default: {relative: 1e999}}\n"),
             "not_finite", "comparison.default.relative"},
        Case{
            "HugeTolerance",
            WithPolicy("      comparison: {default: {absolute: 1" + std::string(400, '0') + "}}\n"),
            "not_finite", "which a double cannot hold"},
        Case{"EmptySequence",
             WithPolicy("      input_sequence: []\n", "  samples: 1\n  state: carry\n"),
             "empty_list", "input_sequence: found no input set; give one per sample"},
        Case{"DuplicateOutput",
             WithPolicy("      comparison: {per_tensor: [{output: 0}, {output: 0}]}\n"),
             "duplicate_output", "per_tensor[1].output"},
        Case{"NanPolicy", WithPolicy("      comparison: {nan: never}\n"), "not_allowed",
             "never_match, match_both"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Document, SixteenMebibytesAndNotOneMore) {
  const auto policy = [](int64_t bytes) {
    return WithPolicy("      inputs: [{index: 0, name: a, dtype: int8, shape: [" +
                      std::to_string(bytes) + "], file: x}]\n");
  };
  const auto file = [](int64_t bytes) {
    return [bytes](const std::string&) {
      return absl::StatusOr<std::string>(std::string(static_cast<size_t>(bytes), 'x'));
    };
  };
  constexpr int64_t kLimit = 16 << 20;
  EXPECT_TRUE(Parse(policy(kLimit), file(kLimit)).ok());
  EXPECT_EQ(CodeOf(policy(kLimit + 1), file(kLimit + 1)), "tensor_bytes_exceeded");
}

TEST(Document, OneMebibyteWithoutLiterals) {
  const std::string literal(2 << 20, '0');
  EXPECT_EQ(CodeOf(WithPolicy("      inputs: [{index: 0, name: a, dtype: int8, shape: [1048576], "
                              "hex: \"" +
                              literal + "\"}]\n")),
            "accepted");
  EXPECT_EQ(CodeOf(std::string(kHead) + "# " + std::string(1 << 20, 'x') + "\n"),
            "document_too_large");
}

TEST(SaveExperiment, ParsesToAnEqualExperiment) {
  const std::string policy =
      std::string(kInput) +
      "      references: [{origin: host_litert, description: \"a: \\\"b\\\" \\n #\\u00e9\", "
      "tensors: "
      "[{index: 0, name: \"no\", dtype: bool, shape: [2, 1], hex: \"0100\"}]}]\n"
      "      comparison: {default: {absolute: 1e-3, relative: 0}, nan: match_both, per_tensor: "
      "[{output: 3, relative: 1e300}]}\n";
  const std::string set = "[{index: 0, name: in, dtype: int8, shape: [1], hex: \"01\"}]";
  for (const std::string& yaml : std::vector<std::string>{
           std::string(kHead), WithPolicy(policy), WithPolicy("      {}\n"),
           "name: exp\nmodel: [a.tflite]\ndefaults: {warmup: 3, fvp: {enabled: false}}\n",
           "name: exp\nmodel: a\ndefaults: {placement: {code: BRAM, arena: DTCM}}\n",
           "name: exp\nmodel: [a.tflite, b]\ndefaults: {state: carry}\nruns: [{name: x}, {name: z, "
           "samples: 1000, fvp: {tensor_io: {}}}]\n",
           WithPolicy("      input_sequence: [" + set + ", " + set + "]\n",
                      "  samples: 2\n  state: carry\n")}) {
    const auto first = Parse(yaml);
    ASSERT_TRUE(first.ok()) << first.status();
    const std::string saved = SaveExperiment(*first);
    const auto second = Parse(saved);
    ASSERT_TRUE(second.ok()) << second.status() << "\n" << saved;
    EXPECT_TRUE(*first == *second) << saved;
    EXPECT_EQ(SaveExperiment(*second), saved);
  }
}

TEST(JobDocument, ReadsBack) {
  const auto experiment = Parse(WithPolicy(kInput, "  warmup: 4\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Digest model = DigestOf(std::string_view("model"));
  const std::string text = *CanonicalJson(JobDocument(experiment->jobs[0], model));
  const auto parsed = ParseJobDocument(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->model, model);
  EXPECT_EQ(parsed->job.warmup, 4);
  EXPECT_EQ(parsed->job.tensor_io->inputs[0].spec, experiment->jobs[0].tensor_io->inputs[0].spec);
  EXPECT_EQ(parsed->job.tensor_io->inputs[0].digest, DigestOf(std::string_view("\0\xff", 2)));
  EXPECT_THAT(*DocumentBlobs(text), ElementsAre(model, DigestOf(std::string_view("\0\xff", 2))));
}

TEST(JobDocument, ADiagnosticJobSaysSo) {
  JobEntry job = Parse(kHead)->jobs[0];
  const Digest model = DigestOf(std::string_view("m"));
  EXPECT_FALSE(JobDocument(job, model).contains("probe"));
  job.probe = true;
  const auto parsed = ParseJobDocument(*CanonicalJson(JobDocument(job, model)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->job.probe);
}

TEST(JobDocument, OnlyAPlacedJobSaysWhere) {
  JobEntry job = Parse(kHead)->jobs[0];
  const Digest model = DigestOf(std::string_view("m"));
  EXPECT_FALSE(JobDocument(job, model).contains("placement"));
  job.placement.weights = "ITCM";
  const Json document = JobDocument(job, model);
  EXPECT_EQ(document["placement"], (Json{{"weights", "ITCM"}}));
  const auto parsed = ParseJobDocument(*CanonicalJson(document));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->job.placement, job.placement);
  for (const Json& wrong : {Json{{"weights", ""}}, Json{{"weights", "a b"}}, Json::object(),
                            Json{{"stack", "DTCM"}}, Json("ITCM")}) {
    Json changed = document;
    changed["placement"] = wrong;
    EXPECT_FALSE(ParseJobDocument(*CanonicalJson(changed)).ok()) << wrong;
  }
}

TEST(JobDocument, RefusesUnknownMembersAndOtherSpellings) {
  const auto experiment = Parse(kHead);
  Json value = JobDocument(experiment->jobs[0], DigestOf(std::string_view("m")));
  EXPECT_FALSE(ParseJobDocument(PrettyJson(value)).ok());
  value["extra"] = 1;
  EXPECT_EQ(ErrorCodeOf(ParseJobDocument(*CanonicalJson(value)).status()), "not_canonical");
  value.erase("extra");
  value["schema"] = "helx.document/v2";
  EXPECT_EQ(ErrorCodeOf(ParseJobDocument(*CanonicalJson(value)).status()), "wrong_schema");
}

}  // namespace
}  // namespace helx

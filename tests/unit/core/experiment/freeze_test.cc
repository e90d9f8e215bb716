#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/frozen_request.h"

namespace helx {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::string> NoBytes(const Digest&) { return NotFound("no blob"); }

FreezeFacts Facts() {
  FreezeFacts facts;
  facts.inputs = {{0, "in", DType::kInt8, {1, 2}}, {1, "flag", DType::kBool, {}}};
  facts.outputs = {{0, "out", DType::kFloat32, {3}}};
  facts.engine = {"builtin", "1", ""};
  facts.toolchain = {"arm-none-eabi-gcc", "12.2.1", "15:12.2.rel1-1"};
  facts.target = {"qemu-system-arm", "7.2.9", "mps3-an547 icount"};
  return facts;
}

TensorEntry Entry(TensorSpec spec, const std::string& bytes) {
  return {std::move(spec), "", "", DigestOf(bytes)};
}

ParsedJobDocument Document() {
  ParsedJobDocument document;
  document.model = DigestOf(std::string_view("model"));
  return document;
}

ParsedJobDocument ExplicitDocument() {
  ParsedJobDocument document = Document();
  document.job.tensor_io.emplace();
  document.job.tensor_io->inputs = {Entry(Facts().inputs[0], "ab"),
                                    Entry(Facts().inputs[1], std::string("\x01", 1))};
  return document;
}

absl::StatusOr<std::string> One(const Digest&) { return std::string("\x01", 1); }

TEST(Freeze, AbsentPolicyIsZerosWithoutCapture) {
  const auto request = Freeze(Document(), Facts(), NoBytes);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->acquisition.capture);
  EXPECT_FALSE(request->tensors.explicit_inputs);
  ASSERT_EQ(request->tensors.input_sets.size(), 1u);
  // head -c2 /dev/zero | sha256sum
  EXPECT_EQ(request->tensors.input_sets[0][0].digest.hash,
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7");
}

TEST(Freeze, EmptyPolicyCapturesAndSharesTheBuild) {
  ParsedJobDocument document = Document();
  document.job.tensor_io.emplace();
  const auto with = Freeze(document, Facts(), NoBytes);
  const auto without = Freeze(Document(), Facts(), NoBytes);
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_TRUE(with->acquisition.capture);
  EXPECT_EQ(*with->BuildKey(), *without->BuildKey());
  EXPECT_NE(*with->RunKey(), *without->RunKey());
}

TEST(Freeze, ReadsBack) {
  ParsedJobDocument document = ExplicitDocument();
  ReferenceEntry reference{"files", "by hand", {Entry(Facts().outputs[0], std::string(12, 'x'))}};
  document.job.tensor_io->references = {reference};
  document.job.tensor_io->comparison.per_tensor = {{0, {"1", "0.5"}}};
  const auto request = Freeze(document, Facts(), One);
  ASSERT_TRUE(request.ok()) << request.status();
  const std::string canonical = *request->Canonical();
  const auto again = FrozenRequest::Parse(canonical);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again->Canonical(), canonical);
  EXPECT_EQ(*again->Identity(), "helx.request/v1:sha256:" + DigestOf(canonical).hash);
  EXPECT_FALSE(FrozenRequest::Parse(canonical + " ").ok());
  Json value = request->ToJson();
  value["tensors"]["extra"] = 1;
  EXPECT_FALSE(FrozenRequest::Parse(*CanonicalJson(value)).ok());
}

// The exact canonical text of a small tensor request, written by hand from the format's
// description.
TEST(TensorRequest, CanonicalText) {
  TensorRequest request;
  request.input_sets = {{{{0, "a", DType::kInt8, {2}}, ZeroDigest(2)}}};
  request.outputs = {{0, "b", DType::kFloat16, {}}};
  EXPECT_EQ(*CanonicalJson(request.ToJson()),
            R"({"comparison":{"default":{"absolute":"0","relative":"0"},"nan":"never_match",)"
            R"("per_tensor":[]},"input_intent":"implicit_zeros","input_sets":[[{"dtype":"int8",)"
            R"("index":0,"name":"a","sha256":"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b)"
            R"(78630a09cfc7","shape":[2],"size":2}]],"outputs":[{"dtype":"float16","index":0,)"
            R"("name":"b","shape":[]}],"references":[],"schema":"helx.tensor-request/v1"})");
}

TEST(Keys, ChangeOnlyWithWhatMatters) {
  const FrozenRequest base = *Freeze(ExplicitDocument(), Facts(), One);
  const auto keys = [](const FrozenRequest& request) {
    return std::pair{*request.BuildKey(), *request.RunKey()};
  };
  FrozenRequest changed = base;
  changed.acquisition.samples = 2;
  EXPECT_EQ(keys(changed).first, keys(base).first);
  EXPECT_NE(keys(changed).second, keys(base).second);
  changed = base;
  changed.target.version = "8";
  EXPECT_EQ(keys(changed).first, keys(base).first);
  EXPECT_NE(keys(changed).second, keys(base).second);
  changed = base;
  changed.toolchain.detail = "another package";
  EXPECT_NE(keys(changed).first, keys(base).first);
  changed = base;
  changed.tensors.comparison.nan_match_both = true;
  EXPECT_NE(keys(changed).first, keys(base).first) << "the policy is bound to the build";
  changed = base;
  changed.tensors.input_sets[0][0].digest = ZeroDigest(2);
  EXPECT_NE(keys(changed).first, keys(base).first);
  changed = base;
  changed.probe = true;
  EXPECT_NE(keys(changed).first, keys(base).first) << "a diagnostic build is another image";
  EXPECT_EQ(*changed.tensors.DigestHex(), *base.tensors.DigestHex());
  changed = base;
  changed.placement.arena = "DTCM";
  EXPECT_NE(keys(changed).first, keys(base).first);
}

TEST(Freeze, CarriesThePlacement) {
  ParsedJobDocument document = ExplicitDocument();
  EXPECT_EQ(Freeze(document, Facts(), One)->Canonical()->find("placement"), std::string::npos);
  document.job.placement.arena = "DTCM";
  const std::string text = *Freeze(document, Facts(), One)->Canonical();
  EXPECT_THAT(text, HasSubstr(R"("placement":{"arena":"DTCM"})"));
  EXPECT_EQ(FrozenRequest::Parse(text)->placement, document.job.placement);
}

// Requests that are not diagnostic are spelled as they were before there were any.
TEST(Freeze, OnlyADiagnosticRequestSaysSo) {
  ParsedJobDocument document = ExplicitDocument();
  const FrozenRequest usual = *Freeze(document, Facts(), One);
  EXPECT_EQ(usual.Canonical()->find("probe"), std::string::npos);
  document.job.probe = true;
  const FrozenRequest request = *Freeze(document, Facts(), One);
  EXPECT_TRUE(request.probe);
  const std::string text = *request.Canonical();
  EXPECT_THAT(text, HasSubstr("\"probe\":true"));
  EXPECT_TRUE(FrozenRequest::Parse(text)->probe);
  std::string spelled = text;
  spelled.replace(spelled.find("\"probe\":true"), 12, "\"probe\":false");
  EXPECT_FALSE(FrozenRequest::Parse(spelled).ok()) << "false is spelled by leaving it out";
}

void ExpectRefused(const ParsedJobDocument& document, const std::string& code,
                   const std::string& text, const FreezeFacts& facts = Facts()) {
  const auto request = Freeze(document, facts, One);
  ASSERT_FALSE(request.ok()) << code;
  EXPECT_EQ(ErrorCodeOf(request.status()), code) << request.status();
  EXPECT_THAT(MessageOf(request.status()), HasSubstr(text));
}

TEST(Freeze, NamesTheFirstDisagreement) {
  const auto with = [](auto change) {
    ParsedJobDocument document = ExplicitDocument();
    change(document.job);
    return document;
  };
  const auto inputs = [&with](auto change) {
    return with([&change](JobEntry& job) { change(job.tensor_io->inputs); });
  };
  ExpectRefused(inputs([](auto& list) { list.pop_back(); }), "input_count",
                "tensor_io.inputs: found 1 tensors; the model has 2 inputs");
  ExpectRefused(inputs([](auto& list) { std::swap(list[0], list[1]); }), "wrong_order",
                "tensor_io.inputs[0].index");
  ExpectRefused(inputs([](auto& list) { list[0].spec.name = "im"; }), "wrong_name",
                "found \"im\"; the model says \"in\"");
  ExpectRefused(inputs([](auto& list) { list[0].spec.dtype = DType::kUint8; }), "wrong_dtype",
                "found uint8; the model says int8");
  ExpectRefused(inputs([](auto& list) {
                  list[0].spec.shape = {2, 1};
                }),
                "wrong_shape", "found [2, 1]; the model says [1, 2]");
  ExpectRefused(inputs([](auto& list) { list[0].digest.size_bytes = 3; }), "wrong_length",
                "found 3 bytes");
  ExpectRefused(with([](JobEntry& job) {
                  job.tensor_io->comparison.per_tensor = {{1, {"1", "0"}}};
                }),
                "unknown_output", "found output 1; the model has 1 outputs");
  ExpectRefused(with([](JobEntry& job) {
                  job.tensor_io->references = {{"files", "", {}}};
                }),
                "output_count", "tensor_io.references[0].tensors");
  FreezeFacts dynamic = Facts();
  dynamic.outputs[0].shape = {-1};
  ExpectRefused(ExplicitDocument(), "dynamic_output", "at least 1", dynamic);
  FreezeFacts unnamed = Facts();
  unnamed.inputs[0].name = "\xff";
  ExpectRefused(ExplicitDocument(), "name_not_utf8", "input 0", unnamed);
}

TEST(Freeze, BooleanBytes) {
  const auto request =
      Freeze(ExplicitDocument(), Facts(),
             [](const Digest&) -> absl::StatusOr<std::string> { return std::string("\x02", 1); });
  EXPECT_EQ(ErrorCodeOf(request.status()), "boolean_byte") << request.status();
}

TEST(Freeze, LimitsHoldOnlyWithAPolicy) {
  FreezeFacts facts = Facts();
  facts.outputs[0] = {0, "out", DType::kInt8, {(16 << 20) / 4}};
  ParsedJobDocument document = Document();
  document.job.samples = 4;
  document.job.tensor_io.emplace();
  EXPECT_TRUE(Freeze(document, facts, One).ok());
  document.job.samples = 5;
  ExpectRefused(document, "output_bytes_exceeded", "5 samples of 4194304", facts);
  document.job.tensor_io.reset();
  EXPECT_TRUE(Freeze(document, facts, One).ok());

  facts = Facts();
  facts.inputs = {{0, "in", DType::kInt8, {(16 << 20) + 1}}};
  document = Document();
  EXPECT_TRUE(Freeze(document, facts, One).ok());
  document.job.tensor_io.emplace();
  ExpectRefused(document, "tensor_bytes_exceeded", "16777217", facts);
}

}  // namespace
}  // namespace helx

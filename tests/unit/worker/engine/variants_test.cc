// The kernels for Helium and for the DSP extension against the portable ones, over random layers
// with and without state; and models with dead channels against the same models with all of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/splitmix64.h"
#include "tests/unit/worker/engine/board_run.h"
#include "tests/unit/worker/engine/host_build.h"
#include "tests/unit/worker/engine/random_model.h"

namespace helx::engine {
namespace {

constexpr int kCases = 3;

// Random inputs, the last ones extremes only; written to `folder`/input-I.bin.
absl::Status WriteInputs(const ModelInterface& interface, uint64_t seed, bool extreme,
                         const std::string& folder) {
  SplitMix64 random(seed);
  for (size_t i = 0; i < interface.inputs.size(); ++i) {
    std::string bytes;
    int64_t count = 1;
    for (int64_t size : interface.inputs[i].shape) count *= size;
    if (interface.inputs[i].dtype == DType::kInt16) count *= 2;
    for (int64_t k = 0; k < count; ++k) {
      const uint64_t bits = random.Next();
      bytes += extreme ? (bits & 1 ? '\x7f' : '\x80') : static_cast<char>(bits >> 32);
    }
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/input-" + std::to_string(i) + ".bin", bytes));
  }
  return absl::OkStatus();
}

// What the portable kernels make of the folders' inputs, beside them.
absl::Status RecordOutputs(const GeneratedModel& model, const std::string& program,
                           const std::vector<std::string>& folders, bool carry) {
  HELX_ASSIGN_OR_RETURN(const auto outputs,
                        RunOnHost(program, folders, model.interface.outputs.size(), carry));
  for (size_t c = 0; c < folders.size(); ++c) {
    for (size_t o = 0; o < outputs[c].size(); ++o) {
      HELX_RETURN_IF_ERROR(
          WriteFile(folders[c] + "/output-" + std::to_string(o) + ".bin", outputs[c][o]));
    }
  }
  return absl::OkStatus();
}

// The model with inputs and what the portable kernels make of them.
// With `state` also as consecutive invocations.
absl::StatusOr<RecordedModel> Record(const std::string& bytes, const std::string& name,
                                     bool state = false) {
  HELX_ASSIGN_OR_RETURN(const GeneratedModel model,
                        FindEngine("builtin")->Generate(AsBytes(bytes), HostBoard()));
  HELX_ASSIGN_OR_RETURN(const std::string program, BuildForHost(model, FreshFolder(name)));
  RecordedModel recorded{name, bytes, {}, {}};
  for (int c = 0; c < kCases; ++c) {
    recorded.cases.push_back(FreshFolder(name + "_case" + std::to_string(c)));
    HELX_RETURN_IF_ERROR(
        WriteInputs(model.interface, 100 + c, c == kCases - 1, recorded.cases.back()));
  }
  HELX_RETURN_IF_ERROR(RecordOutputs(model, program, recorded.cases, false));
  if (!state) return recorded;
  for (int c = 0; c < kCases; ++c) {
    recorded.sequence.push_back(FreshFolder(name + "_step" + std::to_string(c)));
    HELX_RETURN_IF_ERROR(WriteInputs(model.interface, 200 + c, false, recorded.sequence.back()));
  }
  HELX_RETURN_IF_ERROR(RecordOutputs(model, program, recorded.sequence, true));
  return recorded;
}

void ExpectEqualOnBoards(const RecordedModel& recorded) {
  for (const char* platform : {"corstone-300", "mps2-m4", "mps2-m33"}) {
    const absl::StatusOr<BoardRun> run = RunOnBoard(recorded, platform);
    if (absl::IsNotFound(run.status())) {
      const char* required = std::getenv("HELX_REQUIRE_QEMU");
      ASSERT_FALSE(required != nullptr && std::string(required) == "1") << run.status();
      GTEST_SKIP() << run.status();
    }
    ASSERT_TRUE(run.ok()) << platform << ": " << run.status();
    EXPECT_EQ(run->refusal, "") << platform;
    EXPECT_EQ(run->difference, "") << platform;
  }
}

class VariantsTest : public testing::TestWithParam<int> {};

TEST_P(VariantsTest, GiveTheIntegersOfThePortableKernels) {
  const auto recorded = Record(RandomLayers(static_cast<uint64_t>(GetParam()), 64),
                               "random_layers_" + std::to_string(GetParam()));
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  ExpectEqualOnBoards(*recorded);
}

INSTANTIATE_TEST_SUITE_P(Seeds, VariantsTest, testing::Range(1, 5));

TEST_P(VariantsTest, GiveTheIntegersOfThePortableKernelsWithState) {
  const auto recorded = Record(RandomRecurrentLayers(static_cast<uint64_t>(GetParam()), 32),
                               "random_recurrent_" + std::to_string(GetParam()), true);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  ExpectEqualOnBoards(*recorded);
}

class DeadChannelsTest : public testing::TestWithParam<int> {};

TEST_P(DeadChannelsTest, ChangeNoOutput) {
  const uint64_t seed = static_cast<uint64_t>(GetParam());
  const std::string name = "chain_" + std::to_string(GetParam());
  const absl::StatusOr<RecordedModel> open = Record(RandomChain(seed, true), name + "_open");
  ASSERT_TRUE(open.ok()) << open.status();
  const absl::StatusOr<RecordedModel> again = Record(RandomChain(seed, false), name);
  ASSERT_TRUE(again.ok()) << again.status();
  for (int c = 0; c < kCases; ++c) {
    // The last of ten outputs is the closed chain's only one.
    EXPECT_EQ(*ReadFile(again->cases[c] + "/output-0.bin"),
              *ReadFile(open->cases[c] + "/output-9.bin"));
  }
  ExpectEqualOnBoards(*again);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeadChannelsTest, testing::Range(1, 7));

}  // namespace
}  // namespace helx::engine

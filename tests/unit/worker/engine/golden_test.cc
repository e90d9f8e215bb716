// Generated code against recorded outputs, for every real model that has them: integers byte for byte, floats within 1e-4.
// Stateful models are also run for consecutive invocations in one process.
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/engine/engine.h"

namespace helx::engine {
namespace {

// Models that are not reproduced; docs/models-exceptions.md gives the reasons.
const std::set<std::string>& Exceptions() {
  static const std::set<std::string> names = {"java_tile_bool", "td_zero_dim_min_runtime",
                                              "mlperf_kws_dscnn_float32_hybrid", "q_lstm_int8",
                                              "q_useqlstm_int8"};
  return names;
}

// What stands between a model and its goldens; empty when every case and sequence agrees.
std::string Difference(const GeneratedModel& model, const std::string& program,
                       const std::vector<std::string>& folders, bool carry) {
  const size_t outputs = model.interface.outputs.size();
  const auto results = RunOnHost(program, folders, outputs, carry);
  if (!results.ok()) return std::string(results.status().message());
  std::string text;
  for (size_t c = 0; c < folders.size(); ++c) {
    for (size_t o = 0; o < outputs; ++o) {
      const absl::StatusOr<std::string> golden =
          ReadFile(folders[c] + "/output-" + std::to_string(o) + ".bin");
      if (!golden.ok()) return std::string(golden.status().message());
      const std::string difference =
          GoldenDifference((*results)[c][o], *golden, model.interface.outputs[o].dtype);
      if (!difference.empty()) {
        text += folders[c].substr(ModelsFolder().size() + 1) + " output " + std::to_string(o) +
                ": " + difference + "\n";
      }
    }
  }
  return text;
}

std::string Difference(const std::string& name) {
  const absl::StatusOr<std::string> bytes = RealModel(name);
  if (!bytes.ok()) return std::string(bytes.status().message());
  const absl::StatusOr<GeneratedModel> model =
      FindEngine("builtin")->Generate(AsBytes(*bytes), HostBoard());
  if (!model.ok()) return std::string(model.status().message());
  const absl::StatusOr<std::string> program = BuildForHost(*model, FreshFolder("golden_" + name));
  if (!program.ok()) return std::string(program.status().message());
  const std::string cases = Difference(*model, *program, CaseFolders(name), false);
  const std::vector<std::string> sequence = SequenceFolders(name);
  return sequence.empty() ? cases : cases + Difference(*model, *program, sequence, true);
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EveryCaseAndSequenceEqualsTheReference) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string difference = Difference(GetParam());
  if (Exceptions().contains(GetParam())) {
    EXPECT_FALSE(difference.empty()) << GetParam() << " is an exception no longer";
  } else {
    EXPECT_TRUE(difference.empty()) << difference;
  }
}

// Without the folder one instance remains, which says so.
std::vector<std::string> Names() {
  const std::vector<std::string> names = ModelsWithGoldens();
  return names.empty() ? std::vector<std::string>{"none"} : names;
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest, testing::ValuesIn(Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

// Damaged files that are built all the same end when they run.
TEST(MalformedModels, RunWhenTheyAreBuilt) {
  HELX_SKIP_WITHOUT_MODELS();
  int built = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ModelsFolder() + "/_malformed")) {
    const absl::StatusOr<std::string> bytes = ReadFile(entry.path().string());
    const absl::StatusOr<GeneratedModel> model =
        FindEngine("builtin")->Generate(AsBytes(bytes.ok() ? *bytes : ""), HostBoard());
    if (!model.ok()) continue;
    ++built;
    const std::string folder = FreshFolder("malformed_" + entry.path().stem().string());
    const absl::StatusOr<std::string> program = BuildForHost(*model, folder);
    ASSERT_TRUE(program.ok()) << entry.path() << program.status();
    for (size_t i = 0; i < model->interface.inputs.size(); ++i) {
      const std::string zeros(static_cast<size_t>(*ByteSize(model->interface.inputs[i])), '\0');
      ASSERT_TRUE(WriteFile(folder + "/input-" + std::to_string(i) + ".bin", zeros).ok());
    }
    const auto outputs = RunOnHost(*program, {folder}, model->interface.outputs.size());
    EXPECT_TRUE(outputs.ok()) << entry.path() << outputs.status();
  }
  EXPECT_GT(built, 0);
}

TEST(GoldenExceptions, AreFew) { EXPECT_LE(Exceptions().size(), 5u); }

}  // namespace
}  // namespace helx::engine

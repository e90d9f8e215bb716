// References and bisection over the real models: what the goldens say, and exactly what was changed
// in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/model/reader.h"
#include "tests/integration/golden_models.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

namespace fs = std::filesystem;

// Models that run and whose recordings are not reproduced; docs/models-exceptions.md gives the
// reasons.
bool IsException(const std::string& model) {
  return model == "mlperf_kws_dscnn_float32_hybrid" || model == "q_lstm_int8" ||
         model == "q_useqlstm_int8" || model == "tflm_audio_preprocessor_int8";
}

struct Element {
  std::string reference;  // decimal text after the change; empty for floating point
  std::string actual;     // before it
};

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <typename T>
std::string TextAt(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return std::to_string(value);
}

size_t SizeOf(const std::string& dtype) {
  if (dtype == "int64") return 8;
  if (dtype == "int32" || dtype == "float32") return 4;
  return dtype == "int16" || dtype == "float16" ? 2 : 1;
}

std::string ValueAt(const std::string& dtype, const std::string& bytes, size_t offset) {
  if (dtype == "int64") return TextAt<int64_t>(bytes, offset);
  if (dtype == "int32") return TextAt<int32_t>(bytes, offset);
  if (dtype == "int16") return TextAt<int16_t>(bytes, offset);
  if (dtype == "int8") return TextAt<int8_t>(bytes, offset);
  if (dtype == "uint8" || dtype == "bool") return TextAt<uint8_t>(bytes, offset);
  return "";
}

// One element made another: the last bit of an integer or bool, or a float beyond every tolerance.
Element ChangeElement(const std::string& dtype, size_t element, std::string* bytes) {
  const size_t offset = element * SizeOf(dtype);
  Element change;
  change.actual = ValueAt(dtype, *bytes, offset);
  if (dtype == "float32") {
    const float huge = 1e30f;
    std::memcpy(bytes->data() + offset, &huge, 4);
  } else if (dtype == "float16") {
    std::memcpy(bytes->data() + offset, "\xff\x7b", 2);  // 65504
  } else {
    (*bytes)[offset] = static_cast<char>((*bytes)[offset] ^ 1);
  }
  change.reference = ValueAt(dtype, *bytes, offset);
  return change;
}

// Row-major, by repeated division.
Json PositionOf(size_t element, const Json& shape) {
  std::vector<size_t> position(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t size = shape[i].get<size_t>();
    position[i] = element % size;
    element /= size;
  }
  return position;
}

class ModelEvidence : public ::testing::Test {
 protected:
  void SetUp() override {
    HELX_NEED_MODELS();
    ASSERT_NO_FATAL_FAILURE(service_.Start());
  }
  std::string Path(const std::string& name) const { return service_.folder() + "/" + name; }

  // Runs case 0 with its inputs and, as --reference-dir, the goldens.
  CommandResult RunCase(const std::string& model, const std::string& output,
                        const std::string& model_file = "") const {
    ExperimentOptions options;
    options.cases = 1;
    options.references = false;
    std::string yaml = MakeGoldenExperiment(ModelsFolder(), model, options).yaml;
    if (!model_file.empty()) {
      const std::string usual = ModelsFolder() + "/" + model + "/model.tflite";
      yaml.replace(yaml.find(usual), usual.size(), model_file);
    }
    Spill(Path(model + ".yaml"), yaml);
    return service_.Helxctl({"run", "-c", model + ".yaml", "-o", output, "--json",
                             "--reference-dir", ModelsFolder() + "/" + model});
  }

  // The folder of a model's recorded layers. SignalEnergy computes a range of its output, and the
  // reference runtime leaves what memory held before in the rest: in the recordings of
  // tflm_audio_preprocessor_int8 words 0 to 4 and 256 of operator 4 are not those of operator 5, a
  // CAST of the same width that copies. Those six, which no operator reads, are zeros here; all
  // that was computed stays.
  std::string WrittenLayers(const std::string& model, const std::string& name) const {
    const std::string layers = ModelsFolder() + "/" + model + "/" + name;
    if (model != "tflm_audio_preprocessor_int8") return layers;
    constexpr size_t kFirst = 5 * sizeof(int32_t);
    constexpr size_t kEnd = 256 * sizeof(int32_t);
    const std::string copy = Path(name + "-written");
    fs::copy(layers, copy, fs::copy_options::recursive);
    const std::string energy = Slurp(layers + "/op004-out0.bin");
    std::string cast = Slurp(layers + "/op005-out0.bin");
    EXPECT_EQ(cast.size(), kEnd + sizeof(int32_t));
    EXPECT_NE(energy.substr(0, kFirst), cast.substr(0, kFirst));
    EXPECT_NE(energy.substr(kEnd), cast.substr(kEnd));
    EXPECT_TRUE(energy.substr(kFirst, kEnd - kFirst) == cast.substr(kFirst, kEnd - kFirst));
    cast.replace(0, kFirst, kFirst, '\0');
    cast.replace(kEnd, std::string::npos, sizeof(int32_t), '\0');
    fs::permissions(copy + "/op005-out0.bin", fs::perms::owner_write, fs::perm_options::add);
    Spill(copy + "/op005-out0.bin", cast);
    return copy;
  }

  Service service_;
};

// compare with what case 0's goldens become by one changed element of one output.
void ExpectExactly(const Service& service, const std::string& model, const Json& outputs) {
  const std::string golden = ModelsFolder() + "/" + model + "/case0";
  const std::string bundle = "out/" + model + "/case0";
  const auto result = ParseJson(Slurp(service.folder() + "/" + bundle + "/result.json"));
  ASSERT_TRUE(result.ok());
  for (size_t o = 0; o < outputs.size(); ++o) {
    const std::string folder = service.folder() + "/changed/" + model + "-" + std::to_string(o);
    fs::create_directories(folder);
    std::vector<std::string> arguments = {"compare", bundle,   "--reference-dir",
                                          folder,    "--json", "--nan-match-both"};
    Element change;
    size_t element = 0;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const std::string file = "/output-" + std::to_string(k) + ".bin";
      const std::string dtype = Lower(outputs[k]["dtype"]);
      std::string bytes = Slurp(golden + file);
      if (k == o) {
        element = bytes.size() / SizeOf(dtype) / 2;
        change = ChangeElement(dtype, element, &bytes);
      }
      Spill(folder + file, bytes);
    }
    for (const Json& item : (*result)["tensors"]["policy"]["per_tensor"]) {
      arguments.push_back("--tolerance=" + std::to_string(item["output"].get<int>()) + ":" +
                          item["absolute"].get<std::string>() + ":" +
                          item["relative"].get<std::string>());
    }
    const CommandResult compare = service.Helxctl(arguments);
    ASSERT_EQ(compare.exit_code, 1) << compare.out << compare.err;
    const Json verdicts = compare.json()["samples"][0]["verification"]["tensors"];
    ASSERT_EQ(verdicts.size(), outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_EQ(verdicts[k]["mismatches"], k == o ? 1 : 0) << "output " << k;
    }
    const Json& first = verdicts[o]["first_difference"];
    EXPECT_EQ(first["position"], PositionOf(element, outputs[o]["shape"]));
    if (change.actual.empty()) continue;
    EXPECT_EQ(first["actual"], change.actual);
    EXPECT_EQ(first["reference"], change.reference);
  }
}

TEST_F(ModelEvidence, GoldensMatchAndOneChangedElementIsExactlyThatMismatch) {
  int ran = 0, refused = 0, differ = 0;
  for (const std::string& model : AllModels()) {
    SCOPED_TRACE(model);
    const CommandResult run = RunCase(model, "out");
    if (run.exit_code == 2) {
      ++refused;
      continue;
    }
    if (run.exit_code == 1 && IsException(model)) {
      ++differ;
      continue;
    }
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    if (run.exit_code != 0) continue;
    EXPECT_EQ(run.json()["jobs"][0]["assessment"], "match");
    ++ran;
    const auto meta = ParseJson(Slurp(ModelsFolder() + "/" + model + "/meta.json"));
    ASSERT_TRUE(meta.ok());
    ExpectExactly(service_, model, (*meta)["outputs"]);
  }
  std::printf("references: %d models match, %d are refused at freeze, %d are known to differ\n",
              ran, refused, differ);
  EXPECT_GE(ran, 10);
}

// Each model's own layers, all within the tolerance; then one of them changed.
TEST_F(ModelEvidence, BisectFindsTheLayerThatWasChanged) {
  int bisected = 0;
  for (const std::string& model : AllModels()) {
    if (!fs::exists(ModelsFolder() + "/" + model + "/layers")) continue;
    SCOPED_TRACE(model);
    const std::string layers = WrittenLayers(model, "layers");
    const CommandResult run = RunCase(model, "out");
    if (run.exit_code == 2 || IsException(model)) continue;
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
    std::vector<std::string> arguments = {"results",  "bisect", "out/" + model + "/case0",
                                          "--layers", layers,   "--json"};
    // Float kernels may add in another order; integers may not differ at all.
    const bool is_float = model.find("float") != std::string::npos;
    if (is_float) arguments.insert(arguments.end(), {"--relative", "1e-3", "--absolute", "1e-3"});
    const CommandResult clean = service_.Helxctl(arguments);
    ASSERT_EQ(clean.exit_code, 0) << clean.out << clean.err << service_.Log();
    const Json answer = clean.json();
    EXPECT_TRUE(answer["first"].is_null()) << clean.out;
    const int64_t compared = answer["compared"];
    EXPECT_GE(compared, 1);

    // The middle one of those that could be compared.
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(layers)) {
      const std::string name = item.path().filename().string();
      bool skipped = false;
      for (const Json& text : answer["skipped"]) {
        const std::string op = "op " + std::to_string(std::stoi(name.substr(2))) + " ";
        skipped = skipped || text.get<std::string>().starts_with(op);
      }
      if (!skipped) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    ASSERT_EQ(static_cast<int64_t>(names.size()), compared);
    const std::string changed = names[names.size() / 2];
    const std::string copy = Path("layers-" + model);
    fs::copy(layers, copy, fs::copy_options::recursive);
    std::string bytes = Slurp(copy + "/" + changed);
    if (is_float) {
      ChangeElement("float32", bytes.size() / 8, &bytes);
    } else {
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x40);
    }
    Spill(copy + "/" + changed, bytes);
    arguments[4] = copy;
    const CommandResult found = service_.Helxctl(arguments);
    ASSERT_EQ(found.exit_code, 0) << found.err;
    const Json first = found.json()["first"];
    ASSERT_FALSE(first.is_null());
    EXPECT_EQ(first["operator"], std::stoi(changed.substr(2))) << changed;
    EXPECT_EQ(first["mismatches"], 1);
    ++bisected;
  }
  std::printf("bisected: %d models\n", bisected);
  EXPECT_GE(bisected, 8);
}

// The real use: a model whose fourth operator has a wrong weight, against the layers of the right
// one.
TEST_F(ModelEvidence, BisectNamesTheOperatorWithAWrongWeight) {
  const std::string model = "mlperf_kws_dscnn_int8";
  constexpr size_t kOperator = 3;
  std::string bytes = Slurp(ModelsFolder() + "/" + model + "/model.tflite");
  {
    const auto read = model::ReadModel(AsBytes(bytes));
    ASSERT_TRUE(read.ok());
    const model::Subgraph& graph = read->primary();
    const auto& weights = graph.tensors[graph.operators[kOperator].inputs[1]].data;
    const size_t offset = static_cast<size_t>(
        weights.data() - reinterpret_cast<const uint8_t*>(read->storage->data()));
    ASSERT_LT(offset + weights.size(), bytes.size());
    for (size_t i = 0; i < weights.size(); ++i)
      bytes[offset + i] = static_cast<char>(bytes[offset + i] ^ 0x40);
  }
  Spill(Path("wrong.tflite"), bytes);
  const CommandResult run = RunCase(model, "wrong", Path("wrong.tflite"));
  ASSERT_EQ(run.exit_code, 1) << run.out << run.err;
  const CommandResult found =
      service_.Helxctl({"results", "bisect", "wrong/" + model + "/case0", "--layers",
                        ModelsFolder() + "/" + model + "/layers", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(found.json()["first"]["operator"], kOperator);
  EXPECT_GT(found.json()["first"]["mismatches"], 0);
  // Without the layers there is nothing to hold it to.
  EXPECT_EQ(service_
                .Helxctl({"results", "bisect", "wrong/" + model + "/case0", "--layers",
                          service_.folder()})
                .exit_code,
            2);
}

// Variables carry from one sample to the next: four consecutive invocations, each held to its own
// golden, and the operators of the fourth to its own layers.
TEST_F(ModelEvidence, SequencesOfStatefulModelsMatchStepByStep) {
  int ran = 0, refused = 0, bisected = 0;
  for (const std::string& model : AllModels()) {
    if (!fs::exists(ModelsFolder() + "/" + model + "/seq")) continue;
    SCOPED_TRACE(model);
    const GoldenExperiment experiment = MakeSequenceExperiment(ModelsFolder(), model);
    const size_t steps = experiment.cases.size();
    ASSERT_GE(steps, 2u);
    Spill(Path(model + ".yaml"), experiment.yaml);
    const std::string goldens = Path("goldens-" + model);
    for (size_t step = 0; step < steps; ++step) {
      const std::string folder = goldens + "/" + std::to_string(step);
      fs::create_directories(folder);
      for (size_t o = 0; o < experiment.cases[step].outputs.size(); ++o) {
        Spill(folder + "/output-" + std::to_string(o) + ".bin", experiment.cases[step].outputs[o]);
      }
    }
    const CommandResult run = service_.Helxctl(
        {"run", "-c", model + ".yaml", "-o", "seq", "--json", "--reference-dir", goldens});
    if (run.exit_code == 2) {
      ++refused;
      continue;
    }
    if (run.exit_code == 1 && IsException(model)) continue;
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    if (run.exit_code != 0) continue;
    ++ran;
    const auto result = ParseJson(Slurp(Path("seq/" + model + "/seq/result.json")));
    ASSERT_TRUE(result.ok());
    const Json samples = (*result)["measurements"]["samples"];
    ASSERT_EQ(samples.size(), steps);
    for (size_t step = 0; step < steps; ++step) {
      EXPECT_EQ(samples[step]["verification"]["matched"], true) << "step " << step;
    }
    if (!fs::exists(ModelsFolder() + "/" + model + "/layers_seq3") ||
        model.find("float") != std::string::npos) {
      continue;
    }
    const std::string layers = WrittenLayers(model, "layers_seq3");
    const CommandResult found = service_.Helxctl({"results", "bisect", "seq/" + model + "/seq",
                                                  "--layers", layers, "--sample", "3", "--json"});
    EXPECT_EQ(found.exit_code, 0) << found.out << found.err;
    if (found.exit_code != 0) continue;
    const Json answer = found.json();
    EXPECT_TRUE(answer["first"].is_null()) << found.out;
    EXPECT_GE(answer["compared"].get<int>(), 1);
    ++bisected;
  }
  std::printf("sequences: %d models match, %d are refused at freeze, %d bisected at step 3\n", ran,
              refused, bisected);
}

// A diagnostic build is another image with another key, says that its counts are not the model's,
// and leaves the usual one alone.
TEST_F(ModelEvidence, ADiagnosticBuildIsKeptApart) {
  const std::string model = "tflm_hello_world_int8";
  ASSERT_EQ(RunCase(model, "before").exit_code, 0);
  ASSERT_EQ(service_
                .Helxctl({"results", "bisect", "before/" + model + "/case0", "--layers",
                          ModelsFolder() + "/" + model + "/layers"})
                .exit_code,
            0);
  const CommandResult after = RunCase(model, "after");
  ASSERT_EQ(after.exit_code, 0);
  EXPECT_EQ(after.json()["jobs"][0]["cached"], true);
  EXPECT_EQ(Slurp(Path("before/" + model + "/case0/result.json")),
            Slurp(Path("after/" + model + "/case0/result.json")));
  ASSERT_EQ(service_.Helxctl({"results", "fetch", "bisect", "-o", "diagnostic"}).exit_code, 0);
  EXPECT_EQ(service_.Helxctl({"results", "verify", "diagnostic"}).exit_code, 0);
  const auto result = ParseJson(Slurp(Path("diagnostic/result.json")));
  ASSERT_TRUE(result.ok());
  const Json instructions = (*result)["measurements"]["samples"][0]["instructions"];
  EXPECT_TRUE(instructions["value"].is_null());
  EXPECT_THAT(instructions["reason"].get<std::string>(), ::testing::HasSubstr("diagnostic"));
  EXPECT_NE(Slurp(Path("diagnostic/build/model.elf")),
            Slurp(Path("before/" + model + "/case0/build/model.elf")));
  EXPECT_EQ(Slurp(Path("diagnostic/tensors/outputs/0/output-0.bin")),
            Slurp(Path("before/" + model + "/case0/tensors/outputs/0/output-0.bin")));
}

}  // namespace
}  // namespace helx::testing

// Builds a generated model with the host's C compiler and runs it: the kernels' portable variants, without an emulator.
#ifndef HELX_TESTS_UNIT_WORKER_ENGINE_HOST_BUILD_H_
#define HELX_TESTS_UNIT_WORKER_ENGINE_HOST_BUILD_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "worker/engine/engine.h"

namespace helx::engine {

// The folder of real models; empty when HELX_MODELS is not set.
std::string ModelsFolder();

// A fresh folder below the build tree, removed by the caller's next run of the same name.
std::string FreshFolder(const std::string& name);

// Skips the test without HELX_MODELS, or fails it when HELX_REQUIRE_MODELS=1.
#define HELX_SKIP_WITHOUT_MODELS()                                     \
  do {                                                                 \
    if (::helx::engine::ModelsFolder().empty()) {                      \
      const char* required = std::getenv("HELX_REQUIRE_MODELS");       \
      if (required != nullptr && std::string(required) == "1") {       \
        FAIL() << "HELX_REQUIRE_MODELS=1, but HELX_MODELS is not set"; \
      }                                                                \
      GTEST_SKIP() << "HELX_MODELS is not set";                        \
    }                                                                  \
  } while (false)

// The models that every engine change is held against.
inline constexpr const char* kMeasuredModels[] = {
    "mlperf_kws_dscnn_int8",   "mlperf_vww_mobilenetv1_025_96_int8",
    "mlperf_ic_resnet8_int8",  "mlperf_ad_autoencoder_int8",
    "tflm_hello_world_int8",   "tflm_micro_speech_int8",
    "tflm_person_detect_int8", "arduino_magic_wand_int8",
    "tflm_simple_add_int8",    "tinyengine_lenet_300_100_ptq"};

// Empty when integers are equal byte for byte, and floats within 1e-4 of the reference's largest magnitude.
std::string GoldenDifference(const std::string& actual, const std::string& expected, DType dtype);
// Records a test failure unless integers are equal byte for byte, and floats within 1e-4 of the reference's largest magnitude.
void ExpectGolden(const std::string& actual, const std::string& expected, DType dtype,
                  const std::string& where);

// The model's bytes, by folder name.
absl::StatusOr<std::string> RealModel(const std::string& name);

// What models are generated for that run on this host: portable kernels, and room for models that are too large for any board.
const target::Board& HostBoard();

// Compiles the model and the kernels (once per test program), warnings as errors; the program's path.
absl::StatusOr<std::string> BuildForHost(const GeneratedModel& model, const std::string& folder);

// Runs the program over folders with input-I.bin in one process; result[case][output]. Variables are reset before every case,
// or, with `carry`, before the first.
absl::StatusOr<std::vector<std::vector<std::string>>> RunOnHost(
    const std::string& program, const std::vector<std::string>& case_folders, size_t outputs,
    bool carry = false);

// Models whose folder has golden outputs, in alphabetical order; empty without HELX_MODELS.
std::vector<std::string> ModelsWithGoldens();

// The folders of a model's independent cases, and of its consecutive invocations (none for models without state).
std::vector<std::string> CaseFolders(const std::string& model);
std::vector<std::string> SequenceFolders(const std::string& model);

// The figures of tests/bench/models/tflm_baseline.tsv: a model's columns by name, absent where the cell is empty.
using BaselineTable = std::map<std::string, std::map<std::string, double>>;
BaselineTable TflmBaseline();

}  // namespace helx::engine

#endif  // HELX_TESTS_UNIT_WORKER_ENGINE_HOST_BUILD_H_

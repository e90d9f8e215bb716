#include "tests/integration/golden_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/json.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// JSON strings and lists are YAML too.
std::string TensorLine(const Json& tensor, size_t index, const std::string& file) {
  return "{index: " + std::to_string(index) + ", name: " + tensor["name"].dump() +
         ", dtype: " + Lower(tensor["dtype"].get<std::string>()) +
         ", shape: " + tensor["shape"].dump() + ", file: " + Json(file).dump() + "}";
}

double LargestMagnitude(const std::string& bytes) {
  double largest = 0;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i, 4);
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return largest;
}

std::string Comparison(const Json& outputs, const GoldenCase& golden) {
  std::string per_tensor;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!golden.is_float[o]) continue;
    char text[64];
    std::snprintf(text, sizeof(text), "%.17g", 1e-4 * LargestMagnitude(golden.outputs[o]));
    per_tensor += std::string(per_tensor.empty() ? "" : ", ") + "{output: " + std::to_string(o) +
                  ", absolute: " + text + ", relative: 0}";
  }
  return "        comparison: {default: {absolute: 0, relative: 0}, per_tensor: [" + per_tensor +
         "], nan: match_both}\n";
}

}  // namespace

std::vector<std::string> AllModels() {
  std::vector<std::string> models;
  for (const auto& item : std::filesystem::directory_iterator(ModelsFolder())) {
    const std::string base = item.path().string();
    if (!std::filesystem::exists(base + "/case0/output-0.bin") ||
        !std::filesystem::exists(base + "/model.tflite")) {
      continue;
    }
    models.push_back(item.path().filename().string());
  }
  std::sort(models.begin(), models.end());
  return models;
}

const std::vector<std::string>& FirstTenModels() {
  static const std::vector<std::string> models = {
      "mlperf_kws_dscnn_int8",   "mlperf_vww_mobilenetv1_025_96_int8",
      "mlperf_ic_resnet8_int8",  "mlperf_ad_autoencoder_int8",
      "tflm_hello_world_int8",   "tflm_micro_speech_int8",
      "tflm_person_detect_int8", "arduino_magic_wand_int8",
      "tflm_simple_add_int8",    "tinyengine_lenet_300_100_ptq"};
  return models;
}

GoldenExperiment MakeGoldenExperiment(const std::string& folder, const std::string& model,
                                      const ExperimentOptions& options) {
  const std::string base = folder + "/" + model;
  const auto meta = ParseJson(Slurp(base + "/meta.json"));
  EXPECT_TRUE(meta.ok()) << model;
  GoldenExperiment experiment;
  if (!meta.ok()) return experiment;
  const Json& inputs = (*meta)["inputs"];
  const Json& outputs = (*meta)["outputs"];
  experiment.yaml = "name: " + model + "\nmodel: " + Json(base + "/model.tflite").dump() +
                    "\ndefaults: {platform: " + options.platform + "}\nruns:\n";
  for (int k = options.first_case; k < options.first_case + options.cases; ++k) {
    const std::string dir = base + "/case" + std::to_string(k);
    if (!std::filesystem::exists(dir)) break;
    GoldenCase golden;
    golden.run = "case" + std::to_string(k);
    std::string text =
        "  - name: " + golden.run + "\n    fvp:\n      tensor_io:\n        inputs:\n";
    for (size_t i = 0; i < inputs.size(); ++i) {
      text += "          - " +
              TensorLine(inputs[i], i, dir + "/input-" + std::to_string(i) + ".bin") + "\n";
    }
    std::string tensors;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const std::string file = dir + "/output-" + std::to_string(o) + ".bin";
      golden.outputs.push_back(Slurp(file));
      golden.is_float.push_back(Lower(outputs[o]["dtype"].get<std::string>()) == "float32");
      tensors += std::string(o == 0 ? "" : ", ") + TensorLine(outputs[o], o, file);
    }
    if (options.references) {
      text += "        references:\n          - {origin: files, description: golden, tensors: [" +
              tensors + "]}\n";
    }
    text += Comparison(outputs, golden);
    experiment.yaml += text;
    experiment.cases.push_back(std::move(golden));
  }
  return experiment;
}

GoldenExperiment MakeSequenceExperiment(const std::string& folder, const std::string& model) {
  const std::string base = folder + "/" + model;
  const auto meta = ParseJson(Slurp(base + "/meta.json"));
  EXPECT_TRUE(meta.ok()) << model;
  GoldenExperiment experiment;
  if (!meta.ok()) return experiment;
  const Json& inputs = (*meta)["inputs"];
  const Json& outputs = (*meta)["outputs"];
  GoldenCase all;  // every step's outputs one after another, for the largest magnitude
  all.outputs.resize(outputs.size());
  std::string sets;
  for (int step = 0; std::filesystem::exists(base + "/seq/step" + std::to_string(step)); ++step) {
    const std::string dir = base + "/seq/step" + std::to_string(step);
    GoldenCase golden;
    golden.run = "step" + std::to_string(step);
    std::string set;
    for (size_t i = 0; i < inputs.size(); ++i) {
      set += (i == 0 ? "" : ", ") +
             TensorLine(inputs[i], i, dir + "/input-" + std::to_string(i) + ".bin");
    }
    sets += "          - [" + set + "]\n";
    for (size_t o = 0; o < outputs.size(); ++o) {
      golden.outputs.push_back(Slurp(dir + "/output-" + std::to_string(o) + ".bin"));
      golden.is_float.push_back(Lower(outputs[o]["dtype"].get<std::string>()) == "float32");
      all.outputs[o] += golden.outputs.back();
    }
    all.is_float = golden.is_float;
    experiment.cases.push_back(std::move(golden));
  }
  experiment.yaml =
      "name: " + model + "\nmodel: " + Json(base + "/model.tflite").dump() +
      "\nruns:\n  - name: seq\n    samples: " + std::to_string(experiment.cases.size()) +
      "\n    state: carry\n    fvp:\n      tensor_io:\n        input_sequence:\n" + sets +
      Comparison(outputs, all);
  return experiment;
}

}  // namespace helx::testing

// The real models' cases as experiments.
#ifndef HELX_TESTS_INTEGRATION_GOLDEN_MODELS_H_
#define HELX_TESTS_INTEGRATION_GOLDEN_MODELS_H_

#include <string>
#include <vector>

namespace helx::testing {

// Every model with a golden: its folder's name, ascending.
std::vector<std::string> AllModels();

// The ten models that every build must run.
const std::vector<std::string>& FirstTenModels();

struct ExperimentOptions {
  std::string platform = "corstone-300";
  bool references =
      true;  // hold the goldens as references; the comparison policy is written either way
  int first_case = 0;
  int cases = 1000;  // at most so many
};

struct GoldenCase {
  std::string run;                   // "case0", ...
  std::vector<std::string> outputs;  // the golden bytes
  std::vector<bool> is_float;        // per output: float32
};

struct GoldenExperiment {
  std::string yaml;
  std::vector<GoldenCase> cases;
};

// An experiment named after the model with one run per case: inputs, and the goldens as references
// (integers exactly, floats within 1e-4 of the output's largest magnitude). `folder`: the models'
// folder.
GoldenExperiment MakeGoldenExperiment(const std::string& folder, const std::string& model,
                                      const ExperimentOptions& options = {});

// An experiment of one run "seq" that feeds a stateful model's consecutive steps (seq/step0, ...)
// as an input sequence; the cases are the steps. The goldens are not written as references, the
// comparison policy is.
GoldenExperiment MakeSequenceExperiment(const std::string& folder, const std::string& model);

}  // namespace helx::testing

#endif  // HELX_TESTS_INTEGRATION_GOLDEN_MODELS_H_

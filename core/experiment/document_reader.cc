// YAML -> Experiment.
#include <algorithm>
#include <set>

#include "core/base/strict_yaml.h"
#include "core/base/yaml_scalar.h"
#include "core/experiment/document.h"
#include "core/experiment/policy_reader.h"
#include "core/experiment/tensor_io_check.h"

namespace helx {
namespace {

constexpr size_t kNameBytes = 64;

// [A-Za-z0-9][A-Za-z0-9._-]{0,63}
bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kNameBytes) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool alphanumeric =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!alphanumeric && (i == 0 || (c != '.' && c != '_' && c != '-'))) return false;
  }
  return true;
}

absl::StatusOr<std::string> ReadName(const YamlNode& node) {
  HELX_ASSIGN_OR_RETURN(std::string name, node.Text());
  if (!IsName(name)) {
    return node.Error("wrong_name", "found " + ShownText(name) +
                                        "; allowed: 1 to 64 of A-Z a-z 0-9 . _ -, the first a "
                                        "letter or digit");
  }
  return name;
}

// The keys of `defaults` and, with `name`, of an entry of `runs`.
struct Settings {
  JobEntry job;                         // without model and name
  const YamlNode* tensor_io = nullptr;  // where job.tensor_io was written
};

absl::Status CheckReserved(const YamlNode& mapping, std::string_view key, std::string_view code,
                           std::string_view what) {
  const YamlNode* node = mapping.Find(key);
  if (node == nullptr) return absl::OkStatus();
  return node->Error(code, std::string(what) +
                               " is reserved and not supported; leave the key out (a tensor policy "
                               "excludes it in any case)");
}

class SettingsReader {
 public:
  SettingsReader(const FileReader& read_file, const DocumentLimits& limits)
      : read_file_(read_file), limits_(limits) {}

  // Overrides `settings` with what `node` writes.
  absl::Status Apply(const YamlNode& node, bool is_run, Settings* settings) {
    if (is_run) {
      HELX_RETURN_IF_ERROR(node.CheckKeys(
          {"name", "engine", "platform", "warmup", "samples", "state", "placement", "fvp", "aot"}));
    } else {
      HELX_RETURN_IF_ERROR(node.CheckKeys(
          {"engine", "platform", "warmup", "samples", "state", "placement", "fvp", "aot"}));
    }
    JobEntry& job = settings->job;
    if (const YamlNode* engine = node.Find("engine")) {
      HELX_ASSIGN_OR_RETURN(job.engine, ReadName(*engine));
    }
    if (const YamlNode* platform = node.Find("platform")) {
      HELX_ASSIGN_OR_RETURN(job.platform, ReadName(*platform));
    }
    if (const YamlNode* warmup = node.Find("warmup")) {
      HELX_ASSIGN_OR_RETURN(job.warmup, warmup->Integer(0, limits_.warmups));
    }
    if (const YamlNode* samples = node.Find("samples")) {
      HELX_ASSIGN_OR_RETURN(job.samples, samples->Integer(1, limits_.samples));
    }
    if (const YamlNode* state = node.Find("state")) {
      HELX_ASSIGN_OR_RETURN(job.state, state->OneOf({"reset", "carry"}));
    }
    if (const YamlNode* placement = node.Find("placement")) {
      HELX_RETURN_IF_ERROR(ApplyPlacement(*placement, &job.placement));
    }
    if (const YamlNode* aot = node.Find("aot")) {
      HELX_RETURN_IF_ERROR(aot->CheckKeys({"overrides"}));
      HELX_RETURN_IF_ERROR(CheckReserved(*aot, "overrides", "reserved_aot_overrides",
                                         "an arbitrary AOT conversion override"));
    }
    if (const YamlNode* fvp = node.Find("fvp")) HELX_RETURN_IF_ERROR(ApplyFvp(*fvp, settings));
    return absl::OkStatus();
  }

 private:
  // Which names the platform has is known when the document is frozen.
  static absl::Status ApplyPlacement(const YamlNode& node, PlacementEntry* placement) {
    HELX_RETURN_IF_ERROR(node.CheckKeys({"code", "weights", "arena"}));
    for (auto [key, region] :
         {std::pair{"code", &placement->code}, std::pair{"weights", &placement->weights},
          std::pair{"arena", &placement->arena}}) {
      const YamlNode* part = node.Find(key);
      if (part == nullptr) continue;
      HELX_ASSIGN_OR_RETURN(*region, part->Text());
      if (!IsRegionName(*region)) {
        return part->Error("not_allowed", "found " + ShownText(*region) +
                                              "; allowed: the name of a memory region of the "
                                              "platform, such as DTCM or SRAM");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ApplyFvp(const YamlNode& fvp, Settings* settings) {
    HELX_RETURN_IF_ERROR(fvp.CheckKeys({"enabled", "tensor_io", "bus_trace", "fence"}));
    HELX_RETURN_IF_ERROR(CheckReserved(fvp, "bus_trace", "reserved_fvp_bus_trace", "bus tracing"));
    HELX_RETURN_IF_ERROR(CheckReserved(fvp, "fence", "reserved_fvp_fence", "fencing"));
    if (const YamlNode* enabled = fvp.Find("enabled")) {
      HELX_ASSIGN_OR_RETURN(settings->job.execute, enabled->Boolean());
    }
    if (const YamlNode* tensor_io = fvp.Find("tensor_io")) {
      HELX_ASSIGN_OR_RETURN(settings->job.tensor_io, ReadPolicy(*tensor_io, read_file_, limits_));
      settings->tensor_io = tensor_io;
    }
    return absl::OkStatus();
  }

  const FileReader& read_file_;
  const DocumentLimits& limits_;
};

struct ModelPath {
  std::string path;
  std::string stem;
  SourcePlace place;
};

absl::StatusOr<ModelPath> ReadModel(const YamlNode& node) {
  ModelPath model;
  HELX_ASSIGN_OR_RETURN(model.path, node.Text());
  model.place = {node.Where()};
  const std::string file = model.path.substr(model.path.rfind('/') + 1);
  const size_t dot = file.rfind('.');
  model.stem = dot == std::string::npos || dot == 0 ? file : file.substr(0, dot);
  if (file.empty() || model.stem == "." || model.stem == ".." || model.stem.size() > 128) {
    return node.Error("wrong_model", "found " + ShownText(model.path) +
                                         "; allowed: the path of a model file beside the document, "
                                         "its name at most 128 bytes long");
  }
  return model;
}

// Bytes of the document's tensor literals, which count by their own limit.
size_t LiteralBytes(const std::vector<const YamlNode*>& policies) {
  size_t bytes = 0;
  std::vector<const YamlNode*> open(policies);
  while (!open.empty()) {
    const YamlNode* node = open.back();
    open.pop_back();
    open.insert(open.end(), node->items().begin(), node->items().end());
    for (const auto& [key, member] : node->members()) {
      if (key == "hex") {
        bytes += member->TextView().value_or(std::string_view()).size();
      } else {
        open.push_back(member);
      }
    }
  }
  return bytes;
}

class ExperimentReader {
 public:
  ExperimentReader(const YamlNode& root, const FileReader& read_file, const DocumentLimits& limits)
      : root_(root), limits_(limits), settings_(read_file, limits) {}

  absl::StatusOr<Experiment> Read() {
    HELX_RETURN_IF_ERROR(root_.CheckKeys({"name", "model", "defaults", "runs"}));
    HELX_ASSIGN_OR_RETURN(const YamlNode* name, RequiredMember(root_, "name"));
    HELX_ASSIGN_OR_RETURN(experiment_.name, ReadName(*name));
    HELX_RETURN_IF_ERROR(ReadModels());
    HELX_RETURN_IF_ERROR(ReadRuns());
    if (models_.size() * runs_.size() > limits_.jobs) {
      return root_.Error("too_many_jobs", std::to_string(models_.size()) + " models x " +
                                              std::to_string(runs_.size()) +
                                              " runs; allowed: " + std::to_string(limits_.jobs) +
                                              " jobs in one document");
    }
    for (const ModelPath& model : models_) {
      for (const Settings& run : runs_) HELX_RETURN_IF_ERROR(AddJob(model, run));
    }
    return std::move(experiment_);
  }

  size_t literal_bytes() const { return LiteralBytes(policies_); }

 private:
  absl::Status ReadModels() {
    HELX_ASSIGN_OR_RETURN(model_, RequiredMember(root_, "model"));
    if (model_->kind() != YamlNode::Kind::kSequence) {
      HELX_ASSIGN_OR_RETURN(models_.emplace_back(), ReadModel(*model_));
      return absl::OkStatus();
    }
    if (model_->items().empty()) {
      return model_->Error("empty_list",
                           "found an empty list; allowed: a path, or a list of paths");
    }
    for (const YamlNode* item : model_->items()) {
      HELX_ASSIGN_OR_RETURN(models_.emplace_back(), ReadModel(*item));
    }
    return absl::OkStatus();
  }

  absl::Status ReadRuns() {
    Settings defaults;
    if (const YamlNode* node = root_.Find("defaults")) {
      HELX_RETURN_IF_ERROR(settings_.Apply(*node, false, &defaults));
      if (defaults.tensor_io != nullptr) policies_.push_back(defaults.tensor_io);
    }
    const YamlNode* runs = root_.Find("runs");
    if (runs == nullptr) {
      runs_.push_back(std::move(defaults));
      return absl::OkStatus();
    }
    HELX_RETURN_IF_ERROR(runs->ExpectSequence());
    if (runs->items().empty()) {
      return runs->Error("empty_list", "found an empty list; leave the key out for one run");
    }
    if (runs->items().size() > limits_.jobs) {
      return runs->Error("too_many_jobs", "found " + std::to_string(runs->items().size()) +
                                              " runs; allowed: " + std::to_string(limits_.jobs) +
                                              " jobs in one document");
    }
    int64_t bytes = 0;
    for (const YamlNode* node : runs->items()) {
      HELX_RETURN_IF_ERROR(node->ExpectMapping());
      HELX_ASSIGN_OR_RETURN(const YamlNode* name, RequiredMember(*node, "name"));
      Settings run = defaults;
      HELX_ASSIGN_OR_RETURN(run.job.run, ReadName(*name));
      HELX_RETURN_IF_ERROR(settings_.Apply(*node, true, &run));
      if (run.tensor_io != defaults.tensor_io) policies_.push_back(run.tensor_io);
      if (run.job.tensor_io) bytes += PolicyBytes(*run.job.tensor_io);
      HELX_RETURN_IF_ERROR(CheckAllTensors(*node, bytes));
      runs_.push_back(std::move(run));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAllTensors(const YamlNode& blame, int64_t bytes) const {
    if (bytes <= limits_.all_tensor_bytes) return absl::OkStatus();
    return blame.Error("tensor_bytes_exceeded", "inputs and reference data of all jobs pass " +
                                                    std::to_string(limits_.all_tensor_bytes) +
                                                    " bytes here; split the document");
  }

  absl::Status AddJob(const ModelPath& model, const Settings& run) {
    JobEntry job = run.job;
    job.model_path = model.path;
    job.model_place = model.place;
    job.model_stem = model.stem;
    job.bundle_path = experiment_.name;
    if (!job.run.empty()) job.bundle_path += "/" + job.run;
    if (model_->kind() == YamlNode::Kind::kSequence) job.bundle_path += "/" + model.stem;
    if (!bundle_paths_.insert(job.bundle_path).second) {
      const YamlNode* blame =
          root_.Find("runs") && models_.size() == 1 ? root_.Find("runs") : model_;
      return blame->Error(
          "equal_bundle_paths",
          "two jobs would leave their bundle in results/" + job.bundle_path +
              "; give the runs different names and the models different file names");
    }
    if (const auto problem = CheckAcquisition(job, limits_)) {
      return run.tensor_io->Nearest(problem->path).Error(problem->code, problem->message);
    }
    if (job.tensor_io) total_bytes_ += PolicyBytes(*job.tensor_io);
    HELX_RETURN_IF_ERROR(CheckAllTensors(*model_, total_bytes_));
    experiment_.jobs.push_back(std::move(job));
    return absl::OkStatus();
  }

  const YamlNode& root_;
  const DocumentLimits& limits_;
  SettingsReader settings_;
  const YamlNode* model_ = nullptr;
  std::vector<ModelPath> models_;
  std::vector<Settings> runs_;
  std::vector<const YamlNode*> policies_;
  std::set<std::string> bundle_paths_;
  int64_t total_bytes_ = 0;
  Experiment experiment_;
};

}  // namespace

absl::StatusOr<Experiment> ParseExperiment(std::string_view yaml, const std::string& file_name,
                                           const FileReader& read_file,
                                           const DocumentLimits& limits) {
  YamlLimits yaml_limits;
  yaml_limits.bytes = limits.document_bytes;
  yaml_limits.depth = limits.depth;
  yaml_limits.nodes = limits.nodes;
  HELX_ASSIGN_OR_RETURN(const auto document, ParseYaml(yaml, file_name, yaml_limits));
  ExperimentReader reader(document->root(), read_file, limits);
  HELX_ASSIGN_OR_RETURN(Experiment experiment, reader.Read());
  const size_t plain = yaml.size() - std::min(yaml.size(), reader.literal_bytes());
  if (plain > limits.plain_document_bytes) {
    return document->root().Error("document_too_large",
                                  "the document has " + std::to_string(plain) +
                                      " bytes without its tensor literals; the limit is " +
                                      std::to_string(limits.plain_document_bytes));
  }
  return experiment;
}

}  // namespace helx

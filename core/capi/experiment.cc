// Experiment documents of the C ABI.
#include <filesystem>
#include <map>
#include <memory>

#include "core/base/file.h"
#include "core/base/strict_yaml.h"
#include "core/capi/boundary.h"
#include "core/experiment/document.h"

struct helx_experiment {
  helx::Experiment value;
};

namespace helx::capi {
namespace {

// Calls `visit` with every tensor of a job, in written order.
template <typename Visit>
void ForEachTensor(const JobEntry& job, Visit visit) {
  if (!job.tensor_io) return;
  for (const TensorEntry& tensor : job.tensor_io->inputs) visit(tensor);
  for (const auto& set : job.tensor_io->input_sequence) {
    for (const TensorEntry& tensor : set) visit(tensor);
  }
  for (const ReferenceEntry& reference : job.tensor_io->references) {
    for (const TensorEntry& tensor : reference.tensors) visit(tensor);
  }
}

absl::StatusOr<std::string> DocumentJson(helx_bytes yaml, helx_bytes file_name) {
  HELX_ASSIGN_OR_RETURN(const auto document,
                        ParseYaml(View(yaml), std::string(View(file_name))));
  HELX_ASSIGN_OR_RETURN(const Json value, document->root().ToJson());
  return Compact(value);
}

absl::StatusOr<std::string> Parse(helx_bytes yaml, helx_bytes file_name, helx_bytes folder,
                                  helx_experiment** experiment) {
  if (experiment == nullptr) return InvalidArgument("experiment is NULL");
  *experiment = nullptr;
  const std::filesystem::path base{std::string(View(folder))};
  const DocumentLimits limits;
  const FileReader read_file = [&](const std::string& path) {
    return ReadFile((base / path).string(), static_cast<size_t>(limits.tensor_bytes));
  };
  HELX_ASSIGN_OR_RETURN(Experiment value, ParseExperiment(View(yaml), std::string(View(file_name)),
                                                          read_file, limits));
  *experiment = new helx_experiment{std::move(value)};
  return std::string();
}

Json JobToJson(const JobEntry& job) {
  std::map<std::string, int64_t> tensors;
  ForEachTensor(job, [&](const TensorEntry& tensor) {
    tensors.emplace(tensor.digest.hash, tensor.digest.size_bytes);
  });
  Json list = Json::array();
  for (const auto& [hash, size] : tensors) list.push_back(Json{{"sha256", hash}, {"size", size}});
  return Json{{"bundle_path", job.bundle_path},
              {"captured", job.tensor_io.has_value()},
              {"engine", job.engine},
              {"execute", job.execute},
              {"model_path", job.model_path},
              {"model_stem", job.model_stem},
              {"platform", job.platform},
              {"run", job.run},
              {"samples", job.samples},
              {"state", job.state},
              {"tensors", std::move(list)},
              {"warmup", job.warmup}};
}

absl::StatusOr<std::string> Describe(const helx_experiment* experiment) {
  if (experiment == nullptr) return InvalidArgument("experiment is NULL");
  Json jobs = Json::array();
  for (const JobEntry& job : experiment->value.jobs) jobs.push_back(JobToJson(job));
  return Compact(Json{{"jobs", std::move(jobs)}, {"name", experiment->value.name}});
}

absl::StatusOr<std::string> Save(const helx_experiment* experiment) {
  if (experiment == nullptr) return InvalidArgument("experiment is NULL");
  return SaveExperiment(experiment->value);
}

absl::StatusOr<std::string> Document(const helx_experiment* experiment, size_t job,
                                     helx_bytes model_sha256, int64_t model_size) {
  if (experiment == nullptr) return InvalidArgument("experiment is NULL");
  const size_t count = experiment->value.jobs.size();
  if (job >= count) {
    return NotFound("there is no job " + std::to_string(job) + "; the experiment has " +
                    std::to_string(count));
  }
  const Digest model{std::string(View(model_sha256)), model_size};
  HELX_RETURN_IF_ERROR(Annotate(CheckDigest(model), "model"));
  return CanonicalJson(JobDocument(experiment->value.jobs[job], model));
}

absl::StatusOr<std::string> Tensor(const helx_experiment* experiment, helx_bytes sha256) {
  if (experiment == nullptr) return InvalidArgument("experiment is NULL");
  const std::string_view hash = View(sha256);
  const TensorEntry* found = nullptr;
  for (const JobEntry& job : experiment->value.jobs) {
    ForEachTensor(job, [&](const TensorEntry& tensor) {
      if (tensor.digest.hash == hash) found = &tensor;
    });
  }
  if (found == nullptr) return NotFound("no job names a tensor " + std::string(hash));
  return found->bytes;
}

}  // namespace
}  // namespace helx::capi

extern "C" {

int helx_document_json(helx_bytes yaml, helx_bytes file_name, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::DocumentJson(yaml, file_name); });
}

int helx_experiment_parse(helx_bytes yaml, helx_bytes file_name, helx_bytes folder,
                          helx_experiment** experiment, helx_buffer* out) {
  return helx::capi::Call(
      out, [&] { return helx::capi::Parse(yaml, file_name, folder, experiment); });
}

void helx_experiment_free(helx_experiment* experiment) { delete experiment; }

int helx_experiment_describe(const helx_experiment* experiment, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::Describe(experiment); });
}

int helx_experiment_save(const helx_experiment* experiment, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::Save(experiment); });
}

int helx_experiment_job_document(const helx_experiment* experiment, size_t job,
                                 helx_bytes model_sha256, int64_t model_size, helx_buffer* out) {
  return helx::capi::Call(
      out, [&] { return helx::capi::Document(experiment, job, model_sha256, model_size); });
}

int helx_experiment_tensor(const helx_experiment* experiment, helx_bytes sha256,
                           helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::Tensor(experiment, sha256); });
}

}  // extern "C"

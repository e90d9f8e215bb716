#include "client/cpp/experiment_flow.h"

#include <filesystem>
#include <map>
#include <set>

#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"
#include "client/cpp/reference_files.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace helx::client {
namespace {

namespace fs = std::filesystem;

std::string Beside(const std::string& document, const std::string& path) {
  return (fs::path(document).parent_path() / path).string();
}

// Adds contents once each.
class BlobSet {
 public:
  void Add(BlobContent content) {
    if (seen_.insert(content.digest()).second) contents_.push_back(std::move(content));
  }
  std::vector<BlobContent> Take() { return std::move(contents_); }

 private:
  std::set<Digest> seen_;
  std::vector<BlobContent> contents_;
};

void AddTensors(const std::vector<TensorEntry>& tensors, BlobSet& blobs) {
  for (const TensorEntry& tensor : tensors) blobs.Add(BlobContent::OfBytes(tensor.bytes));
}

void AddTensors(const JobEntry& job, BlobSet& blobs) {
  if (!job.tensor_io) return;
  AddTensors(job.tensor_io->inputs, blobs);
  for (const auto& set : job.tensor_io->input_sequence) AddTensors(set, blobs);
  for (const ReferenceEntry& reference : job.tensor_io->references) {
    AddTensors(reference.tensors, blobs);
  }
}

// The bytes of a tensor file named in the document. Whatever is wrong with it is the document's
// fault.
absl::StatusOr<std::string> ReadTensorFile(const std::string& path, int64_t limit_bytes) {
  auto content = ReadFile(path, static_cast<size_t>(limit_bytes));
  if (content.ok()) return content;
  return InvalidArgument(MessageOf(content.status()) + "; correct the path in the document");
}

absl::Status AddReferences(const std::string& folder, const std::string& document,
                           const DocumentLimits& limits, JobEntry* job) {
  const std::string model_path = Beside(document, job->model_path);
  HELX_ASSIGN_OR_RETURN(const std::string model,
                        ReadFile(model_path, static_cast<size_t>(limits.model_bytes)));
  const auto outputs = ModelOutputs(model);
  if (!outputs.ok()) {
    return InvalidArgument(
        model_path + ": --reference-dir needs the model's outputs: " + MessageOf(outputs.status()));
  }
  const size_t slash = job->bundle_path.find('/');
  std::error_code error;
  std::string own = folder;
  if (slash != std::string::npos) own += job->bundle_path.substr(slash);
  return AddReferenceFiles(fs::is_directory(own, error) ? own : folder, *outputs, limits, job);
}

helx::v1::SubmitJobRequest RequestOf(const PreparedExperiment& experiment, size_t index,
                                     const SubmitOptions& options) {
  const PreparedJob& job = experiment.jobs[index];
  helx::v1::SubmitJobRequest request;
  ApplyOptions(options, request);
  if (!options.request_id.empty() && experiment.jobs.size() > 1) {
    request.set_request_id(options.request_id + "-" + std::to_string(index + 1));
  }
  request.set_name(experiment.name);
  request.set_run(job.entry.run);
  request.set_model_stem(job.entry.model_stem);
  request.set_document(job.document);
  return request;
}

// Submits one job whose blobs were uploaded; those that vanished since go once more.
absl::StatusOr<helx::v1::Job> SubmitUploaded(const std::shared_ptr<Connection>& connection,
                                             const helx::v1::SubmitJobRequest& request,
                                             const std::vector<BlobContent>& blobs,
                                             const ByteProgress& progress, std::stop_token stop) {
  JobClient jobs(connection);
  auto job = jobs.Submit(request, stop);
  if (job.ok() || job.status().code() != absl::StatusCode::kFailedPrecondition) return job;
  HELX_RETURN_IF_ERROR(BlobClient(connection).UploadMissing(blobs, progress, stop));
  return jobs.Submit(request, stop);
}

}  // namespace

absl::StatusOr<PreparedExperiment> PrepareExperiment(const std::string& path,
                                                     const DocumentLimits& limits,
                                                     const std::string& reference_folder) {
  const auto yaml = ReadFile(path, limits.document_bytes);
  if (!yaml.ok()) {
    return InvalidArgument(MessageOf(yaml.status()) +
                           "; give the path of an experiment file (experiment.yaml)");
  }
  HELX_ASSIGN_OR_RETURN(Experiment experiment, ParseExperiment(
                                                   *yaml, path,
                                                   [&](const std::string& file) {
                                                     return ReadTensorFile(Beside(path, file),
                                                                           limits.tensor_bytes);
                                                   },
                                                   limits));
  PreparedExperiment prepared;
  prepared.name = experiment.name;
  BlobSet blobs;
  std::map<std::string, Digest> models;
  for (JobEntry& job : experiment.jobs) {
    if (!models.contains(job.model_path)) {
      auto model = BlobContent::OfFile(Beside(path, job.model_path), limits.model_bytes);
      if (!model.ok()) {
        return WithErrorCode(
            InvalidArgument(job.model_place.text + ": " + MessageOf(model.status()) +
                            "; correct the path (it is taken from the document's folder) "
                            "[model_unreadable]"),
            "model_unreadable");
      }
      models[job.model_path] = model->digest();
      blobs.Add(*std::move(model));
    }
    if (!reference_folder.empty()) {
      HELX_RETURN_IF_ERROR(AddReferences(reference_folder, path, limits, &job));
    }
    AddTensors(job, blobs);
    auto document = CanonicalJson(JobDocument(job, models[job.model_path]));
    if (!document.ok()) return Annotate(document.status(), path);
    prepared.jobs.push_back({job, *std::move(document)});
  }
  prepared.blobs = blobs.Take();
  return prepared;
}

void ApplyOptions(const SubmitOptions& options, helx::v1::SubmitJobRequest& request) {
  request.set_kind(options.kind);
  request.set_request_id(options.request_id);
  request.set_no_cache(options.no_cache);
  request.set_priority(options.priority);
  request.set_queue_limit_ms(options.queue_limit_ms);
  request.set_run_limit_ms(options.run_limit_ms);
  request.set_selector(options.selector);
}

absl::StatusOr<helx::v1::Job> SubmitJob(const std::shared_ptr<Connection>& connection,
                                        const helx::v1::SubmitJobRequest& request,
                                        const std::vector<BlobContent>& blobs,
                                        const ByteProgress& progress, std::stop_token stop) {
  HELX_RETURN_IF_ERROR(BlobClient(connection).UploadMissing(blobs, progress, stop));
  return SubmitUploaded(connection, request, blobs, progress, stop);
}

absl::StatusOr<std::vector<helx::v1::Job>> SubmitExperiment(
    const std::shared_ptr<Connection>& connection, const PreparedExperiment& experiment,
    const SubmitOptions& options, const ByteProgress& progress, std::stop_token stop,
    std::vector<helx::v1::Job>* submitted) {
  HELX_RETURN_IF_ERROR(BlobClient(connection).UploadMissing(experiment.blobs, progress, stop));
  std::vector<helx::v1::Job> accepted;
  for (size_t i = 0; i < experiment.jobs.size(); ++i) {
    auto job = SubmitUploaded(connection, RequestOf(experiment, i, options), experiment.blobs,
                              progress, stop);
    if (!job.ok()) return job.status();
    accepted.push_back(*job);
    if (submitted != nullptr) submitted->push_back(*job);
  }
  return accepted;
}

}  // namespace helx::client

#include "worker/agent/executor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/file.h"
#include "core/bundle/manifest.h"
#include "core/experiment/document.h"
#include "core/experiment/frozen_request.h"
#include "proto/blob_transfer.h"
#include "worker/agent/blob_cache.h"

namespace helx::agent {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlobCacheBytes = int64_t{512} << 20;
constexpr int64_t kObjectCacheBytes = int64_t{256} << 20;
constexpr size_t kParallelUploads = 8;
constexpr size_t kMessageBytes = 1024;  // a Failure's message; longer text is in the log

// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Make(const std::string& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string path = parent + "/action.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError("cannot create a folder in " + parent);
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

v1::Fault FaultFromName(std::string_view name) {
  if (name == "USER") return v1::USER;
  if (name == "INFRA") return v1::INFRA;
  if (name == "DEVICE") return v1::DEVICE;
  return v1::BUG;
}

v1::JobPhase PhaseFromName(std::string_view name) {
  v1::JobPhase phase = v1::JOB_PHASE_UNSPECIFIED;
  v1::JobPhase_Parse(std::string(name), &phase);
  return phase;
}

v1::Failure MakeFailure(v1::Fault fault, std::string_view code, std::string_view message) {
  v1::Failure failure;
  failure.set_fault(fault);
  failure.set_code(std::string(code));
  failure.set_message(std::string(message.substr(0, kMessageBytes)));
  return failure;
}

// The outcome record of a failed action. The child is not trusted: whatever is malformed is HELX's
// own fault.
v1::Failure FailureFromOutcome(const Json& outcome) {
  const auto text = [&](const Json& object, const char* name) {
    const auto value = JsonString(object, name, "outcome");
    return value.ok() ? *value : std::string();
  };
  v1::Failure failure = MakeFailure(FaultFromName(text(outcome, "fault")), text(outcome, "code"),
                                    text(outcome, "message"));
  const auto violations = outcome.find("violations");
  if (violations == outcome.end() || !violations->is_array()) return failure;
  for (const Json& item : *violations) {
    if (failure.violations_size() == 64) break;
    v1::Violation* violation = failure.add_violations();
    violation->set_code(text(item, "code"));
    violation->set_subject(text(item, "subject"));
    violation->set_message(text(item, "message").substr(0, kMessageBytes));
  }
  return failure;
}

// Which objects of a build can be used again: everything but the tensor request.
absl::StatusOr<std::string> ObjectKey(const FrozenRequest& request) {
  HELX_ASSIGN_OR_RETURN(const std::string text,
                        CanonicalJson(Json{{"model", request.model.hash},
                                           {"engine", ToolToJson(request.engine)},
                                           {"toolchain", ToolToJson(request.toolchain)},
                                           {"platform", request.platform},
                                           {"probe", request.probe}}));
  return DigestOf(text).hash;
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return absl::UnavailableError("cannot create " + path + ": " + error.message());
  return absl::OkStatus();
}

}  // namespace

class Executor::Impl {
 public:
  Impl(std::shared_ptr<grpc::Channel> channel, HostPaths paths, std::string state_folder,
       Catalogue catalogue, const KernelArchives* kernels)
      : channel_(std::move(channel)),
        paths_(std::move(paths)),
        state_folder_(std::move(state_folder)),
        catalogue_(std::move(catalogue)),
        kernels_(kernels),
        blobs_(state_folder_ + "/blobs", kBlobCacheBytes),
        objects_(state_folder_ + "/objects", kObjectCacheBytes) {}

  v1::CompleteRequest Execute(const v1::ExecuteAction& action, const ExecutorCallbacks& callbacks) {
    v1::CompleteRequest completion;
    const absl::Status status = TryExecute(action, callbacks, &completion);
    if (absl::IsCancelled(status)) {
      completion.set_cancelled(true);
    } else if (!status.ok()) {
      // What failed here is the host or the way to the server, so another attempt may do better.
      const bool lost_blob = absl::IsNotFound(status) || absl::IsDataLoss(status);
      *completion.mutable_failure() = MakeFailure(
          v1::INFRA, lost_blob ? "blob_unavailable" : "worker_failure", MessageOf(status));
    }
    return completion;
  }

 private:
  absl::Status TryExecute(const v1::ExecuteAction& action, const ExecutorCallbacks& callbacks,
                          v1::CompleteRequest* completion) {
    rpc::BlobTransfer transfer(channel_, action.instance(), true);
    HELX_ASSIGN_OR_RETURN(const TemporaryFolder input,
                          TemporaryFolder::Make(state_folder_ + "/tmp"));
    ActionSpec spec;
    spec.kind = action.kind() == v1::ACTION_KIND_FREEZE  ? "freeze"
                : action.kind() == v1::ACTION_KIND_BUILD ? "build"
                                                         : "run";
    spec.input_folder = input.path();
    spec.limit = std::chrono::seconds(action.run_limit().seconds()) +
                 std::chrono::milliseconds(action.run_limit().nanos() / 1'000'000);
    if (spec.limit.count() <= 0) spec.limit = std::chrono::minutes(10);
    spec.cancelled = callbacks.cancelled;
    spec.on_log = callbacks.on_log;
    spec.on_phase = [&](std::string_view name) {
      const v1::JobPhase phase = PhaseFromName(name);
      if (phase != v1::JOB_PHASE_UNSPECIFIED) callbacks.on_phase(phase);
    };
    HELX_RETURN_IF_ERROR(LayOut(action, &transfer, &spec));
    HELX_ASSIGN_OR_RETURN(const ActionResult result, RunActionProcess(paths_, spec));
    switch (result.end) {
      case ActionResult::End::kCancelled:
        completion->set_cancelled(true);
        return absl::OkStatus();
      case ActionResult::End::kTimedOut:
        *completion->mutable_timed_out() =
            MakeFailure(v1::USER, "run_limit",
                        "the " + spec.kind + " action did not end within its limit of " +
                            std::to_string(spec.limit.count() / 1000) + " s and was killed");
        return absl::OkStatus();
      case ActionResult::End::kBroken:
        *completion->mutable_failure() =
            MakeFailure(v1::BUG, "action_broken", result.broken_reason);
        return absl::OkStatus();
      case ActionResult::End::kFinished:
        break;
    }
    const auto ok = JsonBool(result.outcome, "ok", "outcome");
    if (!ok.ok() || !*ok) {
      *completion->mutable_failure() = FailureFromOutcome(result.outcome);
      return absl::OkStatus();
    }
    return action.kind() == v1::ACTION_KIND_FREEZE
               ? PublishFreeze(result, callbacks.cancelled, &transfer, completion)
               : PublishBundle(action, result, callbacks.cancelled, &transfer, completion);
  }

  // Writes the action's input folder (see action.h), and finds a build's kernels.
  absl::Status LayOut(const v1::ExecuteAction& action, rpc::BlobTransfer* transfer,
                      ActionSpec* spec) {
    const std::string& folder = spec->input_folder;
    HELX_RETURN_IF_ERROR(MakeFolder(folder + "/blobs"));
    HELX_ASSIGN_OR_RETURN(const Json catalogue, ParseJson(CatalogueToJson(catalogue_)));
    const bool of_bundle = action.kind() == v1::ACTION_KIND_FREEZE && action.has_build_bundle();
    HELX_ASSIGN_OR_RETURN(const std::string text,
                          CanonicalJson(Json{{"kind", of_bundle ? "freeze_bundle" : spec->kind},
                                             {"catalogue", catalogue}}));
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/action.json", text));
    if (of_bundle) return FetchBundle(action, folder, spec->cancelled, transfer);
    if (action.kind() == v1::ACTION_KIND_FREEZE) {
      HELX_RETURN_IF_ERROR(WriteFile(folder + "/document.json", action.document()));
      // A document that does not parse names no blobs; the action itself refuses it.
      const auto blobs = DocumentBlobs(action.document());
      return blobs.ok() ? FetchAll(*blobs, folder + "/blobs/", spec->cancelled, transfer)
                        : absl::OkStatus();
    }
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/request.json", action.frozen_request()));
    HELX_ASSIGN_OR_RETURN(const FrozenRequest request,
                          FrozenRequest::Parse(action.frozen_request()));
    std::vector<Digest> blobs = TensorBlobs(request);
    if (action.kind() == v1::ACTION_KIND_BUILD) {
      HELX_ASSIGN_OR_RETURN(spec->kernels_folder, kernels_->Prepare(request.platform));
      blobs.push_back(request.model);
      HELX_RETURN_IF_ERROR(MakeFolder(folder + "/objects"));
      if (!action.no_cache()) HELX_RETURN_IF_ERROR(LinkObjects(request, folder));
    } else {
      HELX_RETURN_IF_ERROR(FetchBundle(action, folder, spec->cancelled, transfer));
    }
    return FetchAll(blobs, folder + "/blobs/", spec->cancelled, transfer);
  }

  static std::vector<Digest> TensorBlobs(const FrozenRequest& request) {
    std::set<Digest> blobs;
    if (request.tensors.explicit_inputs) {
      for (const auto& set : request.tensors.input_sets) {
        for (const BoundTensor& tensor : set) blobs.insert(tensor.digest);
      }
    }
    for (const BoundReference& reference : request.tensors.references) {
      for (const BoundTensor& tensor : reference.tensors) blobs.insert(tensor.digest);
    }
    return {blobs.begin(), blobs.end()};
  }

  // Between two transfers, each of which is bounded: a cancelled action does not go on moving bytes.
  static absl::Status CheckWanted(const std::function<bool()>& cancelled) {
    return cancelled && cancelled() ? absl::CancelledError("the action was cancelled")
                                    : absl::OkStatus();
  }

  absl::Status Fetch(const Digest& digest, const std::string& path, rpc::BlobTransfer* transfer) {
    if (blobs_.LinkTo(digest, path)) return absl::OkStatus();
    HELX_ASSIGN_OR_RETURN(const std::string bytes, transfer->Download(digest));
    blobs_.Put(digest, bytes);
    return WriteFile(path, bytes);
  }

  absl::Status FetchAll(const std::vector<Digest>& digests, const std::string& prefix,
                        const std::function<bool()>& cancelled, rpc::BlobTransfer* transfer) {
    for (const Digest& digest : digests) {
      HELX_RETURN_IF_ERROR(CheckWanted(cancelled));
      HELX_RETURN_IF_ERROR(Fetch(digest, prefix + digest.hash, transfer));
    }
    return absl::OkStatus();
  }

  // A whole bundle, below bundle/.
  absl::Status FetchBundle(const v1::ExecuteAction& action, const std::string& folder,
                           const std::function<bool()>& cancelled, rpc::BlobTransfer* transfer) {
    HELX_ASSIGN_OR_RETURN(const Digest digest, rpc::FromProto(action.build_bundle()));
    HELX_ASSIGN_OR_RETURN(const std::string text, transfer->Download(digest, int64_t{8} << 20));
    HELX_ASSIGN_OR_RETURN(const Manifest manifest, Manifest::Parse(text));
    HELX_RETURN_IF_ERROR(MakeFolder(folder + "/bundle"));
    for (const Artifact& artifact : manifest.artifacts) {
      HELX_RETURN_IF_ERROR(CheckWanted(cancelled));
      const std::string path = folder + "/bundle/" + artifact.path;
      HELX_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path().string()));
      HELX_RETURN_IF_ERROR(Fetch(artifact.digest, path, transfer));
    }
    return WriteFile(folder + "/bundle/manifest.json", text);
  }

  // Objects of the same model from an earlier build: an index file names them by digest.
  absl::Status LinkObjects(const FrozenRequest& request, const std::string& folder) {
    HELX_ASSIGN_OR_RETURN(const std::string key, ObjectKey(request));
    const auto index = ReadFile(ObjectIndex(key), 1 << 20);
    if (!index.ok()) return absl::OkStatus();
    const auto entries = ParseJson(*index);
    if (!entries.ok() || !entries->is_object()) return absl::OkStatus();
    for (const auto& [name, value] : entries->items()) {
      const auto digest = value.is_string() ? ParseDigest(value.get<std::string>())
                                            : absl::StatusOr<Digest>(InvalidArgument("not text"));
      // One missing object makes the others useless: the action compiles anew.
      if (!digest.ok() || !CheckBundlePath(name).ok() ||
          !objects_.LinkTo(*digest, folder + "/objects/" + name)) {
        std::error_code ignored;
        fs::remove_all(folder + "/objects", ignored);
        return MakeFolder(folder + "/objects");
      }
    }
    return absl::OkStatus();
  }

  void KeepObjects(const FrozenRequest& request, const ActionResult& result) {
    if (result.cache.empty()) return;
    const auto key = ObjectKey(request);
    if (!key.ok()) return;
    Json index = Json::object();
    for (const auto& [name, content] : result.cache) {
      const Digest digest = DigestOf(content);
      objects_.Put(digest, content);
      index[name] = digest.ToString();
    }
    const auto text = CanonicalJson(index);
    if (text.ok() && !WriteFile(ObjectIndex(*key), *text).ok()) {
      spdlog::debug("the object cache could not be written");
    }
  }

  std::string ObjectIndex(const std::string& key) const {
    return state_folder_ + "/objects/" + key + ".json";
  }

  absl::Status UploadMissing(const std::map<Digest, const std::string*>& contents,
                             const std::function<bool()>& cancelled,
                             rpc::BlobTransfer* transfer) {
    std::vector<Digest> digests;
    for (const auto& [digest, content] : contents) digests.push_back(digest);
    HELX_ASSIGN_OR_RETURN(const std::vector<Digest> missing, transfer->FindMissing(digests));
    // Each upload waits for the store's disk: several at a time share that wait.
    std::atomic<size_t> next{0};
    std::mutex mutex;
    absl::Status first;
    const auto work = [&] {
      for (size_t i = next++; i < missing.size(); i = next++) {
        const auto content = contents.find(missing[i]);
        absl::Status status = CheckWanted(cancelled);
        if (status.ok()) {
          status = content == contents.end() ? Internal("the server asked for an unknown blob")
                                             : transfer->Upload(missing[i], *content->second);
        }
        std::lock_guard lock(mutex);
        if (first.ok()) first = status;
      }
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < std::min(missing.size(), kParallelUploads); ++i)
      threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return first;
  }

  absl::Status PublishFreeze(const ActionResult& result, const std::function<bool()>& cancelled,
                             rpc::BlobTransfer* transfer, v1::CompleteRequest* completion) {
    const auto file = result.files.find("request.json");
    if (file == result.files.end()) return Internal("the freeze action left no request");
    // Parsed and keyed here too: the child is not trusted to name keys that other jobs share.
    HELX_ASSIGN_OR_RETURN(const FrozenRequest request, FrozenRequest::Parse(file->second));
    HELX_ASSIGN_OR_RETURN(const std::string canonical, request.Canonical());
    if (canonical != file->second) return Internal("the frozen request is not canonical");
    const Digest digest = DigestOf(file->second);
    HELX_RETURN_IF_ERROR(UploadMissing({{digest, &file->second}}, cancelled, transfer));
    v1::ActionOutput* output = completion->mutable_output();
    *output->mutable_frozen_request() = rpc::ToProto(digest);
    HELX_ASSIGN_OR_RETURN(*output->mutable_build_key(), request.BuildBundleKey());
    if (request.execute) {
      HELX_ASSIGN_OR_RETURN(*output->mutable_run_key(), request.RunKey());
    }
    output->set_platform(request.platform);
    output->set_engine(request.engine.name);
    output->set_executor(request.target.name);
    output->set_executor_version(request.target.version + " (" + request.target.detail + ")");
    if (result.outcome.contains("executed")) {
      HELX_ASSIGN_OR_RETURN(const bool executed, JsonBool(result.outcome, "executed", "outcome"));
      output->set_executed(executed);
    }
    *output->add_blobs() = rpc::ToProto(digest);
    return absl::OkStatus();
  }

  absl::Status PublishBundle(const v1::ExecuteAction& action, const ActionResult& result,
                             const std::function<bool()>& cancelled, rpc::BlobTransfer* transfer,
                             v1::CompleteRequest* completion) {
    const auto file = result.files.find("manifest.json");
    if (file == result.files.end()) return Internal("the action left no manifest");
    HELX_ASSIGN_OR_RETURN(const Manifest manifest, Manifest::Parse(file->second));
    std::map<Digest, const std::string*> contents;
    const Digest bundle = DigestOf(file->second);
    contents[bundle] = &file->second;
    for (const Artifact& artifact : manifest.artifacts) {
      const auto content = result.files.find(artifact.path);
      if (content == result.files.end()) return Internal("the manifest names a missing file");
      const Digest digest = DigestOf(content->second);
      if (digest != artifact.digest) return Internal("the manifest disagrees with its files");
      contents[digest] = &content->second;
    }
    HELX_RETURN_IF_ERROR(UploadMissing(contents, cancelled, transfer));
    v1::ActionOutput* output = completion->mutable_output();
    *output->mutable_bundle() = rpc::ToProto(bundle);
    HELX_ASSIGN_OR_RETURN(*output->mutable_content_digest(), manifest.ContentDigest());
    for (const auto& [digest, content] : contents) *output->add_blobs() = rpc::ToProto(digest);
    if (action.kind() == v1::ACTION_KIND_BUILD) {
      // The run action that follows on this host needs the same files.
      for (const auto& [digest, content] : contents) blobs_.Put(digest, *content);
      HELX_ASSIGN_OR_RETURN(const FrozenRequest request,
                            FrozenRequest::Parse(action.frozen_request()));
      KeepObjects(request, result);
      return absl::OkStatus();
    }
    const auto assessment = JsonString(result.outcome, "assessment", "outcome");
    output->set_assessment(assessment.ok() && *assessment == "match"      ? v1::MATCH
                           : assessment.ok() && *assessment == "mismatch" ? v1::MISMATCH
                                                                          : v1::NOT_COMPARED);
    return absl::OkStatus();
  }

  std::shared_ptr<grpc::Channel> channel_;
  const HostPaths paths_;
  const std::string state_folder_;
  const Catalogue catalogue_;
  const KernelArchives* kernels_;
  BlobCache blobs_;
  BlobCache objects_;
};

Executor::Executor(std::shared_ptr<grpc::Channel> channel, HostPaths paths,
                   std::string state_folder, Catalogue catalogue,
                   const KernelArchives* kernels)
    : impl_(std::make_unique<Impl>(std::move(channel), std::move(paths), std::move(state_folder),
                                   std::move(catalogue), kernels)) {}
Executor::~Executor() = default;

v1::CompleteRequest Executor::Execute(const v1::ExecuteAction& action,
                                      const ExecutorCallbacks& callbacks) {
  return impl_->Execute(action, callbacks);
}

}  // namespace helx::agent

#include "server/maintenance/checker.h"

#include <set>
#include <string>
#include <vector>

#include "core/bundle/manifest.h"
#include "server/maintenance/rows.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr int kCountTries = 5;

class Checker {
 public:
  Checker(const Store& store, const BlobStore& blobs, Operation* operation)
      : store_(store), blobs_(blobs), operation_(operation) {}

  absl::Status Run() {
    std::set<std::string> instances;
    for (const auto& [instance, usage] : store_.Usage()) instances.insert(instance);
    for (const std::string& instance : instances) {
      HELX_RETURN_IF_ERROR(CheckJobs(instance));
      HELX_RETURN_IF_ERROR(CheckIndices(instance));
      HELX_RETURN_IF_ERROR(CheckCounts(instance));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckJobs(const std::string& instance) {
    const std::string prefix = JobPrefix(instance);
    return ForEachRow(
        store_, Family::kJobs, prefix, false,
        [&](const std::string& key, const std::string& value) -> absl::Status {
          HELX_RETURN_IF_ERROR(operation_->Continue());
          const std::string name = instance + ": jobs/" + key.substr(prefix.size());
          records::JobRecord record;
          if (!record.ParseFromString(value)) {
            operation_->Problem(name + ": its row is damaged");
            return absl::OkStatus();
          }
          operation_->Update([](v1::StoreOperation& state) { state.set_jobs(state.jobs() + 1); });
          if (record.job().has_bundle()) {
            return CheckBundle(instance, name, FromProto(record.job().bundle()));
          }
          const bool terminal = IsTerminal(record.job().phase());
          if (record.job().phase() == v1::SUCCEEDED) {
            operation_->Problem(name + " succeeded and has no bundle");
          }
          HELX_ASSIGN_OR_RETURN(
              const bool indexed,
              store_.Has(Family::kIndexLive, InstanceKey(instance, key.substr(prefix.size()))));
          if (!terminal && !indexed) return Recheck(instance, key, name);
          return absl::OkStatus();
        });
  }

  // The job may have ended since its row was read.
  absl::Status Recheck(const std::string& instance, const std::string& key,
                       const std::string& name) {
    const auto row = store_.Get(Family::kJobs, key);
    if (absl::IsNotFound(row.status())) return absl::OkStatus();
    HELX_RETURN_IF_ERROR(row.status());
    records::JobRecord record;
    HELX_ASSIGN_OR_RETURN(
        const bool indexed,
        store_.Has(Family::kIndexLive,
                   InstanceKey(instance, key.substr(JobPrefix(instance).size()))));
    if (record.ParseFromString(*row) && !IsTerminal(record.job().phase()) && !indexed) {
      operation_->Problem(name + " is not ended and not among the live jobs");
    }
    return absl::OkStatus();
  }

  absl::Status CheckBundle(const std::string& instance, const std::string& name,
                           const Digest& bundle) {
    if (!checked_.insert({instance, bundle}).second) return absl::OkStatus();
    const auto text = blobs_.Read(instance, bundle, kManifestBytes);
    if (absl::IsNotFound(text.status())) return Missing(name, "its bundle", bundle);
    if (absl::IsDataLoss(text.status())) {
      operation_->Problem(name + ": " + MessageOf(text.status()));
      return absl::OkStatus();
    }
    HELX_RETURN_IF_ERROR(text.status());
    const auto manifest = Manifest::Parse(*text);
    if (!manifest.ok()) {
      operation_->Problem(name + ": its bundle is not one: " + MessageOf(manifest.status()));
      return absl::OkStatus();
    }
    for (const Artifact& artifact : manifest->artifacts) {
      HELX_ASSIGN_OR_RETURN(const bool stored, blobs_.IsStored(instance, artifact.digest));
      if (!stored) HELX_RETURN_IF_ERROR(Missing(name, artifact.path, artifact.digest));
    }
    return absl::OkStatus();
  }

  absl::Status Missing(const std::string& name, const std::string& what, const Digest& digest) {
    operation_->Problem(name + ": " + what + " (" + digest.ToString() + ") is not stored");
    operation_->Update(
        [](v1::StoreOperation& state) { state.set_missing_blobs(state.missing_blobs() + 1); });
    return absl::OkStatus();
  }

  absl::Status CheckIndices(const std::string& instance) {
    for (const auto& [family, title] :
         {std::pair(Family::kIndexLive, "live jobs"), std::pair(Family::kIndexNames, "names"),
          std::pair(Family::kIndexResults, "results"), std::pair(Family::kIndexLatest, "latest")}) {
      HELX_RETURN_IF_ERROR(
          ForEachRow(store_, family, InstanceKey(instance, ""), false,
                     [&, family = family, title = title](const std::string& key,
                                                         const std::string&) -> absl::Status {
                       const std::string job = JobKey(instance, LastPart(key));
                       HELX_ASSIGN_OR_RETURN(const bool stored, store_.Has(Family::kJobs, job));
                       if (stored) return absl::OkStatus();
                       // Ended with the job, perhaps, since the page was read.
                       HELX_ASSIGN_OR_RETURN(const bool still, store_.Has(family, key));
                       if (still) {
                         operation_->Problem(instance + ": the index of " + title + " names jobs/" +
                                             std::string(LastPart(key)) + ", which is not there");
                       }
                       return absl::OkStatus();
                     }));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCounts(const std::string& instance) {
    BlobUsage counted, noted;
    for (int i = 0; i < kCountTries; ++i) {
      noted = store_.UsageOf(instance);
      counted = {};
      HELX_RETURN_IF_ERROR(
          ForEachBlob(blobs_, instance, [&](const BlobStore::Entry& entry) -> absl::Status {
            ++counted.blobs;
            counted.bytes += entry.digest.size_bytes;
            return operation_->Continue();
          }));
      if (counted == noted) break;
    }
    operation_->Update([&](v1::StoreOperation& state) {
      state.set_blobs(state.blobs() + counted.blobs);
      state.set_bytes(state.bytes() + counted.bytes);
    });
    if (counted == noted) return absl::OkStatus();
    operation_->Problem(instance + ": " + std::to_string(counted.blobs) + " blobs of " +
                        std::to_string(counted.bytes) + " bytes are stored, " +
                        std::to_string(noted.blobs) + " of " + std::to_string(noted.bytes) +
                        " are counted");
    return absl::OkStatus();
  }

  const Store& store_;
  const BlobStore& blobs_;
  Operation* const operation_;
  std::set<std::pair<std::string, Digest>> checked_;
};

}  // namespace

absl::Status CheckStore(const Store& store, const BlobStore& blobs, Operation* operation) {
  return Checker(store, blobs, operation).Run();
}

}  // namespace helx::server

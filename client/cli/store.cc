// The care of the store: store status|check|scrub|gc|backup|pin|unpin|pins.
#include <functional>

#include "client/cli/bundle_locator.h"
#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/store_client.h"

namespace helx::cli {
namespace {

using client::StoreClient;
using helx::v1::StoreOperation;

// "collect" from STORE_COLLECT.
std::string KindName(helx::v1::StoreOperationKind kind) {
  switch (kind) {
    case helx::v1::STORE_CHECK:
      return "check";
    case helx::v1::STORE_SCRUB:
      return "scrub";
    case helx::v1::STORE_COLLECT:
      return "gc";
    case helx::v1::STORE_BACKUP:
      return "backup";
    default:
      return "unknown";
  }
}

Json OperationToJson(const StoreOperation& operation) {
  Json problems = Json::array();
  for (const std::string& problem : operation.problems()) problems.push_back(Utf8(problem));
  Json out = {
      {"operation", KindName(operation.kind())},
      {"start_time", TimeText(operation.start_time())},
      {"end_time", operation.has_end_time() ? Json(TimeText(operation.end_time())) : Json()},
      {"jobs", operation.jobs()},
      {"blobs", operation.blobs()},
      {"bytes", operation.bytes()},
      {"problems", std::move(problems)},
      {"problem_count", operation.problem_count()}};
  if (operation.kind() == helx::v1::STORE_COLLECT) {
    out["removed_jobs"] = operation.removed_jobs();
    out["removed_blobs"] = operation.removed_blobs();
    out["removed_bytes"] = operation.removed_bytes();
    out["dry_run"] = operation.dry_run();
  }
  if (operation.kind() == helx::v1::STORE_SCRUB) out["damaged_blobs"] = operation.damaged_blobs();
  if (operation.kind() == helx::v1::STORE_CHECK) out["missing_blobs"] = operation.missing_blobs();
  if (operation.kind() == helx::v1::STORE_BACKUP) {
    out["backup"] = operation.backup();
    out["folder"] = Utf8(operation.backup_folder());
  }
  return out;
}

std::string OperationText(const StoreOperation& operation) {
  std::string text = KindName(operation.kind()) + ": " + Grouped(operation.jobs()) + " jobs, " +
                     Grouped(operation.blobs()) + " blobs (" + Bytes(operation.bytes()) + ")";
  if (operation.kind() == helx::v1::STORE_BACKUP) {
    text = "backup " + std::to_string(operation.backup()) + " in " +
           Printable(operation.backup_folder());
  }
  if (operation.kind() == helx::v1::STORE_COLLECT) {
    text += std::string(operation.dry_run() ? ", would remove " : ", removed ") +
            Grouped(operation.removed_jobs()) + " jobs and " + Grouped(operation.removed_blobs()) +
            " blobs (" + Bytes(operation.removed_bytes()) + ")";
  } else if (operation.kind() != helx::v1::STORE_BACKUP) {
    text += ", " + Counted(operation.problem_count(), "problem");
  }
  return text;
}

// check, scrub, gc, backup: what they differ in is what is called.
class OperationVerb : public Command {
 public:
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    StoreClient store(connection);
    HELX_ASSIGN_OR_RETURN(
        const StoreOperation operation,
        Start(
            store,
            [&](const StoreOperation& state) { invocation.progress.Step(OperationText(state)); },
            invocation.stop));
    invocation.progress.Clear();
    if (invocation.json) {
      invocation.PrintJson(OperationToJson(operation));
    } else {
      invocation.out << OperationText(operation) << std::endl;
      for (const std::string& problem : operation.problems()) {
        invocation.out << "  " << Printable(problem) << std::endl;
      }
    }
    return operation.problem_count() > 0 ? kMissingData : kOk;
  }

 protected:
  virtual absl::StatusOr<StoreOperation> Start(StoreClient& store,
                                               const StoreClient::OnProgress& on_progress,
                                               std::stop_token stop) = 0;
};

class StoreCheck : public OperationVerb {
 public:
  std::string_view Name() const override { return "store check"; }
  std::string_view Summary() const override {
    return "Whether the store's rows agree and what they refer to is there";
  }
  void Configure(Options&) override {}

 private:
  absl::StatusOr<StoreOperation> Start(StoreClient& store,
                                       const StoreClient::OnProgress& on_progress,
                                       std::stop_token stop) override {
    return store.Check(on_progress, stop);
  }
};

class StoreScrub : public OperationVerb {
 public:
  std::string_view Name() const override { return "store scrub"; }
  std::string_view Summary() const override {
    return "Read every blob and compare its digest; damaged ones go to quarantine";
  }
  void Configure(Options& options) override {
    options.Integer("--bytes-per-second", rate_, 0, int64_t{1} << 40,
                    "How fast (default 0: as fast as it goes)");
  }

 private:
  absl::StatusOr<StoreOperation> Start(StoreClient& store,
                                       const StoreClient::OnProgress& on_progress,
                                       std::stop_token stop) override {
    helx::v1::ScrubStoreRequest request;
    request.set_bytes_per_second(rate_);
    return store.Scrub(request, on_progress, stop);
  }
  int64_t rate_ = 0;
};

class StoreGc : public OperationVerb {
 public:
  std::string_view Name() const override { return "store gc"; }
  std::string_view Summary() const override {
    return "Forget jobs that the retention policy does not keep, then remove unused blobs";
  }
  void Configure(Options& options) override {
    options.Flag("--dry-run", dry_run_, "Only say what would go");
    options.Flag("--rewrite", rewrite_, "Rewrite every blob file, to get all space back at once");
  }

 private:
  absl::StatusOr<StoreOperation> Start(StoreClient& store,
                                       const StoreClient::OnProgress& on_progress,
                                       std::stop_token stop) override {
    helx::v1::CollectGarbageRequest request;
    request.set_dry_run(dry_run_);
    request.set_rewrite(rewrite_);
    return store.CollectGarbage(request, on_progress, stop);
  }
  bool dry_run_ = false;
  bool rewrite_ = false;
};

class StoreBackup : public OperationVerb {
 public:
  std::string_view Name() const override { return "store backup"; }
  std::string_view Summary() const override {
    return "Write a backup into the server's --backup-dir; 'helxd --restore' reads it";
  }
  void Configure(Options&) override {}

 private:
  absl::StatusOr<StoreOperation> Start(StoreClient& store,
                                       const StoreClient::OnProgress& on_progress,
                                       std::stop_token stop) override {
    return store.Backup(on_progress, stop);
  }
};

class StoreCancel : public Command {
 public:
  std::string_view Name() const override { return "store cancel"; }
  std::string_view Summary() const override {
    return "End the operation on the store that is under way";
  }
  void Configure(Options&) override {}
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(const StoreOperation operation,
                          StoreClient(connection).CancelOperation(invocation.stop));
    if (invocation.json) {
      invocation.PrintJson(OperationToJson(operation));
    } else {
      invocation.out << "ending " << OperationText(operation) << std::endl;
    }
    return kOk;
  }
};

class StoreStatus : public Command {
 public:
  std::string_view Name() const override { return "store status"; }
  std::string_view Summary() const override {
    return "What your instance takes, its quota, the retention policy, what is under way";
  }
  void Configure(Options&) override {}
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(const auto status, StoreClient(connection).GetStatus(invocation.stop));
    const auto& policy = status.policy();
    if (invocation.json) {
      Json operations = Json::array();
      for (const auto& operation : status.operations()) {
        operations.push_back(OperationToJson(operation));
      }
      invocation.PrintJson({{"blobs", status.blobs()},
                            {"bytes", status.bytes()},
                            {"quota_bytes", status.quota_bytes()},
                            {"policy",
                             {{"max_age_seconds", policy.max_age_seconds()},
                              {"max_bytes", policy.max_bytes()},
                              {"keep_last", policy.keep_last()},
                              {"unused_keep_seconds", policy.unused_keep_seconds()}}},
                            {"schema_version", status.schema_version()},
                            {"writable", status.writable()},
                            {"unwritable_reason",
                             status.writable() ? Json() : Json(Utf8(status.unwritable_reason()))},
                            {"operations", std::move(operations)}});
      return kOk;
    }
    const auto seconds = [](int64_t count) {
      return count == 0 ? std::string("no bound") : Grouped(count) + " s";
    };
    Fields fields;
    fields.Add("blobs", Grouped(status.blobs()) + " (" + Bytes(status.bytes()) + ")");
    fields.Add("quota", status.quota_bytes() == 0 ? "none" : Bytes(status.quota_bytes()));
    fields.Add("jobs kept", seconds(policy.max_age_seconds()));
    fields.Add("bytes kept", policy.max_bytes() == 0 ? "no bound" : Bytes(policy.max_bytes()));
    fields.Add("last of a name", Grouped(policy.keep_last()));
    fields.Add("unused kept", seconds(policy.unused_keep_seconds()));
    fields.Add("schema version", std::to_string(status.schema_version()));
    fields.Add("writable",
               status.writable() ? "yes" : "no: " + Printable(status.unwritable_reason()));
    for (const auto& operation : status.operations()) {
      fields.Add(operation.has_end_time() ? "ended " + TimeText(operation.end_time()) : "under way",
                 OperationText(operation));
    }
    fields.Print(invocation.out);
    return kOk;
  }
};

Json PinToJson(const helx::v1::PinnedResult& pin) {
  return {{"bundle", pin.bundle().hash()},
          {"size", pin.bundle().size_bytes()},
          {"user", Utf8(pin.user())},
          {"note", Utf8(pin.note())},
          {"time", TimeText(pin.time())}};
}

void PrintPins(const Invocation& invocation, const std::vector<helx::v1::PinnedResult>& pins) {
  if (invocation.json) {
    Json list = Json::array();
    for (const auto& pin : pins) list.push_back(PinToJson(pin));
    invocation.PrintJson({{"pins", std::move(list)}});
    return;
  }
  Table table({"bundle", "user", "since", "note"});
  for (const auto& pin : pins) {
    table.Add({pin.bundle().hash().substr(0, 16), Printable(pin.user()), TimeText(pin.time()),
               Printable(pin.note())});
  }
  if (!table.empty()) table.Print(invocation.out);
}

class StorePin : public Command {
 public:
  std::string_view Name() const override { return "store pin"; }
  std::string_view Summary() const override {
    return "Keep a result whatever the retention policy says";
  }
  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Text("--note", note_, "Why, for whoever looks at the pins next");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateStoredBundle(invocation, target_));
    if (!place.stored) return NotFound(Printable(target_) + " has no result to pin");
    helx::v1::PinRequest request;
    *request.mutable_bundle() = place.stored->bundle();
    request.set_note(note_);
    HELX_ASSIGN_OR_RETURN(const auto pin,
                          StoreClient(place.connection).Pin(request, invocation.stop));
    PrintPins(invocation, {pin});
    return kOk;
  }

 private:
  std::string target_;
  std::string note_;
};

class StoreUnpin : public Command {
 public:
  std::string_view Name() const override { return "store unpin"; }
  std::string_view Summary() const override { return "Leave a result to the retention policy"; }
  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateStoredBundle(invocation, target_));
    if (!place.stored) return NotFound(Printable(target_) + " has no result");
    helx::v1::UnpinRequest request;
    *request.mutable_bundle() = place.stored->bundle();
    HELX_RETURN_IF_ERROR(StoreClient(place.connection).Unpin(request, invocation.stop));
    if (invocation.json) {
      invocation.PrintJson({{"unpinned", place.stored->bundle().hash()}});
    } else {
      invocation.out << place.stored->bundle().hash().substr(0, 16) << " is pinned no more"
                     << std::endl;
    }
    return kOk;
  }

 private:
  std::string target_;
};

class StorePins : public Command {
 public:
  std::string_view Name() const override { return "store pins"; }
  std::string_view Summary() const override { return "List the pins of your instance"; }
  void Configure(Options&) override {}
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(const auto pins, StoreClient(connection).ListPins(invocation.stop));
    PrintPins(invocation, pins);
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeStoreBackup() { return std::make_unique<StoreBackup>(); }
std::unique_ptr<Command> MakeStoreCancel() { return std::make_unique<StoreCancel>(); }
std::unique_ptr<Command> MakeStoreCheck() { return std::make_unique<StoreCheck>(); }
std::unique_ptr<Command> MakeStoreGc() { return std::make_unique<StoreGc>(); }
std::unique_ptr<Command> MakeStorePin() { return std::make_unique<StorePin>(); }
std::unique_ptr<Command> MakeStorePins() { return std::make_unique<StorePins>(); }
std::unique_ptr<Command> MakeStoreScrub() { return std::make_unique<StoreScrub>(); }
std::unique_ptr<Command> MakeStoreStatus() { return std::make_unique<StoreStatus>(); }
std::unique_ptr<Command> MakeStoreUnpin() { return std::make_unique<StoreUnpin>(); }

}  // namespace helx::cli

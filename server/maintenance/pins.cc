#include "server/maintenance/pins.h"

#include <vector>

#include "server/maintenance/inventory.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/names.h"
#include "server/scheduler/timestamps.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr size_t kNoteBytes = 256;

std::string PinKey(const std::string& instance, const std::string& hash) {
  return InstanceKey("pin", instance, hash);
}

}  // namespace

absl::StatusOr<v1::Digest> Pins::BundleOfJob(const Caller& caller, const std::string& name) const {
  HELX_ASSIGN_OR_RETURN(const std::string id, JobIdOf(name));
  HELX_ASSIGN_OR_RETURN(const records::JobRecord record, LoadJob(*store_, caller.instance, id));
  if (!record.job().has_bundle()) {
    return FailedPrecondition("jobs/" + id + " has no result" +
                              (record.job().finished() ? "" : " yet") + "; pin one that has");
  }
  return record.job().bundle();
}

absl::StatusOr<v1::PinnedResult> Pins::Pin(const Caller& caller, const v1::PinRequest& request) {
  HELX_RETURN_IF_ERROR(CheckText("note", request.note(), kNoteBytes));
  v1::PinnedResult pin;
  if (request.subject_case() == v1::PinRequest::kJob) {
    HELX_ASSIGN_OR_RETURN(*pin.mutable_bundle(), BundleOfJob(caller, request.job()));
  } else if (request.subject_case() == v1::PinRequest::kBundle) {
    HELX_RETURN_IF_ERROR(Annotate(CheckDigest(FromProto(request.bundle())), "bundle"));
    *pin.mutable_bundle() = request.bundle();
  } else {
    return InvalidArgument("a pin needs a bundle or a job");
  }
  const Digest bundle = FromProto(pin.bundle());
  const std::string& instance = caller.instance;
  // Each look also keeps the blob until the pin does.
  HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(instance, bundle));
  const auto row = store_->Get(Family::kIndexBundles, InstanceKey(instance, bundle.hash));
  if (!stored || absl::IsNotFound(row.status())) {
    return NotFound("there is no bundle " + bundle.ToString());
  }
  HELX_RETURN_IF_ERROR(row.status());
  records::BundleRecord record;
  if (!record.ParseFromString(*row)) return DataLoss("the row of a bundle is damaged");
  for (const v1::Digest& blob : record.blobs()) {
    HELX_ASSIGN_OR_RETURN(const bool there, blobs_->Has(instance, FromProto(blob)));
    if (!there) {
      return DataLoss("artifact " + FromProto(blob).ToString() + " of bundle " + bundle.ToString() +
                      " is gone; submit the job again to make it anew");
    }
  }
  pin.set_user(caller.user);
  pin.set_note(request.note());
  SetTimestamp(clock_->WallMicros(), pin.mutable_time());
  std::lock_guard lock(mutex_);
  FaultPoint("pin.decided");
  HELX_RETURN_IF_ERROR(store_->CommitAndWait(
      {{Family::kDefault, PinKey(instance, bundle.hash), pin.SerializeAsString()}}));
  return pin;
}

absl::Status Pins::Unpin(const Caller& caller, const v1::UnpinRequest& request) {
  v1::Digest bundle;
  if (request.subject_case() == v1::UnpinRequest::kJob) {
    HELX_ASSIGN_OR_RETURN(bundle, BundleOfJob(caller, request.job()));
  } else if (request.subject_case() == v1::UnpinRequest::kBundle) {
    HELX_RETURN_IF_ERROR(Annotate(CheckDigest(FromProto(request.bundle())), "bundle"));
    bundle = request.bundle();
  } else {
    return InvalidArgument("a pin is named by its bundle or its job");
  }
  std::lock_guard lock(mutex_);
  const std::string key = PinKey(caller.instance, bundle.hash());
  const auto row = store_->Get(Family::kDefault, key);
  if (absl::IsNotFound(row.status())) {
    return NotFound("bundle " + FromProto(bundle).ToString() + " is not pinned");
  }
  HELX_RETURN_IF_ERROR(row.status());
  v1::PinnedResult pin;
  if (pin.ParseFromString(*row) && pin.user() != caller.user && !caller.is_operator) {
    return absl::PermissionDeniedError("the pin is " + pin.user() +
                                       "'s; only that user and operators take it away");
  }
  return store_->CommitAndWait({{Family::kDefault, key, std::nullopt}});
}

absl::StatusOr<std::map<std::string, v1::PinnedResult>> Pins::Load(
    const std::string& instance) const {
  std::map<std::string, v1::PinnedResult> pins;
  bool damaged = false;
  HELX_RETURN_IF_ERROR(store_->Scan(Family::kDefault, {.prefix = PinKey(instance, "")},
                                    [&](std::string_view key, std::string_view value) {
                                      v1::PinnedResult& pin = pins[std::string(LastPart(key))];
                                      damaged = damaged || !pin.ParseFromString(std::string(value));
                                      return true;
                                    }));
  if (damaged) return DataLoss("the row of a pin is damaged");
  return pins;
}

absl::StatusOr<std::vector<v1::PinnedResult>> Pins::List(const std::string& instance) const {
  HELX_ASSIGN_OR_RETURN(const auto pins, Load(instance));
  std::vector<v1::PinnedResult> out;
  for (const auto& [hash, pin] : pins) out.push_back(pin);
  return out;
}

absl::Status Pins::WithPins(
    const std::string& instance,
    const std::function<absl::Status(const std::map<std::string, v1::PinnedResult>&)>& work) const {
  std::lock_guard lock(mutex_);
  HELX_ASSIGN_OR_RETURN(const auto pins, Load(instance));
  return work(pins);
}

}  // namespace helx::server

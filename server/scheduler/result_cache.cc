#include "server/scheduler/result_cache.h"

#include <vector>

#include "server/scheduler/timestamps.h"
#include "server/store/keys.h"

namespace helx::server {

absl::StatusOr<records::ActionRecord> ResultCache::Load(const std::string& instance,
                                                        const std::string& key) const {
  records::ActionRecord record;
  const auto unsettled = unsettled_.find(InstanceKey(instance, key));
  if (unsettled != unsettled_.end()) return unsettled->second.second;
  const auto row = store_->Get(Family::kActions, InstanceKey(instance, key));
  if (absl::IsNotFound(row.status())) {
    record.set_key(key);
    return record;
  }
  HELX_RETURN_IF_ERROR(row.status());
  if (!record.ParseFromString(*row)) return DataLoss("the row of action " + key + " is damaged");
  return record;
}

bool ResultCache::IsComplete(const std::string& instance, const std::string& row,
                             const records::ActionRecord& record) {
  const v1::ActionOutput& output = record.output();
  std::vector<Digest> blobs;
  if (output.has_frozen_request()) blobs.push_back(FromProto(output.frozen_request()));
  if (output.has_bundle()) blobs.push_back(FromProto(output.bundle()));
  for (const v1::Digest& blob : output.blobs()) blobs.push_back(FromProto(blob));
  bool complete = true;
  for (const Digest& blob : blobs) {
    complete = complete && blobs_->Has(instance, blob).value_or(false);
  }
  if (complete && verified_.contains(row)) return true;
  // Before the first answer, and once anything is gone: all that is damaged is found now, so that
  // making the result again makes all of it.
  for (const Digest& blob : blobs) {
    const absl::Status whole = blobs_->Verify(instance, blob);
    complete = complete && whole.ok();
    if (absl::IsDataLoss(whole)) blobs_->Discard(instance, blob);
  }
  if (verified_.size() >= kVerifiedEntries) verified_.clear();
  if (complete) verified_.insert(row);
  return complete;
}

std::shared_ptr<const records::ActionRecord> ResultCache::Find(const std::string& instance,
                                                               const std::string& key) {
  if (const uint64_t now = blobs_->generation(); generation_ != now) {
    generation_ = now;
    complete_.clear();
  }
  const std::string row = InstanceKey(instance, key);
  if (const auto found = complete_.find(row); found != complete_.end()) return found->second;
  auto record = Load(instance, key);
  if (!record.ok() || !record->has_output() || !IsComplete(instance, row, *record)) {
    return nullptr;
  }
  if (complete_.size() >= kEntries) complete_.clear();
  auto shared = std::make_shared<const records::ActionRecord>(*std::move(record));
  complete_[row] = shared;
  return shared;
}

uint64_t ResultCache::Wrote(const std::string& instance, const records::ActionRecord& record) {
  const std::string row = InstanceKey(instance, record.key());
  complete_.erase(row);
  verified_.erase(row);
  unsettled_[row] = {++tickets_, record};
  return tickets_;
}

void ResultCache::Forget(const std::string& instance, const std::string& key) {
  complete_.erase(InstanceKey(instance, key));
  verified_.erase(InstanceKey(instance, key));
  unsettled_.erase(InstanceKey(instance, key));
}

void ResultCache::Settle(const std::string& instance, const std::string& key, uint64_t ticket) {
  const auto found = unsettled_.find(InstanceKey(instance, key));
  if (found != unsettled_.end() && found->second.first == ticket) unsettled_.erase(found);
}

}  // namespace helx::server

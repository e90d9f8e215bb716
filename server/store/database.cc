#include "server/store/database.h"

#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kUsagePrefix[] = "blobs";  // 00 instance

std::string UsageKey(std::string_view instance) { return InstanceKey(kUsagePrefix, instance); }

std::string UsageValue(const BlobUsage& usage) {
  return BigEndian64(static_cast<uint64_t>(usage.blobs)) +
         BigEndian64(static_cast<uint64_t>(usage.bytes));
}

}  // namespace

absl::Status ToStatus(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = "store: " + status.ToString();
  if (status.IsNotFound()) return NotFound(text);
  if (status.IsCorruption()) return DataLoss(text);
  // A background error wraps the errno's own text.
  if (status.IsNoSpace() || text.find("No space left") != std::string::npos ||
      text.find("Disk quota") != std::string::npos) {
    return absl::ResourceExhaustedError("the store's disk is full: " + text);
  }
  return absl::UnavailableError(text);
}

absl::Status BlobUsageRows::Load(rocksdb::DB* db, const FamilyHandles& families) {
  usage_.clear();
  pending_.clear();
  const std::unique_ptr<rocksdb::Iterator> it(
      db->NewIterator({}, families[static_cast<int>(Family::kDefault)]));
  const std::string prefix = UsageKey("");
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const std::string_view value = ViewOf(it->value());
    if (value.size() != 16) return DataLoss("the store: a row of blob usage is damaged");
    BlobUsage& usage = usage_[std::string(ViewOf(it->key()).substr(prefix.size()))];
    usage.blobs = static_cast<int64_t>(FromBigEndian64(value.substr(0, 8)));
    usage.bytes = static_cast<int64_t>(FromBigEndian64(value.substr(8)));
  }
  return ToStatus(it->status());
}

absl::Status BlobUsageRows::Append(rocksdb::DB* db, const FamilyHandles& families,
                                   const std::vector<std::pair<std::string, bool>>& puts,
                                   rocksdb::WriteBatch& batch) {
  pending_.clear();
  std::map<std::string_view, bool> present;
  for (const auto& [key, put] : puts) {
    auto found = present.find(key);
    if (found == present.end()) {
      rocksdb::PinnableSlice value;
      const rocksdb::Status status =
          db->Get({}, families[static_cast<int>(Family::kBlobMeta)], key, &value);
      if (!status.ok() && !status.IsNotFound()) return ToStatus(status);
      found = present.emplace(key, status.ok()).first;
    }
    if (found->second == put) continue;
    found->second = put;
    const std::string_view instance = FirstPart(key);
    const int64_t bytes = BlobOfMetaKey(key).size_bytes;
    auto [slot, fresh] = pending_.emplace(instance, BlobUsage());
    if (fresh) {
      if (const auto known = usage_.find(instance); known != usage_.end()) {
        slot->second = known->second;
      }
    }
    slot->second.blobs += put ? 1 : -1;
    slot->second.bytes += put ? bytes : -bytes;
  }
  for (const auto& [instance, usage] : pending_) {
    const rocksdb::Status status = batch.Put(families[static_cast<int>(Family::kDefault)],
                                             UsageKey(instance), UsageValue(usage));
    if (!status.ok()) return ToStatus(status);
  }
  return absl::OkStatus();
}

void BlobUsageRows::Committed() {
  for (auto& [instance, usage] : pending_) usage_[instance] = usage;
  pending_.clear();
}

}  // namespace helx::server

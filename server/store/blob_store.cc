#include "server/store/blob_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>

#include "core/base/sha256.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kStaged[] = "staged";
constexpr auto kRemovalLook = std::chrono::milliseconds(50);
// Chunks written between two looks at the clock of the database: keeps a write batch small.
constexpr int64_t kFileBatchBytes = 4 * kBlobChunkBytes;

int64_t SteadySeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string StagedKey(std::string_view instance, const Digest& digest) {
  return InstanceKey(kStaged, instance, digest.ToString());
}

}  // namespace

BlobStore::BlobStore(Store* store, const BlobStoreOptions& options)
    : store_(store),
      options_(options),
      start_wall_seconds_(time(nullptr)),
      start_steady_seconds_(SteadySeconds()) {}

int64_t BlobStore::Now() const {
  return start_wall_seconds_ + SteadySeconds() - start_steady_seconds_;
}

uint64_t BlobStore::generation() const {
  const int64_t period = std::max<int64_t>(options_.unused_keep_seconds / 8, 1);
  const int64_t periods = (SteadySeconds() - start_steady_seconds_) / period;
  return (removals_ << 24) + static_cast<uint64_t>(periods);
}

std::string BlobStore::MetaValue() const { return BigEndian64(static_cast<uint64_t>(Now())); }

absl::Status BlobStore::Recover() {
  Writes writes;
  absl::Status damaged;
  HELX_RETURN_IF_ERROR(
      store_->Scan(Family::kDefault, {.prefix = InstanceKey(kStaged, "")},
                   [&](std::string_view key, std::string_view) {
                     writes.push_back({Family::kDefault, std::string(key), std::nullopt});
                     return true;
                   }));
  const size_t staged = writes.size();
  for (size_t i = 0; i < staged; ++i) {
    const std::string name(LastPart(writes[i].key));
    const std::string instance(FirstPart(std::string_view(writes[i].key).substr(sizeof(kStaged))));
    Digest digest{name.substr(0, name.find('/')), 0};
    std::from_chars(name.data() + digest.hash.size() + 1, name.data() + name.size(),
                    digest.size_bytes);
    HELX_ASSIGN_OR_RETURN(const bool stored, IsStored(instance, digest));
    if (!stored) AppendDeletes(instance, digest, writes);
  }
  return writes.empty() ? absl::OkStatus() : store_->CommitAndWait(std::move(writes));
}

// When it was last used; nothing when it is not stored.
absl::StatusOr<std::optional<int64_t>> BlobStore::UsedAt(std::string_view instance,
                                                         const Digest& digest) const {
  const auto meta = store_->Get(Family::kBlobMeta, BlobMetaKey(instance, digest));
  if (absl::IsNotFound(meta.status())) return std::optional<int64_t>();
  HELX_RETURN_IF_ERROR(meta.status());
  return std::optional<int64_t>(static_cast<int64_t>(FromBigEndian64(*meta)));
}

absl::StatusOr<bool> BlobStore::IsStored(std::string_view instance, const Digest& digest) const {
  if (digest.size_bytes == 0) return digest == DigestOf(std::string_view());
  HELX_ASSIGN_OR_RETURN(const auto used, UsedAt(instance, digest));
  return used.has_value();
}

absl::StatusOr<bool> BlobStore::Has(std::string_view instance, const Digest& digest) const {
  if (digest.size_bytes == 0) return digest == DigestOf(std::string_view());
  HELX_ASSIGN_OR_RETURN(const auto used, UsedAt(instance, digest));
  if (!used.has_value()) {
    ++counts_.missing;
    return false;
  }
  const int64_t fresh = Now() - options_.unused_keep_seconds / 4;
  if (*used >= fresh) return true;
  const Key key(instance, digest);
  std::lock_guard lock(mutex_);
  if (removing_.contains(key)) return false;
  const auto noted = noted_.find(key);
  if (noted != noted_.end() && noted->second >= fresh) return true;
  // It may have been removed since it was looked up.
  HELX_ASSIGN_OR_RETURN(const auto still, UsedAt(instance, digest));
  if (!still.has_value()) return false;
  const int64_t now = Now();
  noted_[key] = now;
  store_->Commit({{Family::kBlobMeta, BlobMetaKey(instance, digest), MetaValue()}},
                 [this, key, now](const absl::Status& status) {
                   if (!status.ok()) return;  // the store still tries
                   std::lock_guard guard(mutex_);
                   const auto found = noted_.find(key);
                   if (found != noted_.end() && found->second == now) noted_.erase(found);
                 });
  return true;
}

absl::StatusOr<std::string> BlobStore::ReadChunk(std::string_view instance, const Digest& digest,
                                                 uint32_t n) const {
  const int64_t start = int64_t{n} * kBlobChunkBytes;
  const int64_t expected = std::min(kBlobChunkBytes, digest.size_bytes - start);
  if (expected <= 0) return std::string();
  ++counts_.reads;
  auto chunk = store_->Get(Family::kBlobs, BlobChunkKey(instance, digest, n));
  if (chunk.ok() && static_cast<int64_t>(chunk->size()) == expected) return chunk;
  if (!chunk.ok() && !absl::IsNotFound(chunk.status()) && !absl::IsDataLoss(chunk.status())) {
    return chunk.status();
  }
  HELX_ASSIGN_OR_RETURN(const bool present, IsStored(instance, digest));
  if (!present) return NotFound("blob " + digest.ToString() + " is not stored");
  return DataLoss("blob " + digest.ToString() + " is damaged: chunk " + std::to_string(n) +
                  (chunk.ok() ? " has another length" : " cannot be read"));
}

absl::StatusOr<std::string> BlobStore::Read(std::string_view instance, const Digest& digest,
                                            int64_t limit_bytes) const {
  if (digest.size_bytes > limit_bytes) {
    return InvalidArgument("blob " + digest.ToString() + " passes the limit of " +
                           std::to_string(limit_bytes) + " bytes");
  }
  HELX_ASSIGN_OR_RETURN(const bool present, IsStored(instance, digest));
  if (!present) return NotFound("blob " + digest.ToString() + " is not stored");
  std::string content;
  content.reserve(static_cast<size_t>(digest.size_bytes));
  for (uint32_t n = 0; static_cast<int64_t>(content.size()) < digest.size_bytes; ++n) {
    HELX_ASSIGN_OR_RETURN(const std::string chunk, ReadChunk(instance, digest, n));
    content += chunk;
  }
  if (DigestOf(content) != digest) {
    return DataLoss("blob " + digest.ToString() + " is damaged: its bytes have another digest");
  }
  return content;
}

absl::Status BlobStore::Verify(std::string_view instance, const Digest& digest,
                               const std::function<void(std::string_view)>& piece) const {
  HELX_ASSIGN_OR_RETURN(const bool present, IsStored(instance, digest));
  if (!present) return NotFound("blob " + digest.ToString() + " is not stored");
  Sha256 hash;
  absl::Status first;
  for (uint32_t n = 0; int64_t{n} * kBlobChunkBytes < digest.size_bytes; ++n) {
    const auto chunk = ReadChunk(instance, digest, n);
    if (!chunk.ok() && !absl::IsDataLoss(chunk.status())) return chunk.status();
    if (first.ok()) first = chunk.status();
    if (!chunk.ok()) continue;
    hash.Update(std::string_view(*chunk));
    if (piece) piece(*chunk);
  }
  HELX_RETURN_IF_ERROR(first);
  if (hash.FinishHex() == digest.hash) return absl::OkStatus();
  return DataLoss("blob " + digest.ToString() + " is damaged: its bytes have another digest");
}

void BlobStore::AppendRows(std::string_view instance, const Digest& digest,
                           std::string_view content, Writes& writes) const {
  if (content.empty()) return;
  ++counts_.writes;
  uint32_t n = 0;
  for (size_t at = 0; at < content.size(); at += kBlobChunkBytes, ++n) {
    writes.push_back({Family::kBlobs, BlobChunkKey(instance, digest, n),
                      std::string(content.substr(at, kBlobChunkBytes))});
  }
  writes.push_back({Family::kBlobMeta, BlobMetaKey(instance, digest), MetaValue()});
}

void BlobStore::PutFile(std::string_view instance, const Digest& digest, int fd, Store::Done done) {
  const Key key(instance, digest);
  {
    // Chunks are written past the queue in which the deletion of these same rows may still stand.
    std::unique_lock lock(mutex_);
    while (IsBeingRemoved(key)) removed_.wait_for(lock, kRemovalLook);
    storing_.insert(key);
  }
  ++counts_.writes;
  done = [this, key, done = std::move(done)](const absl::Status& status) {
    {
      std::lock_guard lock(mutex_);
      storing_.erase(storing_.find(key));
    }
    done(status);
  };
  const std::string staged = StagedKey(instance, digest);
  Writes writes;
  bool is_staged = false;
  uint32_t n = 0;
  int64_t pending = 0;
  for (int64_t at = 0; at < digest.size_bytes; at += kBlobChunkBytes, ++n) {
    std::string chunk(static_cast<size_t>(std::min(kBlobChunkBytes, digest.size_bytes - at)), '\0');
    const ssize_t got = pread(fd, chunk.data(), chunk.size(), at);
    if (got != static_cast<ssize_t>(chunk.size())) {
      done(got < 0 ? absl::UnavailableError(std::string("cannot read an upload: ") +
                                            std::strerror(errno))
                   : DataLoss("an upload became shorter while it was stored"));
      return;
    }
    writes.push_back({Family::kBlobs, BlobChunkKey(instance, digest, n), std::move(chunk)});
    pending += kBlobChunkBytes;
    if (pending >= kFileBatchBytes && at + kBlobChunkBytes < digest.size_bytes) {
      if (!is_staged) writes.push_back({Family::kDefault, staged, std::string()});
      is_staged = true;
      const absl::Status status = store_->WriteUnsynced(writes);
      if (!status.ok()) return done(status);
      FaultPoint("blob.chunks");
      writes.clear();
      pending = 0;
    }
  }
  if (is_staged) writes.push_back({Family::kDefault, staged, std::nullopt});
  writes.push_back({Family::kBlobMeta, BlobMetaKey(instance, digest), MetaValue()});
  FaultPoint("blob.before_meta");
  store_->Commit(std::move(writes), std::move(done));
}

void BlobStore::AppendDeletes(std::string_view instance, const Digest& digest, Writes& writes) {
  writes.push_back({Family::kBlobMeta, BlobMetaKey(instance, digest), std::nullopt});
  for (uint32_t n = 0; int64_t{n} * kBlobChunkBytes < digest.size_bytes; ++n) {
    writes.push_back({Family::kBlobs, BlobChunkKey(instance, digest, n), std::nullopt});
  }
}

// Whether the deletion of its rows may still stand in the store's queue. REQUIRES: the mutex is
// held.
bool BlobStore::IsBeingRemoved(const Key& key) {
  if (!removing_.contains(key)) return false;
  // A commit that failed at first is repeated without another word: see whether it is done.
  const auto used = UsedAt(key.first, key.second);
  if (!used.ok() || used->has_value()) return true;
  removing_.erase(key);
  return false;
}

// REQUIRES: the mutex is held.
void BlobStore::Remove(const Key& key, Writes writes) {
  removing_.insert(key);
  store_->Commit(std::move(writes), [this, key](const absl::Status& status) {
    ++removals_;
    FaultPoint("blob.removed");
    if (!status.ok()) return;  // the store still tries, and until then it is out of sight
    std::lock_guard lock(mutex_);
    removing_.erase(key);
    removed_.notify_all();
  });
}

void BlobStore::Discard(std::string_view instance, const Digest& digest) {
  const Key key(instance, digest);
  while (true) {
    const uint64_t removals = removals_;
    if (!absl::IsDataLoss(Verify(instance, digest))) return;
    std::lock_guard lock(mutex_);
    if (removing_.contains(key) || storing_.contains(key)) return;
    // It may have been removed, and stored anew, since it was looked at.
    if (removals_ != removals) continue;
    ++counts_.mismatches;
    Writes writes;
    AppendDeletes(instance, digest, writes);
    return Remove(key, std::move(writes));
  }
}

absl::StatusOr<bool> BlobStore::RemoveUnused(std::string_view instance, const Digest& digest,
                                             int64_t before_seconds) {
  const Key key(instance, digest);
  std::lock_guard lock(mutex_);
  if (removing_.contains(key) || storing_.contains(key)) return false;
  if (const auto noted = noted_.find(key); noted != noted_.end()) {
    if (noted->second >= before_seconds) return false;
    noted_.erase(noted);
  }
  HELX_ASSIGN_OR_RETURN(const auto used, UsedAt(instance, digest));
  if (!used.has_value() || *used >= before_seconds) return false;
  Writes writes;
  AppendDeletes(instance, digest, writes);
  Remove(key, std::move(writes));
  return true;
}

absl::StatusOr<std::vector<BlobStore::Entry>> BlobStore::List(std::string_view instance,
                                                              const Digest* after,
                                                              size_t limit) const {
  std::vector<Entry> out;
  const std::string start = after == nullptr ? std::string() : BlobMetaKey(instance, *after);
  HELX_RETURN_IF_ERROR(store_->Scan(
      Family::kBlobMeta, {.prefix = InstanceKey(instance, ""), .start = start},
      [&](std::string_view key, std::string_view value) {
        if (key == start) return true;
        out.push_back({BlobOfMetaKey(key), static_cast<int64_t>(FromBigEndian64(value))});
        return out.size() < limit;
      }));
  return out;
}

}  // namespace helx::server

#include "server/store/blob_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/sha256.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

// What the meta row holds: the layout of the chunks, for a later version that lays them out
// otherwise.
constexpr std::string_view kMetaValue = "1";
// Chunks written between two looks at the clock of the database: keeps a write batch small.
constexpr int64_t kFileBatchBytes = 4 * kBlobChunkBytes;

}  // namespace

absl::StatusOr<bool> BlobStore::Has(std::string_view instance, const Digest& digest) const {
  if (digest.size_bytes == 0) return digest == DigestOf(std::string_view());
  return store_->Has(Family::kBlobs, BlobMetaKey(instance, digest));
}

absl::StatusOr<std::string> BlobStore::ReadChunk(std::string_view instance, const Digest& digest,
                                                 uint32_t n) const {
  const int64_t start = int64_t{n} * kBlobChunkBytes;
  const int64_t expected = std::min(kBlobChunkBytes, digest.size_bytes - start);
  if (expected <= 0) return std::string();
  auto chunk = store_->Get(Family::kBlobs, BlobChunkKey(instance, digest, n));
  if (chunk.ok() && static_cast<int64_t>(chunk->size()) == expected) return chunk;
  if (!chunk.ok() && !absl::IsNotFound(chunk.status()) && !absl::IsDataLoss(chunk.status())) {
    return chunk.status();
  }
  HELX_ASSIGN_OR_RETURN(const bool present, Has(instance, digest));
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
  HELX_ASSIGN_OR_RETURN(const bool present, Has(instance, digest));
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

void BlobStore::AppendRows(std::string_view instance, const Digest& digest,
                           std::string_view content, Writes& writes) {
  if (content.empty()) return;
  uint32_t n = 0;
  for (size_t at = 0; at < content.size(); at += kBlobChunkBytes, ++n) {
    writes.push_back({Family::kBlobs, BlobChunkKey(instance, digest, n),
                      std::string(content.substr(at, kBlobChunkBytes))});
  }
  writes.push_back({Family::kBlobs, BlobMetaKey(instance, digest), std::string(kMetaValue)});
}

void BlobStore::PutFile(std::string_view instance, const Digest& digest, int fd, Store::Done done) {
  Writes writes;
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
    if (pending >= kFileBatchBytes) {
      const absl::Status status = store_->WriteUnsynced(writes);
      if (!status.ok()) return done(status);
      writes.clear();
      pending = 0;
    }
  }
  writes.push_back({Family::kBlobs, BlobMetaKey(instance, digest), std::string(kMetaValue)});
  store_->Commit(std::move(writes), std::move(done));
}

void BlobStore::Discard(std::string_view instance, const Digest& digest) {
  store_->Commit({{Family::kBlobs, BlobMetaKey(instance, digest), std::nullopt}},
                 [this](const absl::Status&) { ++removals_; });
}

}  // namespace helx::server

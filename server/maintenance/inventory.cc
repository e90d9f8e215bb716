#include "server/maintenance/inventory.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/hex.h"
#include "server/maintenance/rows.h"

namespace helx::server {
namespace {

constexpr int64_t kTextLimit = int64_t{40} << 20;

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::array<uint8_t, 32> BytesOf(std::string_view hash) {
  std::array<uint8_t, 32> out{};
  const auto bytes = HexDecode(hash);
  if (bytes.ok() && bytes->size() == out.size())
    std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

}  // namespace

void ForEachSha256(std::string_view text, const std::function<void(std::string_view)>& found) {
  constexpr size_t kDigits = 64;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsLowerHex(text[end])) ++end;
    if (end - at == kDigits) found(text.substr(at, kDigits));
    at = end + 1;
  }
}

Digest Inventory::Blob::digest() const { return {HexEncode(hash), size_bytes}; }

absl::StatusOr<Inventory> Inventory::Take(const std::string& instance, const BlobStore* blobs) {
  Inventory out(instance, blobs);
  HELX_RETURN_IF_ERROR(ForEachBlob(*blobs, instance, [&](const BlobStore::Entry& entry) {
    out.blobs_.push_back(
        {BytesOf(entry.digest.hash), false, entry.digest.size_bytes, entry.used_seconds});
    out.bytes_ += entry.digest.size_bytes;
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<std::vector<size_t>> Inventory::Reached(const References& references) const {
  std::vector<size_t> out;
  std::set<std::array<uint8_t, 32>> seen;
  const auto reach = [&](std::string_view hash) {
    const std::array<uint8_t, 32> bytes = BytesOf(hash);
    if (!seen.insert(bytes).second) return;
    auto it = std::lower_bound(blobs_.begin(), blobs_.end(), bytes,
                               [](const Blob& blob, const auto& key) { return blob.hash < key; });
    // A text names a blob by its hash alone.
    for (; it != blobs_.end() && it->hash == bytes; ++it) {
      if (!it->marked) out.push_back(static_cast<size_t>(it - blobs_.begin()));
    }
  };
  for (const Reference& reference : references) reach(reference.digest.hash);
  for (const Reference& reference : references) {
    if (!reference.names_others || read_.contains(reference.digest.hash)) continue;
    const auto text = store_->Read(instance_, reference.digest, kTextLimit);
    if (text.ok()) {
      ForEachSha256(*text, reach);
    } else if (!absl::IsNotFound(text.status()) && !absl::IsDataLoss(text.status())) {
      return text.status();
    }
  }
  return out;
}

absl::Status Inventory::MarkReached(const References& references) {
  HELX_ASSIGN_OR_RETURN(const std::vector<size_t> places, Reached(references));
  Mark(references, places);
  return absl::OkStatus();
}

void Inventory::Mark(const References& references, const std::vector<size_t>& places) {
  for (const Reference& reference : references) {
    if (reference.names_others) read_.insert(reference.digest.hash);
  }
  for (const size_t place : places) {
    if (blobs_[place].marked) continue;
    blobs_[place].marked = true;
    marked_bytes_ += blobs_[place].size_bytes;
  }
}

int64_t Inventory::SizeOf(const std::vector<size_t>& places) const {
  int64_t bytes = 0;
  for (const size_t place : places) bytes += blobs_[place].size_bytes;
  return bytes;
}

}  // namespace helx::server

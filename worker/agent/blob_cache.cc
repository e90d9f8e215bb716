#include "worker/agent/blob_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/file.h"

namespace helx::agent {
namespace {

namespace fs = std::filesystem;

}  // namespace

BlobCache::BlobCache(std::string folder, int64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  Evict();
}

std::string BlobCache::PathOf(const Digest& digest) const { return folder_ + "/" + digest.hash; }

bool BlobCache::LinkTo(const Digest& digest, const std::string& path) {
  const std::string cached = PathOf(digest);
  struct stat info {};
  if (stat(cached.c_str(), &info) != 0 || info.st_size != digest.size_bytes) return false;
  utimensat(AT_FDCWD, cached.c_str(), nullptr, 0);  // used now
  if (link(cached.c_str(), path.c_str()) == 0) return true;
  std::error_code error;
  fs::copy_file(cached, path, fs::copy_options::overwrite_existing, error);
  return !error;
}

void BlobCache::Put(const Digest& digest, std::string_view bytes) {
  if (digest.size_bytes > limit_bytes_ / 4) return;
  const std::string path = PathOf(digest);
  std::error_code error;
  if (fs::exists(path, error)) return;
  if (!WriteFile(path, bytes).ok()) return;
  std::lock_guard lock(mutex_);
  added_since_eviction_ += digest.size_bytes;
  if (added_since_eviction_ > limit_bytes_ / 8) {
    added_since_eviction_ = 0;
    Evict();
  }
}

void BlobCache::Evict() {
  struct Entry {
    fs::file_time_type used;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder_, error)) {
    std::error_code ignored;
    const auto bytes = static_cast<int64_t>(item.file_size(ignored));
    if (ignored) continue;
    entries.push_back({item.last_write_time(ignored), bytes, item.path()});
    total += bytes;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_bytes_) break;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace helx::agent

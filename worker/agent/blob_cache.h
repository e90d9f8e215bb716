// Blobs kept on this host between actions, as files named by their SHA-256.
#ifndef HELX_WORKER_AGENT_BLOB_CACHE_H_
#define HELX_WORKER_AGENT_BLOB_CACHE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/status.h"

namespace helx::agent {

// Thread-safe; several processes may share a folder. Eviction is by age of use.
class BlobCache {
 public:
  BlobCache(std::string folder, int64_t limit_bytes);

  // Makes `path` a link to (or copy of) the cached blob. False when it is not cached.
  bool LinkTo(const Digest& digest, const std::string& path);

  // Keeps bytes. Failure to keep is not an error: the cache is only a cache.
  void Put(const Digest& digest, std::string_view bytes);

 private:
  std::string PathOf(const Digest& digest) const;
  void Evict();

  const std::string folder_;
  const int64_t limit_bytes_;
  std::mutex mutex_;
  int64_t added_since_eviction_ = 0;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_BLOB_CACHE_H_

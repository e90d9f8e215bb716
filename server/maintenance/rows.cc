#include "server/maintenance/rows.h"

#include <optional>
#include <utility>
#include <vector>

namespace helx::server {

absl::Status ForEachRow(
    const Store& store, Family family, const std::string& prefix, bool descending,
    const std::function<absl::Status(const std::string& key, const std::string& value)>& visit) {
  std::string next;
  while (true) {
    std::vector<std::pair<std::string, std::string>> page;
    HELX_RETURN_IF_ERROR(store.Scan(family,
                                    {.prefix = prefix, .start = next, .descending = descending},
                                    [&](std::string_view key, std::string_view value) {
                                      if (!descending && key == next) return true;
                                      page.emplace_back(key, value);
                                      return page.size() < kRowsAtOnce;
                                    }));
    for (const auto& [key, value] : page) HELX_RETURN_IF_ERROR(visit(key, value));
    if (page.size() < kRowsAtOnce) return absl::OkStatus();
    next = page.back().first;
  }
}

absl::Status ForEachBlob(const BlobStore& blobs, const std::string& instance,
                         const std::function<absl::Status(const BlobStore::Entry&)>& visit) {
  std::optional<Digest> last;
  while (true) {
    HELX_ASSIGN_OR_RETURN(const auto page,
                          blobs.List(instance, last ? &*last : nullptr, kRowsAtOnce));
    for (const BlobStore::Entry& entry : page) HELX_RETURN_IF_ERROR(visit(entry));
    if (page.size() < kRowsAtOnce) return absl::OkStatus();
    last = page.back().digest;
  }
}

}  // namespace helx::server

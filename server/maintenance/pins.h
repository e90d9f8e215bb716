// Results that are kept whatever the retention policy says.
#ifndef HELX_SERVER_MAINTENANCE_PINS_H_
#define HELX_SERVER_MAINTENANCE_PINS_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "core/base/status.h"
#include "helx/v1/store.pb.h"
#include "server/scheduler/clock.h"
#include "server/scheduler/scheduler.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// Thread-safe. May wait on the disk: not for reactors.
class Pins {
 public:
  Pins(Store* store, const BlobStore* blobs, const Clock* clock)
      : store_(store), blobs_(blobs), clock_(clock) {}

  // Errors as store.proto says.
  absl::StatusOr<v1::PinnedResult> Pin(const Caller& caller, const v1::PinRequest& request);
  absl::Status Unpin(const Caller& caller, const v1::UnpinRequest& request);
  absl::StatusOr<std::vector<v1::PinnedResult>> List(const std::string& instance) const;

  // Runs `work` while no pin is set: with the pinned bundles by hash.
  absl::Status WithPins(
      const std::string& instance,
      const std::function<absl::Status(const std::map<std::string, v1::PinnedResult>&)>& work)
      const;

 private:
  absl::StatusOr<v1::Digest> BundleOfJob(const Caller& caller, const std::string& name) const;
  absl::StatusOr<std::map<std::string, v1::PinnedResult>> Load(const std::string& instance) const;

  Store* const store_;
  const BlobStore* const blobs_;
  const Clock* const clock_;
  mutable std::mutex mutex_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_PINS_H_

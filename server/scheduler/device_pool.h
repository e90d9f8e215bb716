// The devices of the pool as records: health, labels, drain, people's leases, health checks to run.
// What runs on them is the scheduler's business.
#ifndef HELX_SERVER_SCHEDULER_DEVICE_POOL_H_
#define HELX_SERVER_SCHEDULER_DEVICE_POOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/scheduler/clock.h"
#include "server/scheduler/records.pb.h"
#include "server/store/store.h"

namespace helx::server {

inline constexpr char kKillUnacknowledged[] = "kill_unacknowledged";

struct PoolDevice {
  records::DeviceRecord record;
  std::optional<records::DeviceLeaseRecord> lease;
  int64_t lease_deadline_ms = 0;    // steady
  std::string check_job;            // id of the health check under way; empty: none
  int64_t check_not_before_ms = 0;  // steady
  std::string quarantined_session;  // whose kill was not acknowledged

  const std::string& name() const { return record.name(); }
  v1::DeviceHealth health() const { return record.health(); }
};

// Not thread-safe. Every change appends its rows to `writes`. Pointers stay valid: devices are never
// removed.
class DevicePool {
 public:
  explicit DevicePool(const Clock* clock) : clock_(clock) {}

  // Leases are re-armed in full.
  absl::Status Load(const Store& store);

  PoolDevice* Find(const std::string& name);
  const PoolDevice* Find(const std::string& name) const;
  void ForEach(const std::function<void(PoolDevice&)>& visit);
  bool empty() const { return devices_.empty(); }

  // A worker's device lane spoke. A device that is new, or whose worker changed its tools, is to be
  // checked.
  PoolDevice& Join(const std::string& name, const v1::WorkerCatalogue& catalogue, Writes& writes);

  // `reason` is cut to 256 bytes.
  void SetHealth(PoolDevice& device, v1::DeviceHealth health, const std::string& code,
                 const std::string& reason, Writes& writes);
  void SetDraining(PoolDevice& device, bool draining, Writes& writes);
  void CheckPassed(PoolDevice& device, Writes& writes);

  // Whether jobs of (instance, user) run on it. A person's lease shuts everybody else out, and opens
  // a device in maintenance to its holder.
  bool TakesWorkOf(const PoolDevice& device, const std::string& instance,
                   const std::string& user) const;
  // Why nobody's does although its worker could: "devices_unhealthy", "devices_draining",
  // "devices_reserved"; empty when it takes somebody's.
  std::string WhyClosedTo(const PoolDevice& device, const std::string& instance,
                          const std::string& user) const;
  bool TakesChecks(const PoolDevice& device) const;

  // People's leases. The answer of Acquire is what was granted; Release and Extend compare the id.
  absl::StatusOr<v1::DeviceLease> Acquire(PoolDevice& device, v1::DeviceLease wanted,
                                          int64_t ttl_ms, Writes& writes);
  absl::StatusOr<v1::DeviceLease> Extend(PoolDevice& device, const std::string& id, int64_t ttl_ms,
                                         Writes& writes);
  absl::Status CheckHolder(const PoolDevice& device, const std::string& id) const;
  void Release(PoolDevice& device, Writes& writes);
  // Ends the leases that ran out; the devices that are free again.
  std::vector<PoolDevice*> ExpireLeases(Writes& writes);

  // Health checks, one per platform. A device gets that of the first of its platforms (by name) that
  // has one.
  void SetCheck(const records::HealthCheckRecord& check, Writes& writes);
  void ClearCheck(const std::string& platform, Writes& writes);
  const records::HealthCheckRecord* CheckFor(const PoolDevice& device) const;
  template <typename Visit>
  void ForEachCheck(const Visit& visit) const {
    for (const auto& [platform, check] : checks_) visit(check);
  }
  // Whether its health check should be started now.
  bool IsCheckDue(const PoolDevice& device, int64_t interval_ms) const;

  // Violations when no device that is not retired can ever match: its selector, and (unless empty)
  // its platform.
  std::vector<v1::Violation> Refusal(const std::string& selector,
                                     const std::string& platform) const;

 private:
  void Write(const PoolDevice& device, Writes& writes) const;
  void WriteLease(const PoolDevice& device, Writes& writes) const;

  const Clock* const clock_;
  std::map<std::string, std::unique_ptr<PoolDevice>> devices_;
  std::map<std::string, records::HealthCheckRecord> checks_;  // by platform
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_DEVICE_POOL_H_

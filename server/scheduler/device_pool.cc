#include "server/scheduler/device_pool.h"

#include <algorithm>
#include <set>

#include "server/scheduler/catalogue.h"
#include "server/scheduler/names.h"
#include "server/scheduler/selector.h"
#include "server/scheduler/timestamps.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kDevicePrefix[] = "device";
constexpr char kCheckPrefix[] = "check";
constexpr char kLeasePrefix[] = "lease:";
constexpr size_t kReasonBytes = 256;
constexpr size_t kNearest = 3;

std::set<std::string> PlatformsOf(const v1::WorkerCatalogue& catalogue) {
  std::set<std::string> out;
  for (const v1::TargetInfo& target : catalogue.targets()) {
    if (target.reason().empty()) out.insert(target.platform());
  }
  return out;
}

bool HasPlatform(const records::DeviceRecord& record, const std::string& platform) {
  const auto& platforms = record.platforms();
  return platform.empty() ||
         std::find(platforms.begin(), platforms.end(), platform) != platforms.end();
}

}  // namespace

absl::Status DevicePool::Load(const Store& store) {
  absl::Status damaged;
  HELX_RETURN_IF_ERROR(store.Scan(Family::kDefault, {.prefix = InstanceKey(kDevicePrefix, "")},
                                  [&](std::string_view key, std::string_view value) {
                                    auto device = std::make_unique<PoolDevice>();
                                    if (!device->record.ParseFromString(std::string(value))) {
                                      damaged = DataLoss("the row of device " +
                                                         std::string(LastPart(key)) +
                                                         " is damaged");
                                      return false;
                                    }
                                    devices_[device->record.name()] = std::move(device);
                                    return true;
                                  }));
  HELX_RETURN_IF_ERROR(damaged);
  HELX_RETURN_IF_ERROR(store.Scan(Family::kDefault, {.prefix = InstanceKey(kCheckPrefix, "")},
                                  [&](std::string_view, std::string_view value) {
                                    records::HealthCheckRecord check;
                                    if (check.ParseFromString(std::string(value))) {
                                      checks_[check.check().platform()] = check;
                                    }
                                    return true;
                                  }));
  return store.Scan(Family::kLeases, {.prefix = kLeasePrefix},
                    [&](std::string_view, std::string_view value) {
                      records::DeviceLeaseRecord lease;
                      if (!lease.ParseFromString(std::string(value))) return true;
                      const auto found = devices_.find(lease.lease().device());
                      if (found == devices_.end()) return true;
                      PoolDevice& device = *found->second;
                      device.lease_deadline_ms = clock_->SteadyMillis() + lease.ttl_ms();
                      SetTimestamp(clock_->WallMicros() + lease.ttl_ms() * 1000,
                                   lease.mutable_lease()->mutable_expire_time());
                      device.lease = std::move(lease);
                      return true;
                    });
}

PoolDevice* DevicePool::Find(const std::string& name) {
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : found->second.get();
}

const PoolDevice* DevicePool::Find(const std::string& name) const {
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : found->second.get();
}

void DevicePool::ForEach(const std::function<void(PoolDevice&)>& visit) {
  for (auto& [name, device] : devices_) visit(*device);
}

void DevicePool::Write(const PoolDevice& device, Writes& writes) const {
  writes.push_back({Family::kDefault, InstanceKey(kDevicePrefix, device.name()),
                    device.record.SerializeAsString()});
}

void DevicePool::WriteLease(const PoolDevice& device, Writes& writes) const {
  std::optional<std::string> value;
  if (device.lease.has_value()) value = device.lease->SerializeAsString();
  writes.push_back({Family::kLeases, kLeasePrefix + device.name(), std::move(value)});
}

PoolDevice& DevicePool::Join(const std::string& name, const v1::WorkerCatalogue& catalogue,
                             Writes& writes) {
  auto& slot = devices_[name];
  const bool fresh = slot == nullptr;
  if (fresh) slot = std::make_unique<PoolDevice>();
  PoolDevice& device = *slot;
  const std::string before = device.record.SerializeAsString();
  device.record.set_name(name);
  *device.record.mutable_labels() = catalogue.labels();
  device.record.clear_platforms();
  for (const std::string& platform : PlatformsOf(catalogue)) {
    device.record.add_platforms(platform);
  }
  const std::string tools = CatalogueDigest({&catalogue});
  const bool changed = device.record.catalogue_digest() != tools;
  device.record.set_catalogue_digest(tools);
  if (fresh || (changed && device.health() == v1::HEALTH_GOOD)) {
    SetHealth(device, v1::HEALTH_UNKNOWN, fresh ? "joined" : "tools_changed",
              fresh ? "it has just joined" : "its worker has other tools than when it was checked",
              writes);
  } else if (device.record.SerializeAsString() != before) {
    Write(device, writes);
  }
  return device;
}

void DevicePool::SetHealth(PoolDevice& device, v1::DeviceHealth health, const std::string& code,
                           const std::string& reason, Writes& writes) {
  device.record.set_health(health);
  device.record.set_health_code(code);
  device.record.set_health_reason(reason.substr(0, kReasonBytes));
  device.record.set_health_us(clock_->WallMicros());
  device.quarantined_session.clear();
  device.check_not_before_ms = 0;
  Write(device, writes);
}

void DevicePool::SetDraining(PoolDevice& device, bool draining, Writes& writes) {
  device.record.set_draining(draining);
  Write(device, writes);
}

void DevicePool::CheckPassed(PoolDevice& device, Writes& writes) {
  device.record.set_check_us(clock_->WallMicros());
  if (device.health() == v1::HEALTH_UNKNOWN || device.health() == v1::HEALTH_GOOD) {
    return SetHealth(device, v1::HEALTH_GOOD, "health_check_passed", "its health check passed",
                     writes);
  }
  Write(device, writes);
}

std::string DevicePool::WhyClosedTo(const PoolDevice& device, const std::string& instance,
                                    const std::string& user) const {
  if (device.record.draining()) return "devices_draining";
  const bool holder = device.lease.has_value() && device.lease->lease().instance() == instance &&
                      device.lease->lease().user() == user;
  const v1::DeviceHealth health = device.health();
  const bool healthy = health == v1::HEALTH_GOOD ||
                       (health == v1::HEALTH_UNKNOWN && CheckFor(device) == nullptr) ||
                       (holder && health == v1::HEALTH_MAINTENANCE);
  if (!healthy) return "devices_unhealthy";
  return device.lease.has_value() && !holder ? "devices_reserved" : "";
}

bool DevicePool::TakesWorkOf(const PoolDevice& device, const std::string& instance,
                             const std::string& user) const {
  return WhyClosedTo(device, instance, user).empty();
}

bool DevicePool::TakesChecks(const PoolDevice& device) const {
  const v1::DeviceHealth health = device.health();
  return !device.record.draining() && !device.lease.has_value() &&
         (health == v1::HEALTH_GOOD || health == v1::HEALTH_UNKNOWN ||
          health == v1::HEALTH_LOOPING);
}

absl::StatusOr<v1::DeviceLease> DevicePool::Acquire(PoolDevice& device, v1::DeviceLease wanted,
                                                    int64_t ttl_ms, Writes& writes) {
  if (device.lease.has_value()) {
    const v1::DeviceLease& held = device.lease->lease();
    const bool told = held.instance() == wanted.instance();
    return FailedPrecondition("device " + device.name() + " is reserved by " +
                              (told ? held.user() : std::string("another instance")) + " for " +
                              std::to_string((device.lease_deadline_ms - clock_->SteadyMillis()) /
                                             1000) +
                              " s more; ask again then, or choose another device");
  }
  device.record.set_last_fence(device.record.last_fence() + 1);
  Write(device, writes);
  wanted.set_device(device.name());
  wanted.set_fence(device.record.last_fence());
  SetTimestamp(clock_->WallMicros(), wanted.mutable_acquire_time());
  device.lease.emplace();
  *device.lease->mutable_lease() = std::move(wanted);
  return Extend(device, device.lease->lease().id(), ttl_ms, writes);
}

absl::Status DevicePool::CheckHolder(const PoolDevice& device, const std::string& id) const {
  if (device.lease.has_value() && device.lease->lease().id() == id) return absl::OkStatus();
  return FailedPrecondition("lease " + Quoted(id) + " is not the current one of device " +
                            device.name() + ": it ended, or the device was never leased by it");
}

absl::StatusOr<v1::DeviceLease> DevicePool::Extend(PoolDevice& device, const std::string& id,
                                                   int64_t ttl_ms, Writes& writes) {
  HELX_RETURN_IF_ERROR(CheckHolder(device, id));
  device.lease->set_ttl_ms(ttl_ms);
  device.lease_deadline_ms = clock_->SteadyMillis() + ttl_ms;
  SetTimestamp(clock_->WallMicros() + ttl_ms * 1000,
               device.lease->mutable_lease()->mutable_expire_time());
  WriteLease(device, writes);
  return device.lease->lease();
}

void DevicePool::Release(PoolDevice& device, Writes& writes) {
  device.lease.reset();
  WriteLease(device, writes);
}

std::vector<PoolDevice*> DevicePool::ExpireLeases(Writes& writes) {
  std::vector<PoolDevice*> freed;
  for (auto& [name, device] : devices_) {
    if (!device->lease.has_value() || clock_->SteadyMillis() < device->lease_deadline_ms) continue;
    Release(*device, writes);
    freed.push_back(device.get());
  }
  return freed;
}

void DevicePool::SetCheck(const records::HealthCheckRecord& check, Writes& writes) {
  const std::string& platform = check.check().platform();
  checks_[platform] = check;
  writes.push_back(
      {Family::kDefault, InstanceKey(kCheckPrefix, platform), check.SerializeAsString()});
  // What passed another check has not passed this one.
  for (auto& [name, device] : devices_) {
    if (CheckFor(*device) != &checks_[platform] || device->health() != v1::HEALTH_GOOD) continue;
    SetHealth(*device, v1::HEALTH_UNKNOWN, "check_changed", "its health check is a new one", writes);
  }
}

void DevicePool::ClearCheck(const std::string& platform, Writes& writes) {
  checks_.erase(platform);
  writes.push_back({Family::kDefault, InstanceKey(kCheckPrefix, platform), std::nullopt});
}

const records::HealthCheckRecord* DevicePool::CheckFor(const PoolDevice& device) const {
  for (const std::string& platform : device.record.platforms()) {
    const auto found = checks_.find(platform);
    if (found != checks_.end()) return &found->second;
  }
  return nullptr;
}

bool DevicePool::IsCheckDue(const PoolDevice& device, int64_t interval_ms) const {
  if (!device.check_job.empty() || !TakesChecks(device) || CheckFor(device) == nullptr ||
      clock_->SteadyMillis() < device.check_not_before_ms) {
    return false;
  }
  if (device.health() != v1::HEALTH_GOOD) return true;
  return clock_->WallMicros() - device.record.check_us() >= interval_ms * 1000;
}

std::vector<v1::Violation> DevicePool::Refusal(const std::string& selector,
                                               const std::string& platform) const {
  const auto parsed = Selector::Parse(selector);
  std::string nearest;
  size_t listed = 0;
  for (const auto& [name, device] : devices_) {
    if (device->health() == v1::HEALTH_RETIRED || !HasPlatform(device->record, platform)) continue;
    const std::string mismatch = parsed.ok() ? parsed->Mismatch(device->record.labels()) : selector;
    if (mismatch.empty()) return {};
    if (listed++ < kNearest) {
      nearest += (nearest.empty() ? "" : ", ") + name + " (not " + mismatch + ")";
    }
  }
  v1::Violation violation;
  violation.set_code("no_matching_device");
  violation.set_subject("selector " + selector);
  violation.set_message("no device of the pool matches the selector " + Quoted(selector) +
                        (platform.empty() ? "" : " and executes on " + platform) +
                        (nearest.empty() ? "; there is none for that platform"
                                         : "; the nearest are " + nearest) +
                        "; 'helxctl devices' lists labels");
  return {violation};
}

}  // namespace helx::server

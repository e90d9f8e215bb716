#include "client/cli/pool_view.h"

#include <algorithm>

#include "client/cli/job_view.h"
#include "client/cli/text.h"

namespace helx::cli {
namespace {

// "good" from "HEALTH_GOOD".
std::string AfterPrefix(const std::string& name, std::string_view prefix) {
  std::string text = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : std::string();
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

Json NullIfEmpty(const std::string& text) { return text.empty() ? Json() : Json(Utf8(text)); }

std::string LabelsText(const helx::v1::Device& device) {
  std::string text;
  for (const auto& label : device.labels()) {
    text += (text.empty() ? "" : ",") + label.key() +
            (label.value().empty() ? "" : "=" + label.value());
  }
  return text;
}

}  // namespace

std::string StateName(helx::v1::DeviceState state) {
  return AfterPrefix(helx::v1::DeviceState_Name(state), "STATE_");
}

std::string HealthName(helx::v1::DeviceHealth health) {
  return AfterPrefix(helx::v1::DeviceHealth_Name(health), "HEALTH_");
}

Json LeaseToJson(const helx::v1::DeviceLease& lease) {
  return {{"id", NullIfEmpty(lease.id())},
          {"device", Utf8(lease.device())},
          {"user", NullIfEmpty(lease.user())},
          {"purpose", NullIfEmpty(lease.purpose())},
          {"fence", lease.fence()},
          {"acquire_time", NullIfEmpty(TimeText(lease.acquire_time()))},
          {"expire_time", NullIfEmpty(TimeText(lease.expire_time()))},
          {"ready", lease.ready()}};
}

Json DeviceToJson(const helx::v1::Device& device) {
  Json labels = Json::object();
  for (const auto& label : device.labels()) labels[Utf8(label.key())] = Utf8(label.value());
  Json platforms = Json::array();
  for (const auto& platform : device.platforms()) platforms.push_back(Utf8(platform));
  return {{"device", Utf8(device.name())},
          {"state", StateName(device.state())},
          {"health", HealthName(device.health())},
          {"health_code", NullIfEmpty(device.health_code())},
          {"health_reason", NullIfEmpty(device.health_reason())},
          {"health_time", NullIfEmpty(TimeText(device.health_time()))},
          {"check_time", NullIfEmpty(TimeText(device.check_time()))},
          {"online", device.online()},
          {"draining", device.draining()},
          {"labels", std::move(labels)},
          {"platforms", std::move(platforms)},
          {"lease", device.has_lease() ? LeaseToJson(device.lease()) : Json()}};
}

void PrintDevices(Invocation& invocation, const std::vector<helx::v1::Device>& devices) {
  if (invocation.json) {
    Json list = Json::array();
    for (const auto& device : devices) list.push_back(DeviceToJson(device));
    return invocation.PrintJson({{"devices", std::move(list)}});
  }
  Table table({"Device", "State", "Health", "Worker", "Labels", "Reserved by", "Why"});
  for (const auto& device : devices) {
    const auto& lease = device.lease();
    table.Add({Printable(device.name()), StateName(device.state()),
               HealthName(device.health()) + (device.draining() ? ", draining" : ""),
               device.online() ? "online" : "offline", Printable(LabelsText(device)),
               !device.has_lease()      ? ""
               : lease.user().empty()   ? "another instance"
                                        : Printable(lease.user()),
               Printable(device.health_reason())});
  }
  table.Print(invocation.out);
}

void PrintLeases(Invocation& invocation, const std::vector<helx::v1::DeviceLease>& leases) {
  if (invocation.json) {
    Json list = Json::array();
    for (const auto& lease : leases) list.push_back(LeaseToJson(lease));
    return invocation.PrintJson({{"leases", std::move(list)}});
  }
  Table table({"Device", "Lease", "User", "Until", "Ready", "Purpose"});
  for (const auto& lease : leases) {
    table.Add({Printable(lease.device()), Printable(lease.id()), Printable(lease.user()),
               TimeText(lease.expire_time()), lease.ready() ? "yes" : "not yet",
               Printable(lease.purpose())});
  }
  table.Print(invocation.out);
}

}  // namespace helx::cli

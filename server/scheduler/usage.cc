#include "server/scheduler/usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/scheduler/records.pb.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kPrefix[] = "usage";

}  // namespace

absl::Status Usage::Load(const Store& store) {
  return store.Scan(Family::kDefault, {.prefix = InstanceKey(kPrefix, "")},
                    [&](std::string_view key, std::string_view value) {
                      records::UsageRecord record;
                      if (record.ParseFromString(std::string(value))) {
                        users_[std::string(key.substr(sizeof(kPrefix)))] = {record.seconds(),
                                                                            record.as_of_us()};
                      }
                      return true;
                    });
}

double Usage::Decayed(const Entry& entry, int64_t now_us) {
  // A wall clock that stepped back must not make usage grow.
  const double age = static_cast<double>(std::max<int64_t>(now_us - entry.as_of_us, 0)) / 1e6;
  return entry.seconds * std::exp2(-age / kHalfLifeSeconds);
}

void Usage::Add(const std::string& owner, double seconds, int64_t now_us, Writes& writes) {
  if (seconds <= 0) return;
  Entry& entry = users_[owner];
  entry = {Decayed(entry, now_us) + seconds, std::max(now_us, entry.as_of_us)};
  records::UsageRecord record;
  record.set_instance(std::string(FirstPart(owner)));
  record.set_user(std::string(LastPart(owner)));
  record.set_seconds(entry.seconds);
  record.set_as_of_us(entry.as_of_us);
  writes.push_back({Family::kDefault, InstanceKey(kPrefix, owner), record.SerializeAsString()});
}

double Usage::SecondsOf(const std::string& owner, int64_t now_us) const {
  const auto found = users_.find(owner);
  return found == users_.end() ? 0 : Decayed(found->second, now_us);
}

double Usage::ScoreOf(const std::string& owner) const {
  const auto found = users_.find(owner);
  if (found == users_.end()) return -std::numeric_limits<double>::infinity();
  return std::log2(found->second.seconds) +
         static_cast<double>(found->second.as_of_us) / (kHalfLifeSeconds * 1e6);
}

}  // namespace helx::server

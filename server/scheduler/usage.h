// How much device time each user took lately: what fair share orders the queue by.
#ifndef HELX_SERVER_SCHEDULER_USAGE_H_
#define HELX_SERVER_SCHEDULER_USAGE_H_

#include <cstdint>
#include <map>
#include <string>

#include "core/base/status.h"
#include "server/store/store.h"

namespace helx::server {

// Device seconds that lose half their weight in an hour. Not thread-safe.
class Usage {
 public:
  static constexpr double kHalfLifeSeconds = 3600;

  absl::Status Load(const Store& store);
  // `owner`: InstanceKey(instance, user).
  void Add(const std::string& owner, double seconds, int64_t now_us, Writes& writes);
  double SecondsOf(const std::string& owner, int64_t now_us) const;
  // Orders users as their seconds do at any one moment: all decay alike, so the order of two users
  // changes only when one of them is charged. Minus infinity for who took nothing.
  double ScoreOf(const std::string& owner) const;

 private:
  struct Entry {
    double seconds = 0;
    int64_t as_of_us = 0;
  };
  static double Decayed(const Entry& entry, int64_t now_us);
  std::map<std::string, Entry> users_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_USAGE_H_

// Time, injected so that tests decide it.
#ifndef HELX_SERVER_SCHEDULER_CLOCK_H_
#define HELX_SERVER_SCHEDULER_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace helx::server {

class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since the epoch: for timestamps that people read.
  virtual int64_t WallMicros() const = 0;
  // Milliseconds of a clock that never steps: for limits, leases and back-off.
  virtual int64_t SteadyMillis() const = 0;
};

class SystemClock : public Clock {
 public:
  int64_t WallMicros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  int64_t SteadyMillis() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_CLOCK_H_

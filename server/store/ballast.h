// A file that takes up space while all is well and is given back when the disk is full, so that the
// store can still be reopened (which needs about the size of its write-ahead log) and can record
// how the work in hand ended.
#ifndef HELX_SERVER_STORE_BALLAST_H_
#define HELX_SERVER_STORE_BALLAST_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace helx::server {

// Thread-safe.
class Ballast {
 public:
  Ballast(std::string path, int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  // Takes the space; does nothing when it is held already. RESOURCE_EXHAUSTED unless twice the
  // ballast is free.
  absl::Status Take();
  // Gives the space back.
  void Release();
  bool held() const { return held_; }

 private:
  const std::string path_;
  const int64_t bytes_;
  std::atomic<bool> held_{false};
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_BALLAST_H_

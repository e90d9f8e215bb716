// How far an operation on the store is; shared by the thread that does it and those who watch.
#ifndef HELX_SERVER_MAINTENANCE_OPERATION_H_
#define HELX_SERVER_MAINTENANCE_OPERATION_H_

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "helx/v1/store.pb.h"

namespace helx::server {

// Thread-safe.
class Operation {
 public:
  explicit Operation(v1::StoreOperation begin) : state_(std::move(begin)) {}

  // Changes the counts and tells the watchers.
  void Update(const std::function<void(v1::StoreOperation&)>& change) {
    {
      std::lock_guard lock(mutex_);
      change(state_);
    }
    Tell();
  }
  void Problem(const std::string& text) {
    Update([&](v1::StoreOperation& state) {
      state.set_problem_count(state.problem_count() + 1);
      if (state.problems_size() < kProblemsMost) state.add_problems(text.substr(0, kTextMost));
    });
  }
  // The last change.
  void End(const absl::Status& status, const std::function<void(v1::StoreOperation&)>& change) {
    {
      std::lock_guard lock(mutex_);
      change(state_);
      status_ = status;
      ended_ = true;
    }
    Tell();
  }

  struct View {
    v1::StoreOperation state;
    bool ended = false;
    absl::Status status;  // once ended
    uint64_t changes = 0;
  };
  View Look() const {
    std::lock_guard lock(mutex_);
    return {state_, ended_, status_, changes_};
  }
  // `changed` may be called once more after the end of the watch.
  uint64_t Watch(std::function<void()> changed) {
    std::lock_guard lock(mutex_);
    watchers_[++watches_] = std::move(changed);
    return watches_;
  }
  void Unwatch(uint64_t watch) {
    std::lock_guard lock(mutex_);
    watchers_.erase(watch);
  }

  // `why` is what the operation ends with; the first counts.
  void Cancel(const std::string& why) {
    std::lock_guard lock(mutex_);
    if (cancelled_) return;
    why_ = why;
    cancelled_ = true;
  }
  std::atomic<bool>* cancelled() { return &cancelled_; }
  // CANCELLED once somebody wants it to end: to be asked now and then by whoever does the work.
  absl::Status Continue() const {
    if (!cancelled_) return absl::OkStatus();
    std::lock_guard lock(mutex_);
    return absl::CancelledError(why_);
  }

 private:
  static constexpr int kProblemsMost = 100;
  static constexpr size_t kTextMost = 512;

  void Tell() {
    std::map<uint64_t, std::function<void()>> watchers;
    {
      std::lock_guard lock(mutex_);
      ++changes_;
      watchers = watchers_;
    }
    for (const auto& [watch, changed] : watchers) changed();
  }

  mutable std::mutex mutex_;
  v1::StoreOperation state_;
  bool ended_ = false;
  absl::Status status_;
  uint64_t changes_ = 0;
  uint64_t watches_ = 0;
  std::map<uint64_t, std::function<void()>> watchers_;
  std::atomic<bool> cancelled_{false};
  std::string why_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_MAINTENANCE_OPERATION_H_

// Actions that wait for a worker, in order of (-priority, their user's recent device seconds,
// arrival), apart by what a worker must offer: an action that nobody can run never stands before one
// that somebody can.
#ifndef HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_
#define HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_

#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "helx/v1/worker.pb.h"
#include "server/scheduler/records.pb.h"

namespace helx::server {

struct Action;

// Not thread-safe. REQUIRES: an action's priority, owner, arrival and placement do not change while
// it is queued.
class ActionQueue {
 public:
  // `score` orders owners: the lower one's actions go first.
  explicit ActionQueue(std::function<double(const std::string& owner)> score)
      : score_(std::move(score)) {}

  void Push(Action* action);
  void Remove(Action* action);

  // The first action of the lane that `can_place` (asked once per placement) and `may_take` (asked
  // per action, in order) allow; nullptr when there is none. It stays queued.
  Action* Best(v1::Lane lane, const std::function<bool(const records::Placement&)>& can_place,
               const std::function<bool(const Action&)>& may_take) const;

  // 1 for the first of those with the same placement, as scores are now. O(users + log n).
  // REQUIRES: queued.
  int64_t Position(const Action& action) const;

  // Visits every queued action.
  void ForEach(const std::function<void(Action*)>& visit) const;

 private:
  // The actions of one owner by arrival, in a tree that knows the rank of its keys.
  using Line = __gnu_pbds::tree<uint64_t, Action*, std::less<uint64_t>, __gnu_pbds::rb_tree_tag,
                                __gnu_pbds::tree_order_statistics_node_update>;
  using Tier = std::map<std::string, Line>;                // by owner
  using LineKey = std::pair<v1::Lane, std::string>;        // placement, serialised
  using Turn = std::tuple<int64_t, double, uint64_t>;      // (-priority, score, arrival)
  struct Group {
    records::Placement placement;
    std::map<int64_t, Tier> tiers;  // by -priority
  };

  static LineKey KeyOf(const Action& action);
  // The owners of a tier in the order in which their first actions go.
  std::vector<std::pair<Turn, const Line*>> InOrder(int64_t rank, const Tier& tier) const;

  const std::function<double(const std::string& owner)> score_;
  std::map<LineKey, Group> groups_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_

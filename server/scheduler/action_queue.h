// Actions that wait for a worker, in order of (-priority, arrival), apart by what a worker must
// offer: an action that nobody can run never stands before one that somebody can.
#ifndef HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_
#define HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_

#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "helx/v1/worker.pb.h"
#include "server/scheduler/records.pb.h"

namespace helx::server {

struct Action;

// Not thread-safe. REQUIRES: an action's priority, arrival and placement do not change while it is
// queued.
class ActionQueue {
 public:
  void Push(Action* action);
  void Remove(Action* action);

  // The first action of the lane that `can_place` (asked once per placement) and `may_take` (asked
  // per action, from the front) allow; nullptr when there is none. It stays queued.
  Action* Best(v1::Lane lane, const std::function<bool(const records::Placement&)>& can_place,
               const std::function<bool(const Action&)>& may_take) const;

  // 1 for the first of those with the same placement. O(log n). REQUIRES: queued.
  int64_t Position(const Action& action) const;

  // Visits every queued action.
  void ForEach(const std::function<void(Action*)>& visit) const;

 private:
  using Rank = std::pair<int64_t, uint64_t>;  // (-priority, arrival); arrival is unique
  // A tree that knows the rank of its keys.
  using Line = __gnu_pbds::tree<Rank, Action*, std::less<Rank>, __gnu_pbds::rb_tree_tag,
                                __gnu_pbds::tree_order_statistics_node_update>;
  using LineKey = std::pair<v1::Lane, std::string>;  // placement, serialised
  struct Group {
    records::Placement placement;
    Line line;
  };

  static Rank RankOf(const Action& action);
  static LineKey KeyOf(const Action& action);
  std::map<LineKey, Group> groups_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_ACTION_QUEUE_H_

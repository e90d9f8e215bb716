#include "server/scheduler/action_queue.h"

#include "server/scheduler/action.h"

namespace helx::server {

ActionQueue::Rank ActionQueue::RankOf(const Action& action) {
  return {-int64_t{action.priority}, action.arrival};
}

ActionQueue::LineKey ActionQueue::KeyOf(const Action& action) {
  return {action.lane_kind(), action.record.placement().SerializeAsString()};
}

void ActionQueue::Push(Action* action) {
  Group& group = groups_[KeyOf(*action)];
  group.placement = action->record.placement();
  group.line.insert({RankOf(*action), action});
}

void ActionQueue::Remove(Action* action) {
  const auto group = groups_.find(KeyOf(*action));
  if (group == groups_.end()) return;
  group->second.line.erase(RankOf(*action));
  if (group->second.line.empty()) groups_.erase(group);
}

Action* ActionQueue::Best(v1::Lane lane,
                          const std::function<bool(const records::Placement&)>& can_place,
                          const std::function<bool(const Action&)>& may_take) const {
  Action* best = nullptr;
  for (const auto& [key, group] : groups_) {
    if (key.first != lane) continue;
    const auto& front = *group.line.begin();
    if (best != nullptr && RankOf(*best) < front.first) continue;
    if (!can_place(group.placement)) continue;
    for (const auto& [rank, action] : group.line) {
      if (!may_take(*action)) continue;
      if (best == nullptr || rank < RankOf(*best)) best = action;
      break;
    }
  }
  return best;
}

int64_t ActionQueue::Position(const Action& action) const {
  const auto group = groups_.find(KeyOf(action));
  if (group == groups_.end()) return 0;
  return static_cast<int64_t>(group->second.line.order_of_key(RankOf(action))) + 1;
}

void ActionQueue::ForEach(const std::function<void(Action*)>& visit) const {
  for (const auto& [key, group] : groups_) {
    for (const auto& [rank, action] : group.line) visit(action);
  }
}

}  // namespace helx::server

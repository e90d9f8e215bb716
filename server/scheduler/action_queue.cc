#include "server/scheduler/action_queue.h"

#include <algorithm>

#include "server/scheduler/action.h"

namespace helx::server {

ActionQueue::LineKey ActionQueue::KeyOf(const Action& action) {
  return {action.lane_kind(), action.record.placement().SerializeAsString()};
}

void ActionQueue::Push(Action* action) {
  Group& group = groups_[KeyOf(*action)];
  group.placement = action->record.placement();
  group.tiers[-int64_t{action->priority}][action->owner].insert({action->arrival, action});
}

void ActionQueue::Remove(Action* action) {
  const auto group = groups_.find(KeyOf(*action));
  if (group == groups_.end()) return;
  const auto tier = group->second.tiers.find(-int64_t{action->priority});
  if (tier == group->second.tiers.end()) return;
  const auto line = tier->second.find(action->owner);
  if (line == tier->second.end()) return;
  line->second.erase(action->arrival);
  if (line->second.empty()) tier->second.erase(line);
  if (tier->second.empty()) group->second.tiers.erase(tier);
  if (group->second.tiers.empty()) groups_.erase(group);
}

std::vector<std::pair<ActionQueue::Turn, const ActionQueue::Line*>> ActionQueue::InOrder(
    int64_t rank, const Tier& tier) const {
  std::vector<std::pair<Turn, const Line*>> out;
  for (const auto& [owner, line] : tier) {
    out.push_back({{rank, score_(owner), line.begin()->first}, &line});
  }
  std::sort(out.begin(), out.end());
  return out;
}

Action* ActionQueue::Best(v1::Lane lane,
                          const std::function<bool(const records::Placement&)>& can_place,
                          const std::function<bool(const Action&)>& may_take) const {
  Action* best = nullptr;
  Turn best_turn;
  for (const auto& [key, group] : groups_) {
    if (key.first != lane || !can_place(group.placement)) continue;
    for (const auto& [rank, tier] : group.tiers) {
      if (best != nullptr && std::get<0>(best_turn) < rank) break;
      bool found = false;
      for (const auto& [turn, line] : InOrder(rank, tier)) {
        if (best != nullptr && best_turn < turn) break;
        for (const auto& [arrival, action] : *line) {
          const Turn own = {rank, std::get<1>(turn), arrival};
          if (best != nullptr && best_turn < own) break;
          if (!may_take(*action)) continue;
          best = action;
          best_turn = own;
          found = true;
          break;
        }
      }
      if (found) break;
    }
  }
  return best;
}

int64_t ActionQueue::Position(const Action& action) const {
  const auto group = groups_.find(KeyOf(action));
  if (group == groups_.end()) return 0;
  int64_t ahead = 0;
  const int64_t rank = -int64_t{action.priority};
  for (const auto& [other, tier] : group->second.tiers) {
    if (other > rank) break;
    if (other < rank) {
      for (const auto& [owner, line] : tier) ahead += static_cast<int64_t>(line.size());
      continue;
    }
    const double own = score_(action.owner);
    for (const auto& [owner, line] : tier) {
      const double score = score_(owner);
      // Who took as much (the owner too) goes by arrival.
      if (score < own) ahead += static_cast<int64_t>(line.size());
      if (score == own) ahead += static_cast<int64_t>(line.order_of_key(action.arrival));
    }
  }
  return ahead + 1;
}

void ActionQueue::ForEach(const std::function<void(Action*)>& visit) const {
  for (const auto& [key, group] : groups_) {
    for (const auto& [rank, tier] : group.tiers) {
      for (const auto& [owner, line] : tier) {
        for (const auto& [arrival, action] : line) visit(action);
      }
    }
  }
}

}  // namespace helx::server

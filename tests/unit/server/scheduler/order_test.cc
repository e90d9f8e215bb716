// What decides who goes next: selectors, usage, the queue's order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/scheduler/action.h"
#include "server/scheduler/action_queue.h"
#include "server/scheduler/selector.h"
#include "server/scheduler/usage.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Labels LabelsOf(const std::map<std::string, std::string>& entries) {
  Labels out;
  for (const auto& [key, value] : entries) {
    v1::Label* label = out.Add();
    label->set_key(key);
    label->set_value(value);
  }
  return out;
}

TEST(SelectorTest, EveryTermMustHold) {
  const Labels labels = LabelsOf({{"lab", "berlin"}, {"fvp", ""}});
  for (const char* yes : {"", "lab=berlin", "fvp", "lab=berlin,fvp", "rack!=7", "!rack", "fvp=",
                          "lab!=paris"}) {
    EXPECT_TRUE(Selector::Parse(yes)->Matches(labels)) << yes;
  }
  for (const auto& [no, term] : std::map<std::string, std::string>{{"lab=paris", "lab=paris"},
                                                                   {"!fvp", "!fvp"},
                                                                   {"lab=berlin,rack", "rack"},
                                                                   {"lab!=berlin", "lab!=berlin"},
                                                                   {"rack=7,fvp", "rack=7"}}) {
    EXPECT_EQ(Selector::Parse(no)->Mismatch(labels), term);
  }
}

TEST(SelectorTest, RefusesWhatItCannotRead) {
  for (const std::string& bad : {std::string(","), std::string("a,"), std::string("=x"),
                                 std::string("!"), std::string("a=b=c"), std::string("a b"),
                                 std::string(65, 'k'), std::string(513, 'k'),
                                 std::string("a=\xff")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Selector::Parse(bad).status())) << bad;
  }
  EXPECT_THAT(MessageOf(Selector::Parse("lab=berlin,a b").status()), HasSubstr("\"a b\""));
  EXPECT_FALSE(CheckLabels(LabelsOf({{"bad key", "1"}})).ok());
  Labels twice = LabelsOf({{"a", "1"}});
  *twice.Add() = twice[0];
  EXPECT_FALSE(CheckLabels(twice).ok());
}

TEST(UsageTest, HalvesInAnHourAndKeepsItsOrder) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000;
  Usage usage;
  Writes writes;
  const int64_t t0 = 1'700'000'000'000'000;
  usage.Add(InstanceKey("i", "a"), 100, t0, writes);
  usage.Add(InstanceKey("i", "b"), 60, t0 + kHour, writes);
  // 100 s an hour ago weigh 50 s now.
  EXPECT_DOUBLE_EQ(usage.SecondsOf(InstanceKey("i", "a"), t0 + kHour), 50);
  EXPECT_LT(usage.ScoreOf(InstanceKey("i", "a")), usage.ScoreOf(InstanceKey("i", "b")));
  usage.Add(InstanceKey("i", "a"), 11, t0 + kHour, writes);  // 61 s against 60 s
  EXPECT_GT(usage.ScoreOf(InstanceKey("i", "a")), usage.ScoreOf(InstanceKey("i", "b")));
  EXPECT_LT(usage.ScoreOf(InstanceKey("i", "c")), usage.ScoreOf(InstanceKey("i", "b")));
  // A clock that steps back makes nobody's usage grow.
  EXPECT_DOUBLE_EQ(usage.SecondsOf(InstanceKey("i", "b"), t0), 60);
  EXPECT_EQ(writes.size(), 3u);
}

class QueueTest : public ::testing::Test {
 protected:
  Action* Add(const std::string& owner, int32_t priority) {
    auto action = std::make_unique<Action>();
    action->record.set_kind(v1::ACTION_KIND_RUN);
    action->owner = owner;
    action->priority = priority;
    action->arrival = ++arrivals_;
    actions_.push_back(std::move(action));
    queue_.Push(actions_.back().get());
    return actions_.back().get();
  }
  // The arrivals in the order in which they are taken, each beside the position it was told before.
  std::vector<uint64_t> Drain() {
    std::vector<uint64_t> out;
    const auto any = [](const auto&) { return true; };
    while (Action* action = queue_.Best(v1::LANE_DEVICE, any, any)) {
      EXPECT_EQ(queue_.Position(*action), 1);
      out.push_back(action->arrival);
      queue_.Remove(action);
    }
    return out;
  }

  std::map<std::string, double> scores_;
  ActionQueue queue_{[this](const std::string& owner) { return scores_[owner]; }};
  std::vector<std::unique_ptr<Action>> actions_;
  uint64_t arrivals_ = 0;
};

TEST_F(QueueTest, PriorityThenUsageThenArrival) {
  scores_ = {{"heavy", 5}, {"light", 1}, {"idle", 1}};
  Add("heavy", 0);                       // 1
  Add("light", 0);                       // 2
  const Action* third = Add("idle", 0);  // 3
  Add("light", 0);                       // 4
  Add("heavy", 7);                       // 5
  const Action* last = actions_[0].get();
  // Before 3: the priority of 5, and 2, whose owner took as much and came earlier.
  EXPECT_EQ(queue_.Position(*third), 3);
  EXPECT_EQ(queue_.Position(*last), 5);
  EXPECT_THAT(Drain(), ElementsAre(5, 2, 3, 4, 1));
}

TEST_F(QueueTest, WhatMayNotBeTakenHoldsNobodyUp) {
  scores_ = {{"a", 0}, {"b", 0}};
  Add("a", 0);  // 1
  Add("b", 0);  // 2
  Add("a", 0);  // 3
  const auto any = [](const auto&) { return true; };
  const auto not_first = [](const Action& action) { return action.arrival != 1; };
  EXPECT_EQ(queue_.Best(v1::LANE_DEVICE, any, not_first)->arrival, 2u);
  const auto none = [](const Action&) { return false; };
  EXPECT_EQ(queue_.Best(v1::LANE_DEVICE, any, none), nullptr);
  EXPECT_EQ(queue_.Best(v1::LANE_FREEZE, any, any), nullptr);
}

}  // namespace
}  // namespace helx::server

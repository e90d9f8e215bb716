// helxd ends without a word at each of its kill points, in turn, while submitters, uploads,
// cancellations, pins, garbage collection and backups go on. Afterwards the ledger is compared with
// what is there.
//
// HELX_CRASH_HITS sets how often each point is hit (default 1).
#include "server/store/fault_point.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/splitmix64.h"
#include "tests/crash/fault_points.h"
#include "tests/crash/ledger.h"

namespace helx::server {
namespace {

using namespace std::chrono_literals;

constexpr int kSubmitters = 3;
constexpr int kModels = 12;
// A channel that connects while the server goes away may hang for long.
constexpr std::chrono::seconds kCallLimit{2};

int HitsPerPoint() {
  const char* text = std::getenv("HELX_CRASH_HITS");
  return text == nullptr ? 1 : std::atoi(text);
}

// Some models are large enough to be stored in several steps.
std::string ModelOf(int n) {
  const std::string name = "model " + std::to_string(n % kModels);
  return n % 4 == 0 ? name + std::string(5'000'000, 'm') : name;
}

// Submits one job after the other; a submission without an answer is repeated with its request id.
void SubmitJobs(const std::string& address, int id, const std::atomic<bool>* stop, Ledger* ledger) {
  const auto connect = [&] {
    auto client = std::make_unique<Client>(address);
    client->call_limit = kCallLimit;
    return client;
  };
  auto client = connect();
  for (int n = 0; !*stop; ++n) {
    const std::string model = ModelOf(id + n);
    const std::string request_id = "r-" + std::to_string(id) + "-" + std::to_string(n);
    v1::Job job;
    // Until it is acknowledged, so that every job that exists is in the ledger.
    while (true) {
      v1::SubmitJobRequest request = client->Request(model);
      request.set_request_id(request_id);
      request.set_no_cache(n % 2 == 0);
      const grpc::Status status = client->Submit(request, &job);
      if (status.ok()) break;
      std::this_thread::sleep_for(10ms);
      // A new channel connects at once, one that saw the server away only after seconds.
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
          status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
        client = connect();
      }
    }
    ledger->Acknowledge(request_id, model, job);
    if (n % 5 == 4) {
      grpc::ClientContext context;
      v1::CancelJobRequest cancel;
      cancel.set_name(job.name());
      client->jobs->Cancel(&context, cancel, &job);
    }
    // A few jobs at a time.
    for (int i = 0; i < 100 && !*stop && !client->Get(job.name()).finished(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
  }
}

// Everything else that writes.
void Operate(const std::string& address, const std::atomic<bool>* stop) {
  for (int n = 0; !*stop; ++n) {
    Client client(address);
    client.call_limit = kCallLimit;
    client.Put("orphan " + std::to_string(n) + std::string(n % 2 == 0 ? 4'500'000 : 10, 'o'));
    v1::StoreOperation ended;
    {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
      RunToEnd(client.store->CollectGarbage(&context, v1::CollectGarbageRequest()), &ended);
    }
    if (n % 2 == 0) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
      RunToEnd(client.store->Backup(&context, v1::BackupStoreRequest()), &ended);
    }
    grpc::ClientContext list_context;
    list_context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    v1::ListResultsRequest list;
    list.set_page_size(1);
    v1::ListResultsResponse newest;
    if (!client.results->List(&list_context, list, &newest).ok() || newest.results_size() == 0) {
      std::this_thread::sleep_for(10ms);
      continue;
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    v1::PinRequest pin;
    *pin.mutable_bundle() = newest.results(0).bundle();
    v1::PinnedResult pinned;
    client.store->Pin(&context, pin, &pinned);
  }
}

TEST(FaultPoints, EveryAcknowledgementHolds) {
  Daemon daemon({"--unused-seconds", "2", "--gc-seconds", "0"});
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  Ledger ledger;
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<ScriptedWorker>> workers;
  const auto join = [&] {
    workers.clear();
    for (const char* name : {"w1", "w2"}) {
      workers.push_back(std::make_unique<ScriptedWorker>(daemon.address(), name, WorkLikeARealOne));
    }
  };
  join();
  std::vector<std::thread> threads;
  for (int id = 0; id < kSubmitters; ++id) {
    threads.emplace_back(SubmitJobs, daemon.address(), id, &stop, &ledger);
  }
  threads.emplace_back(Operate, daemon.address(), &stop);

  SplitMix64 random(85);
  std::map<std::string, int> hits;
  for (int round = 0; round < HitsPerPoint(); ++round) {
    for (const char* point : kFaultPoints) {
      daemon.Kill();
      // Not always at the first pass; those of the start are passed once.
      const bool at_start =
          std::string(point) == "store.opened" || std::string(point) == "start.recovered";
      const std::string fault =
          std::string(point) + ":" + std::to_string(at_start ? 1 : 1 + random.Next() % 3);
      const auto begin = std::chrono::steady_clock::now();
      setenv("HELX_FAULT_POINT", fault.c_str(), 1);
      daemon.Start();
      unsetenv("HELX_FAULT_POINT");
      join();
      const auto code = daemon.WaitForExit(20s);
      EXPECT_EQ(code.value_or(0), kFaultExitCode) << fault;
      if (code == kFaultExitCode) ++hits[point];
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      std::printf("%-28s after %.1f s\n", fault.c_str(), took.count());
      std::fflush(stdout);
      ASSERT_TRUE(daemon.Start()) << point << ": " << daemon.Errors();
    }
  }
  join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& [point, count] : hits) std::printf("%-26s %d\n", point.c_str(), count);
  std::printf("%zu acknowledged jobs\n", ledger.size());
  EXPECT_GT(ledger.size(), 10u);
  ledger.Verify(daemon.address());
}

// The migration of the first schema, interrupted: the next start takes it up.
TEST(FaultPoints, InterruptedMigrationGoesOn) {
  Daemon daemon;
  std::filesystem::create_directories(daemon.data_folder());
  std::filesystem::permissions(daemon.data_folder(), std::filesystem::perms::owner_all);
  std::string output;
  ASSERT_EQ(RunProgram({"/bin/tar", "-xzf", HELX_SOURCE_DIR "/tests/cases/store_schema_1.tar.gz",
                        "-C", daemon.data_folder()},
                       &output),
            0)
      << output;
  setenv("HELX_FAULT_POINT", "schema.moved", 1);
  EXPECT_FALSE(daemon.Start());
  unsetenv("HELX_FAULT_POINT");
  EXPECT_EQ(daemon.WaitForExit(20s).value_or(0), kFaultExitCode);
  ASSERT_TRUE(daemon.Start()) << daemon.Errors();
  Client client(daemon.address());
  v1::StoreOperation check;
  grpc::ClientContext context;
  ASSERT_TRUE(RunToEnd(client.store->Check(&context, v1::CheckStoreRequest()), &check).ok());
  EXPECT_EQ(check.problem_count(), 0) << check.DebugString();
  EXPECT_EQ(check.jobs(), 2);
  std::string big;
  EXPECT_TRUE(client.Read(DigestOf(std::string(9'000'000, 'z')), &big).ok());
}

}  // namespace
}  // namespace helx::server

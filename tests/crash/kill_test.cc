// kill -9 of helxd and of workers while uncached work runs. From outside, afterwards: every
// acknowledged job exists and has reached one terminal state, succeeded ones have a whole bundle,
// and repeated request ids named the same job.
//
// HELX_CRASH_CYCLES sets the number of kills (default 3).
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "client/cpp/connection.h"
#include "client/cpp/experiment_flow.h"
#include "client/cpp/job_client.h"
#include "client/cpp/result_client.h"
#include "core/base/splitmix64.h"
#include "tests/integration/golden_models.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kClients = 4;
constexpr int kOpenJobs =
    3;  // per client: enough to keep both workers busy, few enough to see terminal states

int Cycles() {
  const char* text = std::getenv("HELX_CRASH_CYCLES");
  return text == nullptr ? 3 : std::atoi(text);
}

std::shared_ptr<client::Connection> Connect(const std::string& address) {
  client::ConnectionOptions options;
  options.endpoint.address = address;
  options.retry_window = seconds(60);
  for (int i = 0; i < 600; ++i) {
    auto connection = client::Connection::Open(options);
    if (connection.ok()) return *connection;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return nullptr;
}

// Jobs as the server acknowledged them, by request id.
class Ledger {
 public:
  void Acknowledge(const std::string& request_id, const std::string& job) {
    std::lock_guard lock(mutex_);
    const auto [it, fresh] = jobs_.emplace(request_id, job);
    EXPECT_TRUE(fresh || it->second == job) << request_id << " named two jobs";
  }
  std::map<std::string, std::string> jobs() const {
    std::lock_guard lock(mutex_);
    return jobs_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> jobs_;
};

// Submits uncached work and keeps a few jobs open until told to stop.
void Submitter(int id, const std::string& address, const client::PreparedExperiment& experiment,
               std::atomic<bool>* stop, Ledger* ledger) {
  auto connection = Connect(address);
  ASSERT_NE(connection, nullptr);
  client::JobClient jobs(connection);
  std::vector<std::string> open;
  for (int n = 0; !*stop; ++n) {
    client::SubmitOptions options;
    options.no_cache = true;
    options.request_id = "crash-" + std::to_string(id) + "-" + std::to_string(n);
    const auto submitted = client::SubmitExperiment(connection, experiment, options);
    if (submitted.ok()) {
      ledger->Acknowledge(options.request_id, submitted->front().name());
      open.push_back(submitted->front().name());
    }
    while (!*stop && open.size() >= kOpenJobs) {
      const auto job = jobs.Get(open.front());
      if (job.ok() && job->finished()) {
        open.erase(open.begin());
      } else {
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
  }
}

TEST(Crash, NoAcknowledgedJobIsLostOrStuck) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExperimentOptions one;
  one.cases = 1;
  Spill(service.folder() + "/hello.yaml",
        MakeGoldenExperiment(ModelsFolder(), "tflm_hello_world_int8", one).yaml);
  const auto experiment = client::PrepareExperiment(service.folder() + "/hello.yaml");
  ASSERT_TRUE(experiment.ok()) << experiment.status();

  Ledger ledger;
  std::atomic<bool> stop{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(Submitter, i, service.address(), *experiment, &stop, &ledger);
  }
  std::this_thread::sleep_for(seconds(2));

  std::map<std::string, int> histogram;
  SplitMix64 random(20'261'130);
  for (int cycle = 0; cycle < Cycles(); ++cycle) {
    std::this_thread::sleep_for(milliseconds(50 + random.Next() % 450));
    if (cycle % 4 == 3) {
      const std::vector<pid_t> workers = service.Workers();
      if (!workers.empty()) kill(workers[random.Next() % workers.size()], SIGKILL);
      continue;
    }
    // The phases just before the kill, from the server's own list.
    auto connection = Connect(service.address());
    ASSERT_NE(connection, nullptr);
    v1::ListJobsRequest list;
    list.set_page_size(kClients * kOpenJobs);
    const auto page = client::JobClient(connection).List(list);
    service.Kill();
    if (page.ok()) {
      for (const v1::Job& job : page->jobs()) ++histogram[v1::JobPhase_Name(job.phase())];
    }
    ASSERT_NO_FATAL_FAILURE(service.Start());
  }
  stop = true;
  for (std::thread& thread : clients) thread.join();

  int total = 0, open = 0;
  for (const auto& [phase, count] : histogram) {
    total += count;
    if (phase != "SUCCEEDED" && phase != "FAILED") open += count;
    std::printf("at the kill: %-12s %d\n", phase.c_str(), count);
  }
  const auto acknowledged = ledger.jobs();
  std::printf("%d kills, %zu acknowledged jobs\n", Cycles(), acknowledged.size());
  EXPECT_GE(open * 10, total * 3) << "too few kills hit unfinished work";

  auto connection = Connect(service.address());
  ASSERT_NE(connection, nullptr);
  client::JobClient jobs(connection);
  client::ResultClient results(connection);
  std::map<std::string, int> ends;
  const auto deadline = std::chrono::steady_clock::now() + seconds(240);
  for (const auto& [request_id, name] : acknowledged) {
    auto job = jobs.Get(name);
    ASSERT_TRUE(job.ok()) << name << ": " << job.status();
    while (!job->finished() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(50));
      job = jobs.Get(name);
      ASSERT_TRUE(job.ok()) << name << ": " << job.status();
    }
    ASSERT_TRUE(job->finished()) << name << " is stuck:\n" << job->DebugString();
    ++ends[v1::JobPhase_Name(job->phase())];
    if (job->phase() != v1::SUCCEEDED) {
      // Three lost attempts in a row are possible under this fire; anything else is a fault.
      EXPECT_EQ(job->failure().fault(), v1::INFRA) << job->DebugString();
      continue;
    }
    EXPECT_EQ(job->assessment(), v1::MATCH);
    const auto bundle = results.Get(Digest{job->bundle().hash(), job->bundle().size_bytes()});
    EXPECT_TRUE(bundle.ok()) << name << ": " << bundle.status();
  }
  for (const auto& [phase, count] : ends) std::printf("ended: %-12s %d\n", phase.c_str(), count);
}

}  // namespace
}  // namespace helx::testing

// Metrics, rules and dashboards: a real Prometheus scrapes a real helxd under load. Skipped without
// Prometheus, unless HELX_REQUIRE_PROMETHEUS=1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/json.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using namespace std::chrono_literals;

// The path of a program; empty when it is not installed.
std::string Which(const std::string& program) {
  std::string output;
  if (RunProgram({"/bin/sh", "-c", "command -v " + program}, &output) != 0) return "";
  return output.substr(0, output.find('\n'));
}

// "metrics" of the daemon's line "listening".
std::string MetricsAddress(const Daemon& daemon) {
  std::istringstream lines(daemon.Errors());
  for (std::string line; std::getline(lines, line);) {
    const auto json = ParseJson(line);
    if (json.ok() && json->contains("metrics")) return (*json)["metrics"];
  }
  return "";
}

std::string Scrape(const std::string& address) {
  std::string output;
  RunProgram({"/usr/bin/python3", "-c",
              "import urllib.request,sys;"
              "sys.stdout.write(urllib.request.urlopen('http://" +
                  address + "/metrics').read().decode())"},
             &output);
  return output;
}

bool LeaveABundle(ScriptedWorker& worker, const v1::ExecuteAction& action,
                  v1::CompleteRequest* done) {
  std::this_thread::sleep_for(2ms);
  *done->mutable_output() = worker.BundleOutput(action, action.lease().action());
  return true;
}

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
    client_ = std::make_unique<Client>(daemon_.address());
    for (int i = 0; i < 100 && metrics_.empty(); ++i) {
      metrics_ = MetricsAddress(daemon_);
      std::this_thread::sleep_for(20ms);
    }
    ASSERT_FALSE(metrics_.empty());
  }
  // How the job ended.
  v1::JobPhase RunJob(const std::string& model, bool no_cache) {
    v1::SubmitJobRequest request = client_->Request(model);
    request.set_no_cache(no_cache);
    v1::Job job;
    const grpc::Status status = client_->Submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return client_->Wait(job.name()).phase();
  }

  void RunCheck() {
    v1::StoreOperation operation;
    grpc::ClientContext context;
    auto reader = client_->store->Check(&context, v1::CheckStoreRequest());
    while (reader->Read(&operation)) {
    }
    EXPECT_TRUE(reader->Finish().ok());
  }

  Daemon daemon_{{"--metrics-listen", "127.0.0.1:0", "--gc-seconds", "0"}};
  std::unique_ptr<Client> client_;
  std::string metrics_;
};

// docs/metrics.md names every metric, and only those that exist; jobs, users and digests make no
// series.
TEST_F(MetricsTest, AreThoseOfTheDocumentAndDoNotGrowWithJobs) {
  ScriptedWorker worker(daemon_.address(), "w", LeaveABundle);
  const auto families = [](const std::string& text) {
    std::set<std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      // What the exposer counts of itself is not ours.
      if (line.rfind("# TYPE ", 0) == 0 && line.rfind("# TYPE exposer_", 0) != 0)
        out.insert(line.substr(7, line.find(' ', 7) - 7));
    }
    return out;
  };
  const auto series = [](const std::string& text) {
    size_t count = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) count += line.rfind('#', 0) != 0 ? 1 : 0;
    return count;
  };
  for (int n = 0; n < 3; ++n) EXPECT_EQ(RunJob("m" + std::to_string(n), false), v1::SUCCEEDED);
  EXPECT_EQ(RunJob("m0", false), v1::SUCCEEDED);
  RunCheck();
  std::this_thread::sleep_for(1200ms);  // a sample
  const std::string before = Scrape(metrics_);
  for (int n = 0; n < 40; ++n) RunJob("n" + std::to_string(n), false);
  std::this_thread::sleep_for(1200ms);
  const std::string after = Scrape(metrics_);
  EXPECT_EQ(series(before), series(after));

  std::set<std::string> documented;
  std::ifstream document(HELX_SOURCE_DIR "/docs/metrics.md");
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    documented.insert(line.substr(3, line.find_first_of("`{", 3) - 3));
  }
  EXPECT_EQ(documented, families(after));
}

TEST_F(MetricsTest, DashboardsAndRulesGiveDataThatAgreesWithTheLoad) {
  const std::string prometheus = Which("prometheus");
  const std::string promtool = Which("promtool");
  if (prometheus.empty() || promtool.empty()) {
    const char* required = std::getenv("HELX_REQUIRE_PROMETHEUS");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1") << "Prometheus is missing";
    GTEST_SKIP() << "Prometheus is not installed";
  }
  std::string output;
  const std::string rules = HELX_SOURCE_DIR "/deploy/prometheus/";
  EXPECT_EQ(RunProgram({promtool, "check", "config", rules + "prometheus.yml"}, &output), 0)
      << output;
  EXPECT_EQ(RunProgram({promtool, "test", "rules", rules + "helx_alerts_test.yml"}, &output), 0)
      << output;

  ScriptedWorker worker(daemon_.address(), "w", LeaveABundle);
  TempFolder folder;
  const std::string jobs_file = folder.path() + "/jobs";
  std::atomic<bool> stop{false};
  int succeeded = 0;
  std::thread load([&] {
    for (int n = 0; !stop; ++n) {
      if (RunJob("m" + std::to_string(n - n % 3), n % 3 == 1) == v1::SUCCEEDED) ++succeeded;
      if (n % 50 == 0) RunCheck();
    }
    std::ofstream(jobs_file + ".new") << succeeded;
    std::rename((jobs_file + ".new").c_str(), jobs_file.c_str());
  });
  std::thread stopper([&] {
    std::this_thread::sleep_for(14s);
    stop = true;
  });
  output.clear();
  EXPECT_EQ(RunProgram({"/usr/bin/python3", HELX_SOURCE_DIR "/tests/integration/dashboards.py",
                        prometheus, HELX_SOURCE_DIR, metrics_, folder.path(), "11", jobs_file},
                       &output),
            0)
      << output;
  load.join();
  stopper.join();
  std::printf("%s", output.c_str());
}

}  // namespace
}  // namespace helx::server

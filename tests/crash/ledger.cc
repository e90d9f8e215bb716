#include "tests/crash/ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "core/base/sha256.h"
#include "helx/v1/pool.grpc.pb.h"

namespace helx::server {
namespace {

// All pages.
std::vector<v1::Job> AllJobs(Client& client) {
  std::vector<v1::Job> out;
  v1::ListJobsRequest request;
  request.set_page_size(1000);
  do {
    grpc::ClientContext context;
    v1::ListJobsResponse page;
    const grpc::Status status = client.jobs->List(&context, request, &page);
    EXPECT_TRUE(status.ok()) << status.error_message();
    out.insert(out.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return out;
}

size_t CountResults(Client& client) {
  size_t count = 0;
  v1::ListResultsRequest request;
  request.set_page_size(1000);
  do {
    grpc::ClientContext context;
    v1::ListResultsResponse page;
    const grpc::Status status = client.results->List(&context, request, &page);
    EXPECT_TRUE(status.ok()) << status.error_message();
    count += static_cast<size_t>(page.results_size());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return count;
}

v1::Job WaitForEnd(Client& client, const std::string& name) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  v1::Job job = client.Get(name);
  while (!job.finished() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    job = client.Get(name);
  }
  return job;
}

void ExpectNoDeviceHeld(Client& client) {
  const auto pool = v1::Pool::NewStub(client.channel);
  grpc::ClientContext context;
  v1::ListDevicesResponse devices;
  const grpc::Status status = pool->ListDevices(&context, v1::ListDevicesRequest(), &devices);
  ASSERT_TRUE(status.ok()) << status.error_message();
  for (const v1::Device& device : devices.devices()) {
    EXPECT_EQ(device.state(), v1::STATE_IDLE) << device.DebugString();
  }
}

void ExpectWholeStore(Client& client) {
  grpc::ClientContext check_context;
  v1::StoreOperation check;
  grpc::Status status =
      RunToEnd(client.store->Check(&check_context, v1::CheckStoreRequest()), &check);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(check.problem_count(), 0) << check.DebugString();
  grpc::ClientContext scrub_context;
  v1::StoreOperation scrub;
  status = RunToEnd(client.store->Scrub(&scrub_context, v1::ScrubStoreRequest()), &scrub);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(scrub.damaged_blobs(), 0) << scrub.DebugString();
}

}  // namespace

grpc::Status RunToEnd(std::unique_ptr<grpc::ClientReader<v1::StoreOperation>> reader,
                      v1::StoreOperation* last) {
  while (reader->Read(last)) {
  }
  return reader->Finish();
}

bool WorkLikeARealOne(ScriptedWorker& worker, const v1::ExecuteAction& action,
                      v1::CompleteRequest* done) {
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    v1::ReportResponse response;
    auto writer = worker.client().worker->Report(&context, &response);
    v1::ReportRequest report;
    report.set_worker(done->worker());
    report.set_session(done->session());
    *report.mutable_lease() = action.lease();
    report.set_phase(v1::COLLECTING);
    writer->Write(report);
    report.set_log("said " + action.lease().action() + "\n");
    writer->Write(report);
    writer->WritesDone();
    writer->Finish();
  }
  *done->mutable_output() = worker.BundleOutput(action, action.lease().action());
  return true;
}

void Ledger::Acknowledge(const std::string& request_id, const std::string& model,
                         const v1::Job& job) {
  std::lock_guard lock(mutex_);
  const auto [it, fresh] = jobs_.emplace(request_id, Entry{job.name(), model});
  EXPECT_TRUE(fresh || it->second.job == job.name()) << request_id << " named two jobs";
}

size_t Ledger::size() const {
  std::lock_guard lock(mutex_);
  return jobs_.size();
}

void Ledger::Verify(const std::string& address) const {
  std::lock_guard lock(mutex_);
  Client client(address);
  std::map<std::string, std::string> content_of_model;
  std::set<std::string> names;
  size_t succeeded = 0;
  for (const auto& [request_id, entry] : jobs_) {
    EXPECT_TRUE(names.insert(entry.job).second) << entry.job << " answers two request ids";
    const v1::Job job = WaitForEnd(client, entry.job);
    ASSERT_EQ(job.name(), entry.job) << request_id << " is lost";
    ASSERT_TRUE(job.finished()) << "stuck:\n" << job.DebugString();
    if (job.cancel_requested() && job.phase() == v1::CANCELLED) continue;
    ASSERT_EQ(job.phase(), v1::SUCCEEDED) << job.DebugString();
    ++succeeded;
    EXPECT_EQ(job.issues_size(), 0) << job.DebugString();
    const auto [content, first] = content_of_model.emplace(entry.model, job.content_digest());
    EXPECT_EQ(content->second, job.content_digest()) << "the content of " << entry.model;
    grpc::ClientContext context;
    v1::GetResultRequest request;
    *request.mutable_bundle() = job.bundle();
    v1::Result result;
    const grpc::Status got = client.results->Get(&context, request, &result);
    ASSERT_TRUE(got.ok()) << entry.job << ": " << got.error_message();
    const auto events = client.Watch(entry.job);
    int terminal = 0;
    for (const v1::JobEvent& event : events) terminal += event.job().finished() ? 1 : 0;
    EXPECT_EQ(terminal, 1) << entry.job;
  }
  std::set<std::string> listed;
  for (const v1::Job& job : AllJobs(client)) listed.insert(job.name());
  EXPECT_EQ(listed, names);
  EXPECT_EQ(CountResults(client), succeeded);
  ExpectNoDeviceHeld(client);
  ExpectWholeStore(client);
}

}  // namespace helx::server

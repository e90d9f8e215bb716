// A server in the test's own process that speaks the wire contract from memory and fails when told to.
#ifndef HELX_TESTS_UNIT_CLIENT_CPP_FAKE_SERVER_H_
#define HELX_TESTS_UNIT_CLIENT_CPP_FAKE_SERVER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/cpp/connection.h"
#include "helx/v1/jobs.pb.h"
#include "helx/v1/results.pb.h"

namespace helx::client {

class FakeServer {
 public:
  FakeServer();
  ~FakeServer();

  std::string address() const;  // "127.0.0.1:port"
  std::shared_ptr<Connection> Connect();

  void Stop();  // ends the listener; calls then fail as UNAVAILABLE

  // What it holds, and what it is to do wrong. Set these before a call; read them after it.
  struct State {
    std::mutex mutex;
    std::map<std::string, std::string> blobs;        // by hash
    std::map<std::string, std::string> uploads;      // unfinished, by resource name
    int64_t break_write_at = -1;   // once: UNAVAILABLE after that many bytes of an upload
    int64_t break_read_at = -1;    // once: UNAVAILABLE after that many bytes of a download
    std::vector<int64_t> write_offsets;  // first offset of each Write call
    std::vector<int64_t> read_offsets;

    std::map<std::string, helx::v1::Job> jobs;       // by request id
    std::vector<helx::v1::SubmitJobRequest> submissions;
    int lose_submit_answers = 0;   // accept, then answer UNAVAILABLE
    int refuse_submits = 0;        // answer FAILED_PRECONDITION, as for missing blobs
    std::map<std::string, std::vector<helx::v1::JobEvent>> events;  // by job name
    int break_watch_after = -1;    // once: UNAVAILABLE after that many events
    bool hold_watch = false;       // after the events: keep the stream open until it is cancelled
    std::vector<int64_t> watch_from;
    std::vector<std::string> cancelled;

    std::map<std::string, helx::v1::Result> results;  // by experiment
    std::vector<helx::v1::ResultEntry> entries;
    int live_workers = 1;
  };
  State& state();

 private:
  struct Services;
  std::unique_ptr<Services> services_;
};

}  // namespace helx::client

#endif  // HELX_TESTS_UNIT_CLIENT_CPP_FAKE_SERVER_H_

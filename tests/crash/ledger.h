// What a server acknowledged, and whether it kept its word: looked at from outside.
#ifndef HELX_TESTS_CRASH_LEDGER_H_
#define HELX_TESTS_CRASH_LEDGER_H_

#include <map>
#include <mutex>
#include <string>

#include "tests/integration/server_harness.h"

namespace helx::server {

// Thread-safe.
class Ledger {
 public:
  // A request id must always name the same job.
  void Acknowledge(const std::string& request_id, const std::string& model, const v1::Job& job);

  // Waits for every acknowledged job and checks: each exists and ended once, as SUCCEEDED, or as
  // CANCELLED when that was asked for; each result is whole; the same model gave the same content;
  // as many jobs exist as request ids were acknowledged, and as many results as jobs succeeded; no
  // device is held; the store is consistent and every blob has its digest.
  void Verify(const std::string& address) const;
  size_t size() const;

 private:
  struct Entry {
    std::string job;
    std::string model;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> jobs_;  // by request id
};

// What a scripted worker of the crash suite does: reports a phase, leaves a bundle that depends on
// the action alone.
bool WorkLikeARealOne(ScriptedWorker& worker, const v1::ExecuteAction& action,
                      v1::CompleteRequest* done);

// A stream of an operation on the store, to its end.
grpc::Status RunToEnd(std::unique_ptr<grpc::ClientReader<v1::StoreOperation>> reader,
                      v1::StoreOperation* last);

}  // namespace helx::server

#endif  // HELX_TESTS_CRASH_LEDGER_H_

#include "server/store/fault_point.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace helx::server {
namespace {

struct Fault {
  std::string name;
  std::atomic<int> passes{0};  // until it happens
};

Fault* FromEnvironment() {
  const char* text = std::getenv("HELX_FAULT_POINT");
  if (text == nullptr) return nullptr;
  auto* fault = new Fault;  // for the life of the process
  fault->name = text;
  fault->passes = 1;
  if (const size_t colon = fault->name.find(':'); colon != std::string::npos) {
    fault->passes = std::atoi(fault->name.c_str() + colon + 1);
    fault->name.resize(colon);
  }
  return fault;
}

Fault* const fault = FromEnvironment();

}  // namespace

void FaultPoint(std::string_view name) {
  if (fault == nullptr || fault->name != name) return;
  if (--fault->passes == 0) _exit(kFaultExitCode);
}

}  // namespace helx::server

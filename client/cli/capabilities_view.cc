#include "client/cli/capabilities_view.h"

#include <chrono>
#include <thread>

namespace helx::cli {
namespace {

constexpr std::chrono::seconds kWorkersAppear{5};
constexpr std::chrono::milliseconds kPoll{50};

}  // namespace

absl::StatusOr<helx::v1::ServerCapabilities> GetCapabilities(Invocation& invocation) {
  HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
  const auto deadline = std::chrono::steady_clock::now() + kWorkersAppear;
  for (;;) {
    HELX_ASSIGN_OR_RETURN(auto capabilities, connection->Capabilities(invocation.stop));
    if (capabilities.live_workers() > 0 || !connection->options().endpoint.embedded ||
        std::chrono::steady_clock::now() > deadline) {
      return capabilities;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace helx::cli

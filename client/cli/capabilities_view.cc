#include "client/cli/capabilities_view.h"

#include <chrono>
#include <thread>

#include "client/cpp/errors.h"

namespace helx::cli {
namespace {

constexpr std::chrono::seconds kWorkersAppear{60};
constexpr std::chrono::milliseconds kPoll{50};

}  // namespace

absl::StatusOr<helx::v1::ServerCapabilities> GetCapabilities(Invocation& invocation) {
  HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
  const auto deadline = std::chrono::steady_clock::now() + kWorkersAppear;
  bool told = false;
  for (;;) {
    HELX_ASSIGN_OR_RETURN(auto capabilities, connection->Capabilities(invocation.stop));
    if (capabilities.live_workers() > 0 || !connection->options().endpoint.embedded ||
        std::chrono::steady_clock::now() > deadline) {
      return capabilities;
    }
    if (invocation.stop.stop_requested()) return client::Interrupted();
    if (!told) {
      invocation.progress.Step(
          "waiting for the local workers, which prepare their kernels when first started");
    }
    told = true;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace helx::cli

// The pool's verbs of operators: devices, device ...
#include "client/cli/pool_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/blob_client.h"
#include "client/cpp/experiment_flow.h"
#include "client/cpp/pool_client.h"

namespace helx::cli {
namespace {

class Devices : public Command {
 public:
  std::string_view Name() const override { return "devices"; }
  std::string_view Summary() const override {
    return "List the pool's devices: state, health, labels, leases";
  }
  void Configure(Options& options) override {
    options.Text("--selector", selector_, "Only devices whose labels match");
    options.Flag("--retired", retired_, "Those that are retired too");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::ListDevicesRequest request;
    request.set_selector(selector_);
    request.set_with_retired(retired_);
    HELX_ASSIGN_OR_RETURN(const auto devices,
                          client::PoolClient(connection).ListDevices(request, invocation.stop));
    PrintDevices(invocation, devices);
    return kOk;
  }

 private:
  std::string selector_;
  bool retired_ = false;
};

// device reset|good|loop|maintenance|retire DEVICE
class DeviceHealth : public Command {
 public:
  DeviceHealth(std::string_view name, std::string_view summary, helx::v1::DeviceHealth health)
      : name_(name), summary_(summary), health_(health) {}
  std::string_view Name() const override { return name_; }
  std::string_view Summary() const override { return summary_; }
  void Configure(Options& options) override {
    options.Text("device", device_, "The device, as devices prints it", Options::Need::kRequired);
    options.Text("--reason", reason_, "Why, for whoever looks at the device next");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::SetHealthRequest request;
    request.set_device(device_);
    request.set_health(health_);
    request.set_reason(reason_);
    HELX_ASSIGN_OR_RETURN(const auto device,
                          client::PoolClient(connection).SetHealth(request, invocation.stop));
    PrintDevices(invocation, {device});
    return kOk;
  }

 private:
  const std::string_view name_;
  const std::string_view summary_;
  const helx::v1::DeviceHealth health_;
  std::string device_;
  std::string reason_;
};

class DeviceDrain : public Command {
 public:
  std::string_view Name() const override { return "device drain"; }
  std::string_view Summary() const override {
    return "Let a device finish what it runs and give it nothing new; --undo ends that";
  }
  void Configure(Options& options) override {
    options.Text("device", device_, "The device, as devices prints it", Options::Need::kRequired);
    options.Flag("--undo", undo_, "The device takes work again");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::DrainRequest request;
    request.set_device(device_);
    request.set_undo(undo_);
    HELX_ASSIGN_OR_RETURN(const auto device,
                          client::PoolClient(connection).Drain(request, invocation.stop));
    PrintDevices(invocation, {device});
    return kOk;
  }

 private:
  std::string device_;
  bool undo_ = false;
};

class DeviceCheck : public Command {
 public:
  std::string_view Name() const override { return "device check"; }
  std::string_view Summary() const override {
    return "Make an experiment with references the health check of its platforms' devices";
  }
  void Configure(Options& options) override {
    options.Path("-c,--config", file_, "The experiment; each of its jobs is a platform's check");
    options.Text("--clear", clear_, "Take the check of this platform away");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (file_.empty() == clear_.empty()) {
      return InvalidArgument("give either --config EXPERIMENT or --clear PLATFORM");
    }
    std::vector<helx::v1::SetHealthCheckRequest> requests;
    client::PreparedExperiment experiment;
    if (!file_.empty()) {
      HELX_ASSIGN_OR_RETURN(experiment, client::PrepareExperiment(file_));
      for (const auto& job : experiment.jobs) requests.emplace_back().set_document(job.document);
    } else {
      requests.emplace_back().set_platform(clear_);
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_RETURN_IF_ERROR(
        client::BlobClient(connection).UploadMissing(experiment.blobs, {}, invocation.stop));
    Json list = Json::array();
    for (const auto& request : requests) {
      HELX_ASSIGN_OR_RETURN(
          const auto check,
          client::PoolClient(connection).SetHealthCheck(request, invocation.stop));
      list.push_back({{"platform", Utf8(check.platform())},
                      {"document", check.has_document() ? Json(check.document().hash()) : Json()}});
      if (!invocation.json) {
        invocation.out << Printable(check.platform())
                       << (check.has_document() ? ": set; its devices are checked now"
                                                : ": no health check any more")
                       << std::endl;
      }
    }
    if (invocation.json) invocation.PrintJson({{"checks", std::move(list)}});
    return kOk;
  }

 private:
  std::string file_;
  std::string clear_;
};

}  // namespace

std::unique_ptr<Command> MakeDevices() { return std::make_unique<Devices>(); }
std::unique_ptr<Command> MakeDeviceDrain() { return std::make_unique<DeviceDrain>(); }
std::unique_ptr<Command> MakeDeviceCheck() { return std::make_unique<DeviceCheck>(); }
std::unique_ptr<Command> MakeDeviceReset() {
  return std::make_unique<DeviceHealth>("device reset",
                                        "Put a device back: a health check decides, if it has one",
                                        helx::v1::HEALTH_UNKNOWN);
}
std::unique_ptr<Command> MakeDeviceGood() {
  return std::make_unique<DeviceHealth>("device good", "Declare a device good without a check",
                                        helx::v1::HEALTH_GOOD);
}
std::unique_ptr<Command> MakeDeviceLoop() {
  return std::make_unique<DeviceHealth>(
      "device loop", "Run nothing but health checks on a device, one after the other",
      helx::v1::HEALTH_LOOPING);
}
std::unique_ptr<Command> MakeDeviceMaintenance() {
  return std::make_unique<DeviceHealth>("device maintenance",
                                        "Take a device out; operators may lease it",
                                        helx::v1::HEALTH_MAINTENANCE);
}
std::unique_ptr<Command> MakeDeviceRetire() {
  return std::make_unique<DeviceHealth>("device retire", "Take a device out for good",
                                        helx::v1::HEALTH_RETIRED);
}

}  // namespace helx::cli

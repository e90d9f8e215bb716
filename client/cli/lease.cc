// People's leases of devices.
#include "client/cli/pool_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/pool_client.h"

namespace helx::cli {
namespace {

constexpr int64_t kLeaseMostSeconds = 24 * 3600;

class LeaseAcquire : public Command {
 public:
  std::string_view Name() const override { return "lease acquire"; }
  std::string_view Summary() const override {
    return "Reserve a device: until the lease ends only your own jobs run on it";
  }
  void Configure(Options& options) override {
    options.Text("device", device_, "The device; or give --selector");
    options.Text("--selector", selector_, "Any device whose labels match, an idle one first");
    options.Integer("--seconds", seconds_, 1, kLeaseMostSeconds, "How long (default 3600)");
    options.Text("--purpose", purpose_, "What for; the others see it");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (device_.empty() == selector_.empty()) {
      return InvalidArgument("give either a device or --selector");
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::AcquireLeaseRequest request;
    request.set_device(device_);
    request.set_selector(selector_);
    request.set_purpose(purpose_);
    request.mutable_ttl()->set_seconds(seconds_);
    HELX_ASSIGN_OR_RETURN(const auto lease,
                          client::PoolClient(connection).Acquire(request, invocation.stop));
    PrintLeases(invocation, {lease});
    return kOk;
  }

 private:
  std::string device_;
  std::string selector_;
  std::string purpose_;
  int64_t seconds_ = 3600;
};

class LeaseExtend : public Command {
 public:
  std::string_view Name() const override { return "lease extend"; }
  std::string_view Summary() const override {
    return "Make a lease last so long from now on; refused when it is not the current one";
  }
  void Configure(Options& options) override {
    options.Text("device", device_, "The device", Options::Need::kRequired);
    options.Text("lease", id_, "The lease, as acquire and list print it",
                 Options::Need::kRequired);
    options.Integer("--seconds", seconds_, 1, kLeaseMostSeconds, "How long (default 3600)");
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::ExtendLeaseRequest request;
    request.set_device(device_);
    request.set_id(id_);
    request.mutable_ttl()->set_seconds(seconds_);
    HELX_ASSIGN_OR_RETURN(const auto lease,
                          client::PoolClient(connection).Extend(request, invocation.stop));
    PrintLeases(invocation, {lease});
    return kOk;
  }

 private:
  std::string device_;
  std::string id_;
  int64_t seconds_ = 3600;
};

class LeaseRelease : public Command {
 public:
  std::string_view Name() const override { return "lease release"; }
  std::string_view Summary() const override {
    return "Give a device back; refused when the lease is not the current one";
  }
  void Configure(Options& options) override {
    options.Text("device", device_, "The device", Options::Need::kRequired);
    options.Text("lease", id_, "The lease, as acquire and list print it",
                 Options::Need::kRequired);
  }
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::ReleaseLeaseRequest request;
    request.set_device(device_);
    request.set_id(id_);
    HELX_RETURN_IF_ERROR(client::PoolClient(connection).Release(request, invocation.stop));
    if (invocation.json) {
      invocation.PrintJson({{"released", Utf8(id_)}, {"device", Utf8(device_)}});
    } else {
      invocation.out << Printable(device_) << " is free again" << std::endl;
    }
    return kOk;
  }

 private:
  std::string device_;
  std::string id_;
};

class LeaseList : public Command {
 public:
  std::string_view Name() const override { return "lease list"; }
  std::string_view Summary() const override { return "List the leases of your instance"; }
  void Configure(Options&) override {}
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(const auto leases,
                          client::PoolClient(connection).ListLeases(invocation.stop));
    PrintLeases(invocation, leases);
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeLeaseAcquire() { return std::make_unique<LeaseAcquire>(); }
std::unique_ptr<Command> MakeLeaseExtend() { return std::make_unique<LeaseExtend>(); }
std::unique_ptr<Command> MakeLeaseRelease() { return std::make_unique<LeaseRelease>(); }
std::unique_ptr<Command> MakeLeaseList() { return std::make_unique<LeaseList>(); }

}  // namespace helx::cli

// The pool: devices, their health, people's leases.
#ifndef HELX_CLIENT_CPP_POOL_CLIENT_H_
#define HELX_CLIENT_CPP_POOL_CLIENT_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cpp/connection.h"
#include "core/base/status.h"
#include "helx/v1/pool.pb.h"

namespace helx::client {

// Errors as pool.proto says.
class PoolClient {
 public:
  explicit PoolClient(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  absl::StatusOr<std::vector<helx::v1::Device>> ListDevices(
      const helx::v1::ListDevicesRequest& request, std::stop_token stop = {});
  absl::StatusOr<helx::v1::Device> SetHealth(const helx::v1::SetHealthRequest& request,
                                             std::stop_token stop = {});
  absl::StatusOr<helx::v1::Device> Drain(const helx::v1::DrainRequest& request,
                                         std::stop_token stop = {});
  absl::StatusOr<helx::v1::HealthCheck> SetHealthCheck(
      const helx::v1::SetHealthCheckRequest& request, std::stop_token stop = {});
  absl::StatusOr<std::vector<helx::v1::DeviceLease>> ListLeases(std::stop_token stop = {});
  // Not repeated when the connection breaks: the lease may have been granted ('lease list' shows it).
  absl::StatusOr<helx::v1::DeviceLease> Acquire(const helx::v1::AcquireLeaseRequest& request,
                                                std::stop_token stop = {});
  absl::StatusOr<helx::v1::DeviceLease> Extend(const helx::v1::ExtendLeaseRequest& request,
                                               std::stop_token stop = {});
  absl::Status Release(const helx::v1::ReleaseLeaseRequest& request, std::stop_token stop = {});

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_POOL_CLIENT_H_

#include "client/cli/bundle_locator.h"

#include <filesystem>

#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"
#include "client/cpp/result_client.h"

namespace helx::cli {
namespace {

constexpr size_t kShortestPrefix = 8;

bool IsHashPrefix(const std::string& text) {
  return text.size() >= kShortestPrefix && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::Status SetStored(BundlePlace& place, absl::StatusOr<helx::v1::Result> result) {
  if (!result.ok()) return result.status();
  place.stored = *std::move(result);
  return absl::OkStatus();
}

absl::Status SetJob(BundlePlace& place, const std::string& name, std::stop_token stop) {
  auto job = client::JobClient(place.connection).Get(name, stop);
  if (!job.ok()) return client::WithContext(job.status(), name);
  place.where = job->name() + " (" + JobLabel(*job) + ")";
  place.job = *job;
  if (!job->has_bundle()) return absl::OkStatus();
  HELX_ASSIGN_OR_RETURN(const Digest digest, client::FromProto(job->bundle()));
  return SetStored(place, client::ResultClient(place.connection).Get(digest, stop));
}

absl::Status SetNamed(BundlePlace& place, const std::string& target, std::stop_token stop) {
  client::ResultClient results(place.connection);
  place.where = target + " (stored)";
  if (const auto digest = ParseDigest(target); digest.ok()) {
    return SetStored(place, results.Get(*digest, stop));
  }
  if (target.rfind("jobs/", 0) == 0) {
    HELX_ASSIGN_OR_RETURN(const std::string name, client::JobName(target));
    return SetJob(place, name, stop);
  }
  if (target.size() == 64 && IsHashPrefix(target)) {
    HELX_ASSIGN_OR_RETURN(const Digest digest, results.FindByHash(target, stop));
    return SetStored(place, results.Get(digest, stop));
  }
  const absl::Status named = SetStored(place, results.GetNewest(target, stop));
  if (!absl::IsNotFound(named)) return named;
  // A bare job id, or the beginning of a digest.
  if (const auto job = client::JobName(target); job.ok()) {
    const absl::Status found = SetJob(place, *job, stop);
    if (!absl::IsNotFound(found) && !absl::IsInvalidArgument(found)) return found;
  }
  if (IsHashPrefix(target)) {
    const auto digest = results.FindByHash(target, stop);
    if (digest.ok()) return SetStored(place, results.Get(*digest, stop));
    if (!absl::IsNotFound(digest.status())) return digest.status();
  }
  return NotFound("'" + target +
                  "' is neither a folder here nor, on the server, an experiment with a result, a "
                  "job or a bundle's digest; 'results list' and 'list' show what there is");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BundleSource>> BundlePlace::Open(std::stop_token stop) const {
  if (!folder.empty()) return std::shared_ptr<const BundleSource>(OpenBundleFolder(folder));
  return client::ResultClient(connection).Open(*stored, stop);
}

absl::StatusOr<BundlePlace> LocateStoredBundle(Invocation& invocation, const std::string& target) {
  if (target.empty() || !IsUtf8(target)) {
    return InvalidArgument("'" + target +
                           "' cannot name a result; allowed are an experiment's name, a job, or "
                           "a bundle's digest");
  }
  BundlePlace place;
  HELX_ASSIGN_OR_RETURN(place.connection, invocation.Connect());
  HELX_RETURN_IF_ERROR(SetNamed(place, target, invocation.stop));
  return place;
}

absl::StatusOr<BundlePlace> LocateBundle(Invocation& invocation, const std::string& target) {
  std::error_code error;
  if (std::filesystem::is_directory(target, error)) {
    BundlePlace place;
    place.where = target;
    place.folder = target;
    return place;
  }
  if (target.find("/manifest.json") != std::string::npos || target.rfind("./", 0) == 0 ||
      target.rfind("/", 0) == 0 || target.rfind("../", 0) == 0) {
    return NotFound(target + " is not a folder; give the folder of a bundle");
  }
  return LocateStoredBundle(invocation, target);
}

absl::StatusOr<LoadedBundle> LoadPlace(const BundlePlace& place, std::stop_token stop) {
  HELX_ASSIGN_OR_RETURN(auto source, place.Open(stop));
  auto bundle = LoadBundle(std::move(source));
  if (bundle.ok()) return bundle;
  if (stop.stop_requested()) return client::Interrupted();
  if (client::IsUnreachable(bundle.status())) return bundle.status();
  return WithErrorCode(DataLoss(place.where + ": " + MessageOf(bundle.status())),
                       ErrorCodeOf(bundle.status()));
}

}  // namespace helx::cli

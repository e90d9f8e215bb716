// What DIR|NAME|JOB|DIGEST on the command line means.
#ifndef HELX_CLIENT_CLI_BUNDLE_LOCATOR_H_
#define HELX_CLIENT_CLI_BUNDLE_LOCATOR_H_

#include <memory>
#include <optional>
#include <string>

#include "client/cli/command.h"
#include "core/bundle/reader.h"
#include "helx/v1/jobs.pb.h"
#include "helx/v1/results.pb.h"

namespace helx::cli {

constexpr char kBundleHelp[] =
    "A bundle's folder, an experiment's name (name or name/run, the newest result), a job, or the "
    "digest of a stored bundle";

struct BundlePlace {
  std::string where;                         // for people
  std::string folder;                        // on disk; empty: stored
  std::optional<helx::v1::Result> stored;    // on the server
  std::optional<helx::v1::Job> job;          // when a job was named
  std::shared_ptr<client::Connection> connection;  // when a server was asked

  // The files. REQUIRES: folder or stored is set.
  absl::StatusOr<std::shared_ptr<const BundleSource>> Open(std::stop_token stop) const;
};

// An existing folder is read in place, without any server; else the server is asked. For a job that has no bundle only
// `job` is set. NOT_FOUND says what was looked for.
absl::StatusOr<BundlePlace> LocateBundle(Invocation& invocation, const std::string& target);

// The same for stored bundles only.
absl::StatusOr<BundlePlace> LocateStoredBundle(Invocation& invocation, const std::string& target);

// DATA_LOSS with the reader's finding when the bundle does not verify.
absl::StatusOr<LoadedBundle> LoadPlace(const BundlePlace& place, std::stop_token stop);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_BUNDLE_LOCATOR_H_

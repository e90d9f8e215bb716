// The cross-checks of a bundle whose files are already proven against its manifest.
#ifndef HELX_CORE_BUNDLE_EVIDENCE_H_
#define HELX_CORE_BUNDLE_EVIDENCE_H_

#include <map>
#include <string>

#include "core/base/status.h"
#include "core/bundle/manifest.h"
#include "core/bundle/result.h"
#include "core/experiment/frozen_request.h"

namespace helx {

struct Evidence {
  const Manifest& manifest;
  const std::map<std::string, std::string>&
      files;  // content by path; digests agree with the manifest
  const FrozenRequest& request;
  const ResultDocument& result;
};

// Request and result name the same work: identity, tools, acquisition, and the tensor request,
// rebuilt from the result's own statements.
absl::Status CheckAgreement(const Evidence& evidence);

// The files of the build are those that the result names; the image holds the digest of the tensor
// request and lies in the platform's memory; the result's figures are the image's, and the memory
// plan fits it. REQUIRES: CheckAgreement.
absl::Status CheckBuild(const Evidence& evidence);

// Inputs, references and outputs are retained as the request and the acquisition demand, are
// storage of their dtypes, and hash to what the request binds and the runner signed. No other file
// lies below tensors/.
absl::Status CheckTensors(const Evidence& evidence);

// Every verdict, computed again from the retained bytes.
absl::Status CheckVerdicts(const Evidence& evidence);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_EVIDENCE_H_

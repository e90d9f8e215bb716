// The little that the server reads of a job document (helx.document/v1): who must execute it and
// which blobs it names. The rest is for the worker that freezes it.
#ifndef HELX_SERVER_SCHEDULER_JOB_DOCUMENT_H_
#define HELX_SERVER_SCHEDULER_JOB_DOCUMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/status.h"

namespace helx::server {

struct JobDocumentView {
  std::string engine;
  std::string platform;
  bool has_references = false;  // tensor_io.references holds one at least
  std::vector<Digest> blobs;  // the model, then tensors, without repetition, in written order
};

// INVALID_ARGUMENT when it is not JSON of that schema, has no engine, platform or model, or names
// more than 10,000 blobs.
absl::StatusOr<JobDocumentView> ReadJobDocument(std::string_view document);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_JOB_DOCUMENT_H_

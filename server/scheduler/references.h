// Which blobs a row refers to.
#ifndef HELX_SERVER_SCHEDULER_REFERENCES_H_
#define HELX_SERVER_SCHEDULER_REFERENCES_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "server/scheduler/records.pb.h"

namespace helx::server {

struct Reference {
  Digest digest;
  // A document, a frozen request or a manifest: the SHA-256s in its text are those of further
  // blobs.
  bool names_others = false;
};
using References = std::vector<Reference>;

void AppendReferences(const records::JobRecord& record, References& out);
void AppendReferences(const records::ActionRecord& record, References& out);

// By instance.
using ReferencesByInstance = std::map<std::string, References>;

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_REFERENCES_H_

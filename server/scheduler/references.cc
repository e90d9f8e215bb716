#include "server/scheduler/references.h"

#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

void Append(bool present, const v1::Digest& digest, bool names_others, References& out) {
  if (present && !digest.hash().empty()) out.push_back({FromProto(digest), names_others});
}

void Append(const v1::Failure& failure, References& out) {
  Append(failure.has_details(), failure.details(), false, out);
}

void Append(const google::protobuf::RepeatedPtrField<v1::Attempt>& attempts, References& out) {
  for (const v1::Attempt& attempt : attempts) {
    Append(attempt.log().has_text(), attempt.log().text(), false, out);
    Append(attempt.failure(), out);
  }
}

}  // namespace

void AppendReferences(const records::JobRecord& record, References& out) {
  const v1::Job& job = record.job();
  Append(record.has_document(), record.document(), true, out);
  Append(record.has_build_bundle(), record.build_bundle(), true, out);
  Append(job.has_frozen_request(), job.frozen_request(), true, out);
  Append(job.has_bundle(), job.bundle(), true, out);
  Append(job.failure(), out);
  Append(job.attempts(), out);
}

void AppendReferences(const records::ActionRecord& record, References& out) {
  Append(record.has_document(), record.document(), true, out);
  Append(record.has_frozen_request(), record.frozen_request(), true, out);
  Append(record.has_build_bundle(), record.build_bundle(), true, out);
  const v1::ActionOutput& output = record.output();
  Append(output.has_frozen_request(), output.frozen_request(), true, out);
  Append(output.has_bundle(), output.bundle(), true, out);
  for (const v1::Digest& blob : output.blobs()) Append(true, blob, false, out);
  Append(record.attempts(), out);
}

}  // namespace helx::server

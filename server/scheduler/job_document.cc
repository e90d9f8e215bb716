#include "server/scheduler/job_document.h"

#include <set>

#include "core/base/json.h"
#include "server/scheduler/names.h"

namespace helx::server {
namespace {

constexpr std::string_view kSchema = "helx.document/v1";
constexpr size_t kBlobsLimit = 10'000;

absl::StatusOr<Digest> DigestAt(const Json& object, std::string_view where) {
  Digest digest;
  HELX_ASSIGN_OR_RETURN(digest.hash, JsonString(object, "sha256", where));
  HELX_ASSIGN_OR_RETURN(digest.size_bytes, JsonInt(object, "size", where));
  const absl::Status status = CheckDigest(digest);
  if (!status.ok()) return Annotate(status, where);
  return digest;
}

// Collects every {"sha256", "size"} below `value`, in written order.
absl::Status Collect(const Json& value, std::set<Digest>& seen, std::vector<Digest>& out) {
  if (value.is_object() && value.contains("sha256")) {
    HELX_ASSIGN_OR_RETURN(Digest digest, DigestAt(value, "document.tensor_io"));
    if (seen.insert(digest).second) out.push_back(std::move(digest));
    if (out.size() > kBlobsLimit) {
      return InvalidArgument("the document names more than 10000 blobs");
    }
    return absl::OkStatus();
  }
  if (!value.is_structured()) return absl::OkStatus();
  for (const Json& item : value) HELX_RETURN_IF_ERROR(Collect(item, seen, out));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobDocumentView> ReadJobDocument(std::string_view document) {
  HELX_ASSIGN_OR_RETURN(const Json json, ParseJson(document, {.depth = 32, .bytes = 1 << 20}));
  HELX_ASSIGN_OR_RETURN(const std::string schema, JsonString(json, "schema", "document"));
  if (schema != kSchema) {
    return InvalidArgument("document.schema is " + Quoted(schema) + "; this server reads " +
                           std::string(kSchema));
  }
  JobDocumentView view;
  HELX_ASSIGN_OR_RETURN(view.engine, JsonString(json, "engine", "document"));
  HELX_ASSIGN_OR_RETURN(view.platform, JsonString(json, "platform", "document"));
  HELX_RETURN_IF_ERROR(CheckText("document.engine", view.engine, 64));
  HELX_RETURN_IF_ERROR(CheckText("document.platform", view.platform, 64));
  HELX_ASSIGN_OR_RETURN(const Json* model, JsonMember(json, "model", "document"));
  HELX_ASSIGN_OR_RETURN(Digest model_digest, DigestAt(*model, "document.model"));
  std::set<Digest> seen = {model_digest};
  view.blobs.push_back(std::move(model_digest));
  if (const auto tensors = json.find("tensor_io"); tensors != json.end()) {
    HELX_RETURN_IF_ERROR(Collect(*tensors, seen, view.blobs));
    if (tensors->is_object()) {
      const auto references = tensors->find("references");
      view.has_references = references != tensors->end() && references->is_array() &&
                            !references->empty();
    }
  }
  return view;
}

}  // namespace helx::server

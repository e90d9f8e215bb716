#include "server/api/resource_name.h"

#include <algorithm>
#include <vector>

#include "server/scheduler/names.h"

namespace helx::server {
namespace {

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (parts.size() < 8) {
    const size_t slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  return parts;
}

// "-" stands for the caller's own.
absl::Status CheckInstance(std::string_view instance) {
  return instance == "-" ? absl::OkStatus() : CheckName("instance", instance);
}

absl::StatusOr<Digest> DigestOfParts(std::string_view hash, std::string_view size) {
  HELX_ASSIGN_OR_RETURN(Digest digest, ParseDigest(std::string(hash) + "/" + std::string(size)));
  if (digest.size_bytes > kBlobLimitBytes) {
    return InvalidArgument("a blob of " + std::to_string(digest.size_bytes) +
                           " bytes passes the limit of " + std::to_string(kBlobLimitBytes));
  }
  return digest;
}

}  // namespace

absl::StatusOr<BlobName> ParseBlobName(std::string_view name) {
  const auto parts = Split(name);
  if (parts.size() != 4 || parts[1] != "blobs") {
    return InvalidArgument("resource_name is " + Quoted(name) +
                           "; a blob is {instance}/blobs/{hash}/{size}");
  }
  HELX_RETURN_IF_ERROR(CheckInstance(parts[0]));
  HELX_ASSIGN_OR_RETURN(Digest digest, DigestOfParts(parts[2], parts[3]));
  return BlobName{std::string(parts[0]), std::move(digest)};
}

absl::StatusOr<UploadName> ParseUploadName(std::string_view name) {
  const auto parts = Split(name);
  if (parts.size() != 6 || parts[1] != "uploads" || parts[3] != "blobs") {
    return InvalidArgument("resource_name is " + Quoted(name) +
                           "; an upload is {instance}/uploads/{uuid}/blobs/{hash}/{size}");
  }
  HELX_RETURN_IF_ERROR(CheckInstance(parts[0]));
  HELX_RETURN_IF_ERROR(CheckToken("uuid", parts[2]));
  // It becomes part of a file name, in which "." separates.
  if (parts[2].find('.') != std::string_view::npos) {
    return InvalidArgument("uuid is " + Quoted(parts[2]) + "; allowed are A-Za-z0-9_-");
  }
  HELX_ASSIGN_OR_RETURN(Digest digest, DigestOfParts(parts[4], parts[5]));
  return UploadName{std::string(parts[0]), std::string(parts[2]), std::move(digest)};
}

}  // namespace helx::server

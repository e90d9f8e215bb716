#include "core/bundle/request_file.h"

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/base/yaml_scalar.h"
#include "core/bundle/refusal.h"

namespace helx {
namespace {

constexpr std::string_view kSchema = "helx.request-file/v1";

// Digests whose bytes a request file holds, by hash.
std::map<std::string, int64_t> NeededTensors(const FrozenRequest& request) {
  std::map<std::string, int64_t> needed;
  const auto add = [&needed](const std::vector<BoundTensor>& tensors) {
    for (const BoundTensor& tensor : tensors) {
      needed.emplace(tensor.digest.hash, tensor.digest.size_bytes);
    }
  };
  if (request.tensors.explicit_inputs) {
    for (const auto& set : request.tensors.input_sets) add(set);
  }
  for (const BoundReference& reference : request.tensors.references) add(reference.tensors);
  return needed;
}

absl::StatusOr<std::string> Serialize(const FrozenRequest& request,
                                      const std::map<std::string, std::string>& tensors) {
  Json hex = Json::object();
  for (const auto& [hash, bytes] : tensors) hex[hash] = HexEncode(AsBytes(bytes));
  return CanonicalJson(Json{{"request", request.ToJson()},
                            {"schema", std::string(kSchema)},
                            {"tensors", std::move(hex)}});
}

absl::StatusOr<std::map<std::string, std::string>> ReadTensors(const Json& value,
                                                               const FrozenRequest& request) {
  if (!value.is_object()) return RefuseEvidence("request_invalid", "tensors is not an object");
  const std::map<std::string, int64_t> needed = NeededTensors(request);
  std::map<std::string, std::string> tensors;
  for (const auto& [hash, hex] : value.items()) {
    const auto it = needed.find(hash);
    if (it == needed.end()) {
      return RefuseEvidence("request_tensor_unneeded",
                            "the request binds no tensor " + ShownText(hash));
    }
    if (!hex.is_string()) return RefuseEvidence("request_invalid", "tensors holds no hexadecimal");
    const auto bytes = HexDecode(hex.get_ref<const std::string&>());
    if (!bytes.ok()) return RefuseEvidence("request_invalid", bytes.status());
    if (static_cast<int64_t>(bytes->size()) != it->second || Sha256Hex(*bytes) != hash) {
      return RefuseEvidence("request_tensor_modified",
                            "the bytes of the tensor " + hash + " do not hash to that");
    }
    tensors.emplace(hash, std::string(bytes->begin(), bytes->end()));
  }
  for (const auto& [hash, size] : needed) {
    if (!tensors.contains(hash)) {
      return RefuseEvidence(
          "request_tensor_missing",
          "the bytes of the tensor " + hash + " (" + std::to_string(size) + " bytes) are missing");
    }
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::string> RequestFileContent::Tensor(const Digest& digest) const {
  const auto it = tensors.find(digest.hash);
  if (it != tensors.end()) return it->second;
  if (!request.tensors.explicit_inputs) {
    for (const BoundTensor& input : request.tensors.input_sets.front()) {
      if (input.digest == digest) {
        return std::string(static_cast<size_t>(digest.size_bytes), '\0');
      }
    }
  }
  return NotFound("the request binds no tensor " + digest.ToString());
}

absl::StatusOr<std::string> RequestFile(const FrozenRequest& request,
                                        const std::vector<std::string>& tensor_contents) {
  const std::map<std::string, int64_t> needed = NeededTensors(request);
  std::map<std::string, std::string> tensors;
  for (const std::string& content : tensor_contents) {
    std::string hash = Sha256Hex(content);
    if (needed.contains(hash)) tensors.emplace(std::move(hash), content);
  }
  for (const auto& [hash, size] : needed) {
    if (!tensors.contains(hash)) {
      return NotFound("the bytes of the tensor " + hash + " (" + std::to_string(size) +
                      " bytes) are missing");
    }
  }
  return Serialize(request, tensors);
}

absl::StatusOr<RequestFileContent> ParseRequestFile(std::string_view text) {
  auto value = ParseJson(text);
  if (!value.ok()) return RefuseEvidence("request_invalid", value.status());
  const auto schema = JsonString(*value, "schema", "request.json");
  if (!schema.ok()) return RefuseEvidence("request_invalid", schema.status());
  if (*schema != kSchema) {
    return RefuseEvidence("request_schema", "the schema is " + ShownText(*schema) +
                                                "; expected: " + std::string(kSchema));
  }
  const auto member = JsonMember(*value, "request", "request.json");
  if (!member.ok()) return RefuseEvidence("request_invalid", member.status());
  auto request = FrozenRequest::FromJson(**member);
  if (!request.ok()) return RefuseEvidence("request_invalid", request.status());
  const auto tensors = JsonMember(*value, "tensors", "request.json");
  if (!tensors.ok()) return RefuseEvidence("request_invalid", tensors.status());
  RequestFileContent content;
  content.request = *std::move(request);
  HELX_ASSIGN_OR_RETURN(content.tensors, ReadTensors(**tensors, content.request));
  const auto again = CanonicalJson(*value);
  if (!again.ok() || *again != text || value->size() != 3) {
    return RefuseEvidence("request_not_canonical",
                          "request.json holds unknown members or is not the canonical text of its "
                          "value");
  }
  return content;
}

}  // namespace helx

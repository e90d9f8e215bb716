#include "core/bundle/request_file.h"

#include <optional>

#include "core/base/digest.h"
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

// A tensor's name and its hexadecimal text.
using TensorTexts = std::vector<std::pair<std::string_view, std::string_view>>;

absl::StatusOr<std::map<std::string, std::string>> ReadTensors(const TensorTexts& texts,
                                                               const FrozenRequest& request) {
  const std::map<std::string, int64_t> needed = NeededTensors(request);
  std::map<std::string, std::string> tensors;
  for (const auto& [name, hex] : texts) {
    const std::string hash(name);
    const auto it = needed.find(hash);
    if (it == needed.end()) {
      return RefuseEvidence("request_tensor_unneeded",
                            "the request binds no tensor " + ShownText(hash));
    }
    auto bytes = HexDecodeToString(hex);
    if (!bytes.ok()) return RefuseEvidence("request_invalid", bytes.status());
    if (static_cast<int64_t>(bytes->size()) != it->second || Sha256Hex(*bytes) != hash) {
      return RefuseEvidence("request_tensor_modified",
                            "the bytes of the tensor " + hash + " do not hash to that");
    }
    tensors.emplace(hash, *std::move(bytes));
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

absl::StatusOr<RequestFileContent> ReadContent(const Json& request, const TensorTexts& tensors) {
  auto frozen = FrozenRequest::FromJson(request);
  if (!frozen.ok()) return RefuseEvidence("request_invalid", frozen.status());
  RequestFileContent content;
  content.request = *std::move(frozen);
  HELX_ASSIGN_OR_RETURN(content.tensors, ReadTensors(tensors, content.request));
  return content;
}

// The canonical file taken apart without parsing the hexadecimal text, which is nearly all of it;
// nullopt for any other text, which the general reader then judges.
struct CanonicalParts {
  Json request;
  TensorTexts tensors;
};

std::optional<TensorTexts> SplitTensors(std::string_view text) {
  TensorTexts tensors;
  while (text != "}}") {
    // "<64 digits>":"<hexadecimal>"
    constexpr size_t kName = 64;
    if (!tensors.empty()) {
      if (!text.starts_with(',')) return std::nullopt;
      text.remove_prefix(1);
    }
    if (text.size() < kName + 5 || text[0] != '"' || text.substr(kName + 1, 3) != "\":\"") {
      return std::nullopt;
    }
    const std::string_view name = text.substr(1, kName);
    const size_t end = text.find('"', kName + 4);
    if (end == std::string_view::npos || !IsSha256Hex(name)) return std::nullopt;
    if (!tensors.empty() && name <= tensors.back().first) return std::nullopt;
    tensors.emplace_back(name, text.substr(kName + 4, end - kName - 4));
    text.remove_prefix(end + 1);
  }
  return tensors;
}

std::optional<CanonicalParts> SplitCanonical(std::string_view text) {
  constexpr std::string_view kHead = "{\"request\":";
  const std::string middle = ",\"schema\":\"" + std::string(kSchema) + "\",\"tensors\":{";
  const size_t at = text.find(middle);
  if (!text.starts_with(kHead) || at == std::string_view::npos) return std::nullopt;
  const std::string_view request = text.substr(kHead.size(), at - kHead.size());
  auto value = ParseJson(request);
  if (!value.ok()) return std::nullopt;
  const auto again = CanonicalJson(*value);
  if (!again.ok() || *again != request) return std::nullopt;
  auto tensors = SplitTensors(text.substr(at + middle.size()));
  if (!tensors) return std::nullopt;
  return CanonicalParts{*std::move(value), *std::move(tensors)};
}

// Any text; names what is wrong with it.
absl::StatusOr<RequestFileContent> ParseGeneral(std::string_view text) {
  auto value = ParseJson(text);
  if (!value.ok()) return RefuseEvidence("request_invalid", value.status());
  const auto schema = JsonString(*value, "schema", "request.json");
  if (!schema.ok()) return RefuseEvidence("request_invalid", schema.status());
  if (*schema != kSchema) {
    return RefuseEvidence("request_schema", "the schema is " + ShownText(*schema) +
                                                "; expected: " + std::string(kSchema));
  }
  const auto request = JsonMember(*value, "request", "request.json");
  if (!request.ok()) return RefuseEvidence("request_invalid", request.status());
  const auto tensors = JsonMember(*value, "tensors", "request.json");
  if (!tensors.ok()) return RefuseEvidence("request_invalid", tensors.status());
  if (!(*tensors)->is_object()) {
    return RefuseEvidence("request_invalid", "tensors is not an object");
  }
  TensorTexts texts;
  for (const auto& [name, hex] : (*tensors)->items()) {
    if (!hex.is_string()) return RefuseEvidence("request_invalid", "tensors holds no hexadecimal");
    // The iterator's key is a temporary; the object's own keys live on.
    texts.emplace_back((*tensors)->find(name).key(), hex.get_ref<const std::string&>());
  }
  HELX_ASSIGN_OR_RETURN(RequestFileContent content, ReadContent(**request, texts));
  const auto again = CanonicalJson(*value);
  if (!again.ok() || *again != text || value->size() != 3) {
    return RefuseEvidence("request_not_canonical",
                          "request.json holds unknown members or is not the canonical text of its "
                          "value");
  }
  return content;
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
  const auto parts = SplitCanonical(text);
  return parts ? ReadContent(parts->request, parts->tensors) : ParseGeneral(text);
}

}  // namespace helx

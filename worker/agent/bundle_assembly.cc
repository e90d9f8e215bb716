#include "worker/agent/bundle_assembly.h"

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/bundle/layout.h"
#include "core/bundle/reader.h"
#include "core/bundle/request_file.h"

namespace helx::agent {
namespace {

std::string ToolText(const ToolIdentity& tool) {
  return tool.name + " " + tool.version + " (" + tool.detail + ")";
}

bool SameTool(const ToolIdentity& wanted, const ToolIdentity& have, std::string* changed) {
  if (wanted == have) return true;
  *changed = "the request was frozen for " + ToolText(wanted) + ", this worker has " +
             ToolText(have) + "; freeze the experiment again";
  return false;
}

}  // namespace

absl::StatusOr<RequestTensors> ReadTensors(const ActionInput& input, const FrozenRequest& request) {
  RequestTensors tensors;
  for (const auto& set : request.tensors.input_sets) {
    auto& bytes = tensors.inputs.emplace_back();
    for (const BoundTensor& tensor : set) {
      if (!request.tensors.explicit_inputs) {
        bytes.emplace_back(static_cast<size_t>(tensor.digest.size_bytes), '\0');
        continue;
      }
      HELX_ASSIGN_OR_RETURN(std::string content, input.Blob(tensor.digest));
      bytes.push_back(std::move(content));
    }
  }
  for (const BoundReference& reference : request.tensors.references) {
    auto& bytes = tensors.references.emplace_back();
    for (const BoundTensor& tensor : reference.tensors) {
      HELX_ASSIGN_OR_RETURN(std::string content, input.Blob(tensor.digest));
      bytes.push_back(std::move(content));
    }
  }
  return tensors;
}

absl::StatusOr<FrozenRequest> ReadRequest(const ActionInput& input, ToolUse use,
                                          std::string* changed) {
  HELX_ASSIGN_OR_RETURN(const std::string text, ReadFile(input.folder + "/request.json", 4u << 20));
  HELX_ASSIGN_OR_RETURN(FrozenRequest request, FrozenRequest::Parse(text));
  const EngineEntry* engine = input.catalogue.FindEngine(request.engine.name);
  const TargetEntry* target = input.catalogue.FindTarget(request.platform);
  if (target == nullptr || (use == ToolUse::kBuild && engine == nullptr)) {
    *changed =
        "this worker has no engine " + request.engine.name + " or no platform " + request.platform;
    return request;
  }
  if (use == ToolUse::kRun) {
    SameTool(request.target, target->executor, changed);
    return request;
  }
  (void)(SameTool(request.engine, engine->identity, changed) &&
         SameTool(request.toolchain, target->toolchain, changed) &&
         SameTool(request.target, target->executor, changed));
  return request;
}

absl::StatusOr<ResultDocument> AddRequest(const FrozenRequest& request,
                                          const RequestTensors& tensors, const target::Board& board,
                                          BundleWriter* writer) {
  std::vector<std::string> contents;
  if (request.tensors.explicit_inputs) {
    for (const auto& set : tensors.inputs) contents.insert(contents.end(), set.begin(), set.end());
  }
  for (const auto& reference : tensors.references) {
    contents.insert(contents.end(), reference.begin(), reference.end());
  }
  HELX_ASSIGN_OR_RETURN(const std::string file, RequestFile(request, contents));
  HELX_RETURN_IF_ERROR(writer->Add("request.json", file));

  ResultDocument result;
  HELX_ASSIGN_OR_RETURN(result.request_identity, request.Identity());
  result.platform = request.platform;
  result.core = std::string(board.core);
  result.engine = request.engine;
  result.toolchain = request.toolchain;
  result.target = request.target;
  result.acquisition = request.acquisition;
  result.model = request.model;
  result.input_intent = request.tensors.explicit_inputs ? "explicit" : "implicit_zeros";
  result.outputs = request.tensors.outputs;
  result.comparison = request.tensors.comparison;
  HELX_ASSIGN_OR_RETURN(result.tensor_request_digest, request.tensors.DigestHex());
  if (!request.acquisition.capture) return result;

  for (size_t s = 0; s < tensors.inputs.size(); ++s) {
    auto& retained = result.inputs.emplace_back();
    for (size_t i = 0; i < tensors.inputs[s].size(); ++i) {
      const BoundTensor& bound = request.tensors.input_sets[s][i];
      const std::string path = InputPath(s, i);
      HELX_RETURN_IF_ERROR(writer->Add(path, tensors.inputs[s][i]));
      retained.push_back(RetainedTensor{bound.spec, path, bound.digest});
    }
  }
  result.references = request.tensors.references;
  for (size_t r = 0; r < tensors.references.size(); ++r) {
    auto& paths = result.reference_paths.emplace_back();
    for (size_t i = 0; i < tensors.references[r].size(); ++i) {
      paths.push_back(ReferencePath(r, i));
      HELX_RETURN_IF_ERROR(writer->Add(paths.back(), tensors.references[r][i]));
    }
  }
  return result;
}

absl::Status EmitBundle(const std::string& folder, const ActionContext& context) {
  const auto source = OpenBundleFolder(folder);
  HELX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, source->List());
  for (const std::string& path : paths) {
    HELX_ASSIGN_OR_RETURN(const std::string content, source->Read(path, INT64_MAX));
    context.emit(RecordType::kFile, path, content);
  }
  return absl::OkStatus();
}

}  // namespace helx::agent

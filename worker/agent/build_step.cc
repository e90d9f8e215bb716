#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/bundle/layout.h"
#include "core/bundle/measurements.h"
#include "worker/agent/action_steps.h"
#include "worker/agent/bundle_assembly.h"
#include "worker/engine/engine.h"
#include "worker/engine/toolchain.h"

namespace helx::agent {
namespace {

namespace fs = std::filesystem;

// What CompileModel leaves behind; the agent keeps them for the model's next request.
constexpr const char* kObjects[] = {"model.o", "weights.o"};

absl::StatusOr<Sha256Bytes> Bytes32(const std::string& hex) {
  HELX_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, HexDecode(hex));
  Sha256Bytes out{};
  if (bytes.size() != out.size()) return Internal("a digest does not have 32 bytes");
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

absl::StatusOr<std::string> Constants(const TensorRequest& tensors) {
  HELX_ASSIGN_OR_RETURN(const std::string digest, tensors.DigestHex());
  HELX_ASSIGN_OR_RETURN(const Sha256Bytes request_digest, Bytes32(digest));
  std::vector<std::vector<Sha256Bytes>> digests;
  for (const auto& set : tensors.input_sets) {
    auto& row = digests.emplace_back();
    for (const BoundTensor& tensor : set) {
      HELX_ASSIGN_OR_RETURN(const Sha256Bytes bytes, Bytes32(tensor.digest.hash));
      row.push_back(bytes);
    }
  }
  return engine::RequestConstants(request_digest, digests);
}

// Copies cached objects of this model; false when there are none.
bool UseObjects(const std::string& cache, const std::string& folder) {
  if (!fs::exists(cache + "/" + kObjects[0])) return false;
  std::error_code error;
  for (const char* name : kObjects) {
    const std::string from = cache + "/" + name;
    if (!fs::exists(from)) continue;
    fs::copy_file(from, folder + "/" + name, error);
    if (error) return false;
  }
  return true;
}

void EmitObjects(const std::string& folder, const ActionContext& context) {
  for (const char* name : kObjects) {
    const auto content = ReadFile(folder + "/" + name);
    if (content.ok()) context.emit(RecordType::kCache, name, *content);
  }
}

// The model's code (unless its objects are cached) and the request's constants, at once: neither
// needs the other.
absl::Status Compile(const engine::Toolchain& toolchain, const engine::GeneratedModel& model,
                     const std::string& constants, const target::Board& board,
                     const std::string& cached_objects, const std::string& model_folder,
                     const std::string& link_folder, const ActionContext& context,
                     std::vector<engine::RecordedCommand>* commands) {
  std::vector<engine::RecordedCommand> request_commands;
  absl::Status request_status;
  std::thread request([&] {
    request_status = toolchain.CompileRequest(constants, board, link_folder, &request_commands);
  });
  absl::Status model_status;
  const bool cached = UseObjects(cached_objects, model_folder);
  if (!cached) model_status = toolchain.CompileModel(model, board, model_folder, commands);
  request.join();
  commands->insert(commands->end(), request_commands.begin(), request_commands.end());
  HELX_RETURN_IF_ERROR(model_status);
  HELX_RETURN_IF_ERROR(request_status);
  if (!cached) EmitObjects(model_folder, context);
  return absl::OkStatus();
}

target::PlacementWish Wish(const PlacementEntry& placement) {
  return {placement.code, placement.weights, placement.arena};
}

bool IsSource(const std::string& name) {
  return name.ends_with(".c") || name.ends_with(".h") || name.ends_with(".S");
}

absl::Status AddBuildFiles(const engine::GeneratedModel& model, const engine::LinkedImage& image,
                           const std::string& constants,
                           const std::vector<engine::RecordedCommand>& commands,
                           std::string_view elf, BundleWriter* writer) {
  HELX_RETURN_IF_ERROR(writer->Add(kImagePath, elf));
  HELX_ASSIGN_OR_RETURN(const std::string map, ReadFile(image.map_path));
  HELX_RETURN_IF_ERROR(writer->Add("build/model.map", map));
  const std::string script = image.map_path.substr(0, image.map_path.rfind('/')) + "/model.ld";
  HELX_ASSIGN_OR_RETURN(const std::string layout, ReadFile(script));
  HELX_RETURN_IF_ERROR(writer->Add("build/src/model.ld", layout));
  Json memory = model.memory;
  memory["placement"] = Json{{"arena", image.placement.arena},
                             {"code", image.placement.code},
                             {"weights", image.placement.weights}};
  HELX_RETURN_IF_ERROR(writer->Add(kMemoryPlanPath, PrettyJson(memory)));
  for (const auto& [name, content] : model.files) {
    if (!IsSource(name)) continue;  // the weights are in the image and in the model
    HELX_RETURN_IF_ERROR(writer->Add("build/src/" + name, content));
  }
  HELX_RETURN_IF_ERROR(writer->Add("build/src/request.c", constants));
  return writer->Add("build/commands.json", PrettyJson(engine::CommandsToJson(commands)));
}

}  // namespace

absl::StatusOr<Json> BuildStep(const ActionInput& input, const ActionContext& context) {
  context.emit(RecordType::kPhase, "", "BUILDING");
  std::string changed;
  HELX_ASSIGN_OR_RETURN(const FrozenRequest request, ReadRequest(input, ToolUse::kBuild, &changed));
  if (!changed.empty()) return FailureOutcome("INFRA", "tool_changed", changed);
  const engine::Engine* engine = engine::FindEngine(request.engine.name);
  const target::Board* board = target::FindBoard(request.platform);
  if (engine == nullptr || board == nullptr) return Internal("unknown engine or platform");
  HELX_ASSIGN_OR_RETURN(const RequestTensors tensors, ReadTensors(input, request));
  HELX_ASSIGN_OR_RETURN(const std::string model_bytes, input.Blob(request.model));
  HELX_ASSIGN_OR_RETURN(
      engine::GeneratedModel model,
      engine->Generate(AsBytes(model_bytes), *board,
                       request.probe ? engine::Purpose::kProbe : engine::Purpose::kMeasure));
  if (request.probe) {
    const auto code = model.files.find("model.c");
    if (code == model.files.end()) {
      return FailureOutcome(
          "USER", "probe_unsupported",
          "engine " + request.engine.name + " cannot report the outputs of single operators");
    }
    code->second = "#define HELX_PROBE 1\n" + code->second;
  }

  HELX_ASSIGN_OR_RETURN(const engine::Toolchain toolchain,
                        engine::Toolchain::WithIdentity(request.toolchain));
  std::vector<engine::RecordedCommand> commands;
  const std::string model_folder = context.work_folder + "/model";
  const std::string link_folder = context.work_folder + "/link";
  const std::string bundle_folder = context.work_folder + "/bundle";
  for (const std::string& folder : {model_folder, link_folder, bundle_folder}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return absl::UnavailableError("cannot create " + folder + ": " + error.message());
  }
  HELX_ASSIGN_OR_RETURN(const std::string constants, Constants(request.tensors));
  HELX_RETURN_IF_ERROR(Compile(toolchain, model, constants, *board, input.folder + "/objects",
                               model_folder, link_folder, context, &commands));
  const auto image = toolchain.LinkObjects(model, *board, context.kernels_folder, model_folder,
                                           link_folder, &commands, Wish(request.placement));
  if (absl::IsOutOfRange(image.status())) {
    return FailureOutcome("USER", "does_not_fit", MessageOf(image.status()));
  }
  if (!image.ok()) return image.status();

  HELX_ASSIGN_OR_RETURN(const std::string elf, ReadFile(image->elf_path));
  BundleWriter writer(bundle_folder);
  HELX_ASSIGN_OR_RETURN(ResultDocument result, AddRequest(request, tensors, *board, &writer));
  result.image_sha256 = Sha256Hex(elf);
  result.memory = MemoryOfImage(image->figures);
  HELX_RETURN_IF_ERROR(AddBuildFiles(model, *image, constants, commands, elf, &writer));
  result.files = writer.ResultFiles();
  HELX_ASSIGN_OR_RETURN(const std::string text, result.Canonical());
  HELX_RETURN_IF_ERROR(writer.Add("result.json", text));
  HELX_RETURN_IF_ERROR(writer.Finish().status());
  HELX_RETURN_IF_ERROR(EmitBundle(bundle_folder, context));
  return Json{{"ok", true}};
}

}  // namespace helx::agent

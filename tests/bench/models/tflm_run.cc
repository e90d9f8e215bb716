#include "tests/bench/models/tflm_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/model/reader.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/collect/wire.h"
#include "worker/runner/runner_sources.h"
#include "worker/sandbox/process.h"
#include "worker/target/image.h"
#include "worker/target/linker_script.h"
#include "worker/target/target.h"

namespace helx::engine {
namespace {

// Enough for every model of the table, and for the boards' arena region.
constexpr int64_t kRoomyArena = 1 << 20;

// "CONV_2D" -> "Conv2D", as the resolver's methods are called.
std::string ResolverName(std::string_view operator_name) {
  static const std::map<std::string_view, std::string> irregular = {
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTM"},
      {"BATCH_MATMUL", "BatchMatMul"},
      {"PADV2", "PadV2"},
      {"CUMSUM", "CumSum"}};
  const auto it = irregular.find(operator_name);
  if (it != irregular.end()) return it->second;
  std::string name;
  bool upper = true;
  for (char c : operator_name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    const bool letter = c >= 'A' && c <= 'Z';
    name += letter && !upper ? static_cast<char>(c - 'A' + 'a') : c;
    upper = !letter;  // "2D"
  }
  return name;
}

std::string ByteList(const std::vector<int32_t>& numbers, const model::Subgraph& graph,
                     int64_t* largest) {
  std::string text;
  for (int32_t number : numbers) {
    const int64_t bytes = model::ByteSize(graph.tensors[number]);
    *largest = std::max(*largest, bytes);
    text += (text.empty() ? "{" : ", ") + std::to_string(bytes);
  }
  return text + "}";
}

absl::StatusOr<std::string> GeneratedHeader(const model::Model& model, int64_t arena_bytes) {
  std::set<std::string> adds;
  int variables = 0;
  bool state = false;
  for (const model::Subgraph& graph : model.subgraphs) {
    for (const model::Tensor& tensor : graph.tensors) state = state || tensor.is_variable;
    for (const model::Operator& op : graph.operators) {
      if (op.code == model::BuiltinOperator::CUSTOM) {
        return absl::UnimplementedError("custom operators are not registered");
      }
      adds.insert("resolver.Add" + ResolverName(model::OperatorName(op.code)) + "();");
      variables += op.code == model::BuiltinOperator::VAR_HANDLE;
    }
  }
  const model::Subgraph& graph = model.primary();
  int64_t largest = 16;
  const std::string inputs = ByteList(graph.inputs, graph, &largest);
  const std::string outputs = ByteList(graph.outputs, graph, &largest);
  std::string registrations;
  for (const std::string& add : adds) registrations += " " + add;
  return "#define HELX_TFLM_OPERATORS " + std::to_string(adds.size()) +
         "\n#define HELX_TFLM_ADD_OPERATORS(resolver)" + registrations +
         "\n#define HELX_TFLM_INPUT_BYTES " + inputs + "\n#define HELX_TFLM_OUTPUT_BYTES " +
         outputs + "\n#define HELX_TFLM_LARGEST_BYTES " + std::to_string(largest) +
         "\n#define HELX_TFLM_ARENA_BYTES " + std::to_string(arena_bytes) +
         "\n#define HELX_TFLM_VARIABLES " + std::to_string(variables) +
         "\n#define HELX_TFLM_STATE " + (state || variables > 0 ? "1" : "0") + "\n";
}

constexpr char kWeights[] =
    "    .section .helx_weights, \"a\", %progbits\n    .balign 16\n    .global helx_weights\n"
    "helx_weights:\n    .incbin \"model.tflite\"\n    .section .note.GNU-stack, \"\", %progbits\n";

absl::Status RunIn(const std::string& folder, std::vector<std::string> argv) {
  sandbox::Command command;
  command.argv = std::move(argv);
  command.directory = folder;
  command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
  command.limit = std::chrono::minutes(5);
  HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result, sandbox::Run(command));
  return result.ok() ? absl::OkStatus() : Internal(command.argv[0] + ": " + result.err);
}

// One image with an arena of a given size.
class Build {
 public:
  Build(const RecordedModel& recorded, const model::Model& model, const target::Target& target,
        const std::string& sdk)
      : recorded_(recorded), model_(model), target_(target), sdk_(sdk) {}

  // Outputs of the measured invocation go to `run`; returns the bytes of the arena that were used.
  absl::StatusOr<int64_t> Run(int64_t arena_bytes, BoardRun* run) {
    const target::Board& board = target_.board();
    const std::string suffix = "_" + std::string(board.platform) + "_" + recorded_.name + "_" +
                               std::to_string(arena_bytes);
    folder_ = FreshFolder("tflm" + suffix);
    target::RunRequest request;
    std::vector<Sha256Bytes> digests;
    std::vector<std::string> goldens;
    const model::Subgraph& graph = model_.primary();
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      HELX_ASSIGN_OR_RETURN(std::string bytes, Tensor("input", i));
      digests.push_back(Sha256Of(AsBytes(bytes)));
      request.input_sets.resize(1);
      request.input_sets[0].push_back(std::move(bytes));
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      HELX_ASSIGN_OR_RETURN(goldens.emplace_back(), Tensor("output", i));
      request.output_bytes.push_back(static_cast<uint32_t>(goldens.back().size()));
    }
    request.output_bytes.push_back(4);  // the arena's use
    request.request_digest.fill(9);
    HELX_RETURN_IF_ERROR(Link(arena_bytes, RequestConstants(request.request_digest, {digests})));
    HELX_ASSIGN_OR_RETURN(const std::string elf, ReadFile(folder_ + "/model.elf"));
    HELX_ASSIGN_OR_RETURN(run->figures, target::InspectImage(elf, board));
    run->elf_path = request.image = folder_ + "/model.elf";
    request.acquisition = {1, 1, "reset", true};
    request.work_folder = FreshFolder("tflm_run" + suffix);
    HELX_ASSIGN_OR_RETURN(const target::RunOutcome outcome, target_.Run(request));
    if (!outcome.evidence) {
      return Internal(recorded_.name +
                      " in TFLM: " + (outcome.failure ? outcome.failure->message : "cancelled"));
    }
    run->argv = outcome.argv;
    run->instructions = outcome.evidence->samples[0].instructions;
    const auto& outputs = outcome.evidence->samples[0].outputs;
    run->difference.clear();
    for (size_t i = 0; i < goldens.size(); ++i) {
      const std::string difference = GoldenDifference(
          outputs[i], goldens[i],
          model::StorageType(graph.tensors[graph.outputs[i]].type).value_or(DType::kInt8));
      if (!difference.empty()) run->difference += recorded_.name + " in TFLM: " + difference + "\n";
    }
    return collect::LoadU32(outputs.back(), 0);
  }

 private:
  absl::StatusOr<std::string> Tensor(const char* kind, size_t i) const {
    return ReadFile(recorded_.cases.front() + "/" + kind + "-" + std::to_string(i) + ".bin");
  }

  absl::Status Link(int64_t arena_bytes, const std::string& constants) {
    const target::Board& board = target_.board();
    const std::string root = HELX_SOURCE_DIR;
    HELX_ASSIGN_OR_RETURN(const std::string header, GeneratedHeader(model_, arena_bytes));
    const auto placements = target::Placements(board, recorded_.bytes.size(),
                                               static_cast<uint64_t>(arena_bytes) + (256u << 10));
    if (placements.empty()) return absl::OutOfRangeError("no memory for the model and its arena");
    for (const auto& [name, content] : std::map<std::string, std::string>{
             {"tflm_model_generated.h", header},
             {"request.c", constants},
             {"weights.S", kWeights},
             {"model.tflite", recorded_.bytes},
             {"model.ld", target::LinkerScript(board, placements.front())}}) {
      HELX_RETURN_IF_ERROR(WriteFile(folder_ + "/" + name, content));
    }
    const std::vector<std::string> flags(board.compile_flags.begin(), board.compile_flags.end());
    auto command = [&](const char* compiler, std::vector<std::string> rest) {
      std::vector<std::string> argv = {compiler};
      argv.insert(argv.end(), flags.begin(), flags.end());
      argv.insert(argv.end(), rest.begin(), rest.end());
      return argv;
    };
    const std::string include = "-I" + sdk_ + "/include";
    HELX_RETURN_IF_ERROR(RunIn(
        folder_, command("arm-none-eabi-g++", {"-std=c++17", "-O2", "-fno-rtti", "-fno-exceptions",
                                               "-fno-threadsafe-statics", "-ffunction-sections",
                                               "-DTF_LITE_STATIC_MEMORY", "-w", include,
                                               "-I" + runner::SourceDirectory(), "-I.", "-c",
                                               root + "/tests/bench/models/tflm_model.cc"})));
    std::vector<std::string> c = {"-O2", "-I" + runner::SourceDirectory(), "-c", "request.c",
                                  "weights.S"};
    for (const std::string& name : runner::Sources(board)) {
      c.push_back(runner::SourceDirectory() + "/" + name);
    }
    for (std::string_view flag : runner::CompileFlags()) c.emplace_back(flag);
    HELX_RETURN_IF_ERROR(RunIn(folder_, command("arm-none-eabi-gcc", std::move(c))));
    // The libraries are named in the group below: the driver would add some again behind it.
    std::vector<std::string> link = {"-nodefaultlibs",      "-T", "model.ld",
                                     "-Wl,--wrap=helx_run", "-o", "model.elf"};
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".o") link.push_back(entry.path().string());
    }
    std::sort(link.begin() + 6, link.end());
    link.push_back(sdk_ + "/lib/" + std::string(board.core) + "/libtensorflow-microlite.a");
    for (std::string_view flag : runner::LinkFlags()) {
      // System calls that nothing makes when it runs; their heap would begin at `end`.
      if (flag == "-lc") link.insert(link.end(), {"-lstdc++", "-lnosys", "-Wl,--defsym=end=0"});
      link.emplace_back(flag);
    }
    return RunIn(folder_, command("arm-none-eabi-g++", std::move(link)));
  }

  const RecordedModel& recorded_;
  const model::Model& model_;
  const target::Target& target_;
  const std::string& sdk_;
  std::string folder_;
};

}  // namespace

absl::StatusOr<BoardRun> RunTflm(const RecordedModel& recorded, std::string_view platform,
                                 const std::string& sdk) {
  const std::unique_ptr<target::Target> target = target::MakeTarget(platform);
  if (target == nullptr) return InvalidArgument("no platform " + std::string(platform));
  BoardRun run;
  const std::string core(target->board().core);
  if (!std::filesystem::exists(sdk + "/lib/" + core + "/libtensorflow-microlite.a")) {
    run.refusal = "the SDK has no lib/" + core + "/libtensorflow-microlite.a";
    return run;
  }
  const absl::StatusOr<model::Model> model = model::ReadModel(AsBytes(recorded.bytes));
  if (!model.ok()) return model.status();
  Build build(recorded, *model, *target, sdk);
  const absl::StatusOr<int64_t> used = build.Run(kRoomyArena, &run);
  if (absl::IsUnimplemented(used.status()) || absl::IsOutOfRange(used.status())) {
    run.refusal = std::string(used.status().message());
    return run;
  }
  HELX_RETURN_IF_ERROR(used.status());
  // What planning needs for a moment is not counted as used.
  for (int64_t more : {0, 64, 256, 1024}) {
    const int64_t arena = (*used + more + 15) / 16 * 16;
    BoardRun again;
    if (build.Run(arena, &again).ok()) {
      again.arena_bytes = arena;
      return again;
    }
  }
  return Internal(recorded.name + " in TFLM runs in no arena of up to " +
                  std::to_string(*used + 1024) + " bytes");
}

}  // namespace helx::engine

// Every real model on every emulated board: whether outputs equal the recorded ones, exact
// instructions, code size and memory.
//
//   helx_models_bench [--models a,b | --baseline] [--platforms p,q] [--report models.md] [--images
//   images.jsonl]
//
// Prints a row per model and platform and, for the models of tflm_baseline.tsv (--baseline: only
// those), a table of ratios to TensorFlow Lite Micro with CMSIS-NN; --report writes docs/models.md,
// --images a line per image for tests/bench/cycles/cycles.py. Models come from HELX_MODELS. With
// HELX_TFLM_SDK (a folder as tflm_run.h says) every model is also run by that SDK's interpreter,
// and its figures stand beside. Exits with 1 when an output differs.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "core/base/file.h"
#include "tests/bench/models/tflm_run.h"
#include "tests/unit/worker/engine/board_run.h"
#include "tests/unit/worker/engine/host_build.h"

namespace helx::engine {
namespace {

struct Row {
  std::string model;
  std::string platform;
  BoardRun run;
  std::optional<BoardRun> tflm;  // by the user's SDK
};

uint64_t CodeBytes(const BoardRun& run) {
  return run.figures.text_bytes + run.figures.rodata_bytes;
}
int64_t RamBytes(const BoardRun& run) { return run.arena_bytes + run.variable_bytes; }

std::string Verdict(const BoardRun& run) {
  return !run.refusal.empty() ? "not built" : run.difference.empty() ? "equal" : "differs";
}

void Print(const Row& row, const BoardRun& run) {
  std::printf("%-44s %-13s %-9s", row.model.c_str(), row.platform.c_str(), Verdict(run).c_str());
  if (run.refusal.empty()) {
    std::printf(
        " %11llu instructions  text %6llu  rodata %6llu  weights %8llu  arena %8lld  "
        "variables %6lld  macs %lld",
        static_cast<unsigned long long>(run.instructions),
        static_cast<unsigned long long>(run.figures.text_bytes),
        static_cast<unsigned long long>(run.figures.rodata_bytes),
        static_cast<unsigned long long>(run.figures.weight_bytes),
        static_cast<long long>(run.arena_bytes), static_cast<long long>(run.variable_bytes),
        static_cast<long long>(run.macs));
  } else {
    std::printf(" %s", run.refusal.c_str());
  }
  std::printf("\n%s", run.difference.c_str());
  std::fflush(stdout);
}

// What the user's SDK needs for the same, and the ratios to it.
void PrintSdk(const std::vector<Row>& rows) {
  std::printf(
      "\n| model | platform | SDK instructions | ratio | SDK .text + .rodata | ratio | SDK arena | "
      "ratio "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    if (!row.tflm || !row.tflm->refusal.empty() || !row.run.refusal.empty()) continue;
    auto ratio = [](auto ours, auto theirs) {
      return static_cast<double>(ours) / static_cast<double>(theirs);
    };
    std::printf("| %s | %s | %llu | %.3f | %llu | %.3f | %lld | %.3f |\n", row.model.c_str(),
                row.platform.c_str(), static_cast<unsigned long long>(row.tflm->instructions),
                ratio(row.run.instructions, row.tflm->instructions),
                static_cast<unsigned long long>(CodeBytes(*row.tflm)),
                ratio(CodeBytes(row.run), CodeBytes(*row.tflm)),
                static_cast<long long>(row.tflm->arena_bytes),
                ratio(RamBytes(row.run), row.tflm->arena_bytes));
  }
}

// A line of JSON per image, for cycles.py: how to run it again, and what it was measured to
// execute.
void WriteImages(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  auto write = [&](const Row& row, const BoardRun& run, const char* engine, int warmup) {
    if (!run.refusal.empty()) return;
    out << Json{{"model", row.model},
                {"platform", row.platform},
                {"core", std::string(target::FindBoard(row.platform)->core)},
                {"engine", engine},
                {"elf", run.elf_path},
                {"argv", run.argv},
                {"warmup", warmup},
                {"instructions", run.instructions}}
               .dump()
        << "\n";
  };
  for (const Row& row : rows) {
    write(row, row.run, "builtin", 0);
    if (row.tflm) write(row, *row.tflm, "tflm", 1);
  }
}

// Ratios to the baseline's column of the same core, and their geometric mean per platform.
void PrintRatios(const std::vector<Row>& rows) {
  static const std::map<std::string, std::string> cores = {
      {"corstone-300", "m55"}, {"mps2-m4", "m4"}, {"mps2-m7", "m7"}};
  const BaselineTable baseline = TflmBaseline();
  std::map<std::string, std::pair<double, int>> mlperf;
  std::printf(
      "\n| model | platform | instructions | / gcc | / clang | .text + .rodata | / .text | RAM | "
      "/ arena |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const auto known = baseline.find(row.model);
    const auto core = cores.find(row.platform);
    if (known == baseline.end() || core == cores.end() || !row.run.refusal.empty()) continue;
    auto ratio = [&](const std::string& column, double value) -> std::optional<double> {
      const auto it = known->second.find(core->second + column);
      if (it == known->second.end()) return std::nullopt;
      return value / it->second;
    };
    auto text = [](std::optional<double> value) {
      char buffer[16] = "";
      if (value) std::snprintf(buffer, sizeof buffer, "%.3f", *value);
      return std::string(buffer);
    };
    const auto instructions = static_cast<double>(row.run.instructions);
    const auto gcc = ratio("_instructions", instructions);
    const auto clang = ratio("_clang_instructions", instructions);
    std::cout << "| " << row.model << " | " << row.platform << " | " << row.run.instructions
              << " | " << text(gcc) << " | " << text(clang) << " | " << CodeBytes(row.run) << " | "
              << text(ratio("_text", static_cast<double>(CodeBytes(row.run)))) << " | "
              << RamBytes(row.run) << " | "
              << text(ratio("_arena", static_cast<double>(RamBytes(row.run)))) << " |\n";
    if (row.model.starts_with("mlperf_") && gcc) {
      auto& [sum, count] = mlperf[row.platform];
      sum += std::log(clang.value_or(*gcc));
      ++count;
    }
  }
  for (const auto& [platform, mean] : mlperf) {
    std::printf("%s: geometric mean of %d MLPerf Tiny models %.3f\n", platform.c_str(), mean.second,
                std::exp(mean.first / mean.second));
  }
}

void WriteReport(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "# Models\n\n"
         "Generated by `build/bin/helx_models_bench --report docs/models.md`: real models with "
         "recorded outputs, on every\n"
         "platform. *equal*: integers byte for byte, floats within 1e-4 of the output's largest "
         "magnitude, over all recorded\n"
         "cases and, for models with state, over consecutive invocations; "
         "[models-exceptions.md](models-exceptions.md) explains\n"
         "the others. Instructions are those of one invocation on the first case, exact. RAM is "
         "activations, scratch memory\n"
         "and state, of which the arena is all but the state. ROM is code (.text and .rodata with "
         "the runner) and weights, each\n"
         "padded to whole pages of memory protection.\n\n"
         "| model | platform | outputs | instructions | RAM | arena | ROM | code | weights "
         "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const BoardRun& run = row.run;
    out << "| " << row.model << " | " << row.platform << " | ";
    if (!run.refusal.empty()) {
      out << "not built: " << run.refusal << " | | | | | | |\n";
      continue;
    }
    out << Verdict(run) << " | " << run.instructions << " | " << RamBytes(run) << " | "
        << run.arena_bytes << " | " << run.figures.rom_bytes() << " | " << CodeBytes(run) << " | "
        << run.figures.weight_bytes << " |\n";
  }
}

int Main(int argc, char** argv) {
  CLI::App app{"Real models on emulated boards"};
  std::vector<std::string> models;
  std::vector<std::string> platforms = {"corstone-300", "mps2-m33", "mps2-m7", "mps2-m4",
                                        "mps2-m3"};
  std::string report, images;
  bool baseline = false;
  app.add_option("--models", models)->delimiter(',');
  app.add_flag("--baseline", baseline);
  app.add_option("--platforms", platforms)->delimiter(',');
  app.add_option("--report", report);
  app.add_option("--images", images);
  CLI11_PARSE(app, argc, argv);
  if (baseline) {
    for (const auto& [model, figures] : TflmBaseline()) models.push_back(model);
  }
  if (models.empty()) models = ModelsWithGoldens();
  const char* sdk = std::getenv("HELX_TFLM_SDK");
  if (models.empty()) {
    std::fprintf(stderr, "HELX_MODELS does not name a folder of models\n");
    return 2;
  }
  std::vector<Row> rows;
  bool good = true;
  for (const std::string& model : models) {
    const absl::StatusOr<RecordedModel> recorded = RecordedRealModel(model);
    if (!recorded.ok()) {
      std::fprintf(stderr, "%s\n", std::string(recorded.status().message()).c_str());
      return 2;
    }
    for (const std::string& platform : platforms) {
      absl::StatusOr<BoardRun> run = RunOnBoard(*recorded, platform);
      if (!run.ok()) {
        std::fprintf(stderr, "%s on %s: %s\n", model.c_str(), platform.c_str(),
                     std::string(run.status().message()).c_str());
        good = false;
        continue;
      }
      good = good && run->difference.empty();
      rows.push_back({model, platform, *std::move(run), {}});
      Print(rows.back(), rows.back().run);
      if (sdk == nullptr || *sdk == '\0') continue;
      absl::StatusOr<BoardRun> tflm = RunTflm(*recorded, platform, sdk);
      if (!tflm.ok()) {
        std::fprintf(stderr, "%s on %s in the SDK: %s\n", model.c_str(), platform.c_str(),
                     std::string(tflm.status().message()).c_str());
        good = false;
        continue;
      }
      rows.back().tflm = *std::move(tflm);
      Print(rows.back(), *rows.back().tflm);
    }
    if (!report.empty()) WriteReport(report, rows);
  }
  if (!images.empty()) WriteImages(images, rows);
  PrintRatios(rows);
  if (sdk != nullptr && *sdk != '\0') PrintSdk(rows);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace helx::engine

int main(int argc, char** argv) { return helx::engine::Main(argc, argv); }

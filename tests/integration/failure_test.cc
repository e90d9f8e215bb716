// What goes wrong around a job: an emulator that hangs, a model that no memory holds, a disk that
// fills up. Each ends in one clear error, and what comes after it works.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/base/sha256.h"
#include "core/model/model.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

namespace fs = std::filesystem;

std::string Digits() {
  return std::string(HELX_SOURCE_DIR) + "/corpus/models/digits/digits.tflite";
}

// What /proc/{pid}/stat says: the command's name and the parent.
struct ProcessEntry {
  std::string name;
  pid_t parent = 0;
};

std::map<pid_t, ProcessEntry> Processes() {
  std::map<pid_t, ProcessEntry> out;
  for (const auto& item : fs::directory_iterator("/proc")) {
    const std::string pid = item.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(pid[0]))) continue;
    std::ifstream in(item.path().string() + "/stat");
    std::string text;
    if (!std::getline(in, text)) continue;
    const size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    ProcessEntry entry{text.substr(open + 1, close - open - 1), 0};
    entry.parent = std::atoi(text.c_str() + close + 4);
    out[std::stoi(pid)] = entry;
  }
  return out;
}

// The processes whose names begin so that this service's workers run just now.
std::vector<pid_t> Running(const Service& service, std::string_view name) {
  const auto processes = Processes();
  std::vector<pid_t> out;
  for (const auto& [pid, entry] : processes) {
    if (!entry.name.starts_with(name)) continue;
    for (pid_t at = pid; at > 1;) {
      const auto found = processes.find(at);
      if (found == processes.end()) break;
      if (found->second.parent == service.pid()) {
        out.push_back(pid);
        break;
      }
      at = found->second.parent;
    }
  }
  return out;
}

Json OnlyJob(const CommandResult& result) {
  const Json answer = result.json();
  if (answer.contains("jobs") && answer["jobs"].size() == 1) return answer["jobs"][0];
  ADD_FAILURE() << result.out << result.err;
  return Json::object();
}

std::string FailureMessage(const Json& job) {
  const Json failure = job.value("failure", Json::object());
  return failure.is_object() ? failure.value("message", "") : "";
}

void ExpectDigitsRun(const Service& service) {
  service.WriteExperiment("after", "name: after\nmodel: " + Digits() + "\n");
  const CommandResult after = service.Helxctl({"submit", "after.yaml", "--wait", "--no-cache"});
  EXPECT_EQ(after.exit_code, 0) << after.out << after.err;
}

TEST(Failure, AHangingEmulatorEndsWithItsLimit) {
  ServiceOptions options;
  options.workers = 1;
  Service service(options);
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExpectDigitsRun(service);  // the worker has asked the emulator's version by now
  service.WriteExperiment("hang", "name: hang\nmodel: " + Digits() + "\ndefaults: {samples: 64}\n");
  // Stopped as soon as it is there, again and again, it makes no step.
  std::atomic<bool> done = false;
  std::set<pid_t> stopped;
  std::thread stopper([&] {
    while (!done) {
      for (pid_t pid : Running(service, "qemu-system")) {
        if (kill(pid, SIGSTOP) == 0) stopped.insert(pid);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const CommandResult submit = service.Helxctl(
      {"submit", "hang.yaml", "--wait", "--json", "--no-cache", "--run-limit-seconds", "20"});
  done = true;
  stopper.join();
  EXPECT_FALSE(stopped.empty()) << "the emulator was never seen";
  const Json job = OnlyJob(submit);
  EXPECT_EQ(job.value("phase", ""), "TIMED_OUT") << submit.out << submit.err;
  EXPECT_EQ(submit.exit_code, 4) << submit.err;
  EXPECT_NE(FailureMessage(job).find("limit"), std::string::npos) << job.dump(2);
  for (pid_t pid : stopped) EXPECT_NE(kill(pid, 0), 0) << "the emulator " << pid << " lives on";
  ExpectDigitsRun(service);
}

// A folder like a toolchain that somebody put on a lab host by hand, first in PATH. What lies there
// starts the installed tools; the compiler takes `delay` more seconds for a model's code.
class OwnTools {
 public:
  explicit OwnTools(const std::string& delay = "0") {
    fs::create_directories(bin());
    for (const char* name : {"arm-none-eabi-gcc", "arm-none-eabi-ar", "qemu-system-arm"}) {
      Spill(Path(name), "#!/bin/sh\ncase \" $* \" in *\" model.c \"*) sleep " + delay +
                            ";; esac\nexec /usr/bin/" + name + " \"$@\"\n");
      fs::permissions(Path(name), fs::perms(0755));
    }
    // The sandbox's user gets here too.
    fs::permissions(folder_.path(), fs::perms(0755));
  }
  std::string bin() const { return folder_.path() + "/bin"; }
  std::string Path(const std::string& name) const { return bin() + "/" + name; }
  ServiceOptions Options() const {
    ServiceOptions options;
    options.workers = 1;
    options.environment = {"PATH=" + bin() + ":/usr/bin:/bin"};
    return options;
  }

 private:
  ScratchFolder folder_;
};

// Evidence names the tools that ran: those that the worker's PATH finds, not those of /usr/bin.
TEST(Failure, TheToolsThatAreNamedAreTheToolsThatRun) {
  const OwnTools tools;
  Service service(tools.Options());
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ASSERT_NO_FATAL_FAILURE(ExpectDigitsRun(service));
  const CommandResult fetch = service.Helxctl({"results", "fetch", "after", "-o", "bundle"});
  ASSERT_EQ(fetch.exit_code, 0) << fetch.err;
  const std::string bundle = service.folder() + "/bundle";
  const Json result = Json::parse(Slurp(bundle + "/result.json"));
  EXPECT_TRUE(std::string(result["toolchain"]["detail"]).starts_with("sha256:")) << result.dump(1);
  EXPECT_TRUE(std::string(result["target"]["detail"])
                  .starts_with("sha256=" + Sha256Hex(Slurp(tools.Path("qemu-system-arm")))))
      << result.dump(1);
  const Json commands = Json::parse(Slurp(bundle + "/build/commands.json"));
  ASSERT_FALSE(commands.empty());
  for (const Json& command : commands) {
    EXPECT_EQ(command["argv"][0], tools.Path("arm-none-eabi-gcc"));
  }
}

// An int8 image of 8 x 8, resized to `side` x `side` and back; 16384: 256 MiB in between.
std::string ResizeModel(int32_t side = 16384) {
  tflite::ModelT model;
  model.version = 3;
  model.buffers.push_back(std::make_unique<tflite::BufferT>());
  auto code = std::make_unique<tflite::OperatorCodeT>();
  code->builtin_code = tflite::BuiltinOperator::RESIZE_NEAREST_NEIGHBOR;
  code->deprecated_builtin_code = static_cast<int8_t>(code->builtin_code);
  model.operator_codes.push_back(std::move(code));
  auto graph = std::make_unique<tflite::SubGraphT>();
  const auto add_tensor = [&](tflite::TensorType type, std::vector<int32_t> shape) {
    auto tensor = std::make_unique<tflite::TensorT>();
    tensor->type = type;
    tensor->shape = std::move(shape);
    tensor->quantization = std::make_unique<tflite::QuantizationParametersT>();
    if (type == tflite::TensorType::INT8) {
      tensor->quantization->scale = {0.5f};
      tensor->quantization->zero_point = {0};
    }
    graph->tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(graph->tensors.size()) - 1;
  };
  int32_t at = add_tensor(tflite::TensorType::INT8, {1, 8, 8, 1});
  graph->inputs = {at};
  for (const int32_t size : {side, 8}) {
    const int32_t operand = add_tensor(tflite::TensorType::INT32, {2});
    graph->tensors[operand]->buffer = static_cast<uint32_t>(model.buffers.size());
    auto buffer = std::make_unique<tflite::BufferT>();
    buffer->data.resize(8);
    const int32_t sizes[2] = {size, size};
    std::memcpy(buffer->data.data(), sizes, sizeof sizes);
    model.buffers.push_back(std::move(buffer));
    auto op = std::make_unique<tflite::OperatorT>();
    op->inputs = {at, operand};
    op->builtin_options.Set(tflite::ResizeNearestNeighborOptionsT());
    at = add_tensor(tflite::TensorType::INT8, {1, size, size, 1});
    op->outputs = {at};
    graph->operators.push_back(std::move(op));
  }
  graph->outputs = {at};
  model.subgraphs.push_back(std::move(graph));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(tflite::Model::Pack(builder, &model), "TFL3");
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Whoever kills a compiler (the kernel, when memory runs out) says nothing about the model.
TEST(Failure, AKilledCompilerIsTheHostsFaultAndTriedAgain) {
  const OwnTools tools("1");
  Service service(tools.Options());
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExpectDigitsRun(service);  // the kernels are compiled by now
  Spill(service.folder() + "/small.tflite", ResizeModel(16));
  // Kills the compiler `times` times while a model is built whose objects nobody has kept.
  const auto job_of = [&](const std::string& name, int times) {
    std::atomic<bool> done = false;
    std::atomic<int> kills = 0;
    std::thread killer([&] {
      std::set<pid_t> killed;
      while (!done) {
        for (pid_t pid : Running(service, "arm-none-eabi-g")) {
          if (kills < times && killed.insert(pid).second && kill(pid, SIGKILL) == 0) ++kills;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    service.WriteExperiment(name, "name: " + name + "\nmodel: small.tflite\n");
    const CommandResult submit = service.Helxctl({"submit", name + ".yaml", "--wait", "--json"});
    done = true;
    killer.join();
    EXPECT_GE(kills, 1);
    return OnlyJob(submit);
  };
  const Json always = job_of("always", 1'000'000);
  EXPECT_EQ(always.value("phase", ""), "FAILED") << always.dump(1);
  EXPECT_EQ(always.value("/failure/fault"_json_pointer, ""), "INFRA") << always.dump(1);
  EXPECT_EQ(always.value("/failure/code"_json_pointer, ""), "compiler_killed") << always.dump(1);
  const Json once = job_of("once", 1);
  EXPECT_EQ(once.value("phase", ""), "SUCCEEDED") << once.dump(1);
}

TEST(Failure, AModelThatNoMemoryHoldsIsRefusedWithTheSizes) {
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  Spill(service.folder() + "/large.tflite", ResizeModel());
  service.WriteExperiment("large", "name: large\nmodel: large.tflite\n");
  const CommandResult submit = service.Helxctl({"submit", "large.yaml", "--wait", "--json"});
  const Json job = OnlyJob(submit);
  EXPECT_EQ(job.value("phase", ""), "FAILED") << submit.out << submit.err;
  EXPECT_EQ(job.value("/failure/fault"_json_pointer, ""), "USER") << job.dump(2);
  EXPECT_NE(FailureMessage(job).find("268"), std::string::npos)
      << job.dump(2);  // 268,435,456 bytes
  ExpectDigitsRun(service);
}

// A placement that cannot be kept is refused before anything is built, each with its reason.
TEST(Failure, APlacementWithoutRoomIsRefusedAtFreeze) {
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  // 4 MiB of activations; SRAM has 2.
  Spill(service.folder() + "/wide.tflite", ResizeModel(2048));
  struct Case {
    const char *placement, *code, *part;
  };
  for (const Case& c : {Case{"{arena: SRAM}", "does_not_fit", "placement.arena"},
                        Case{"{arena: FLASH}", "unknown_region", "placement.arena"},
                        Case{"{code: DTCM}", "unknown_region", "placement.code"}}) {
    service.WriteExperiment("placed", std::string("name: placed\nmodel: wide.tflite\ndefaults:\n"
                                                  "  placement: ") +
                                          c.placement + "\n");
    const CommandResult freeze = service.Helxctl({"freeze", "placed.yaml"});
    EXPECT_EQ(freeze.exit_code, 2) << c.placement << freeze.out << freeze.err;
    EXPECT_NE((freeze.out + freeze.err).find(c.code), std::string::npos)
        << c.placement << freeze.out << freeze.err;
    EXPECT_NE((freeze.out + freeze.err).find(c.part), std::string::npos)
        << c.placement << freeze.out << freeze.err;
  }
  service.WriteExperiment("placed",
                          "name: placed\nmodel: wide.tflite\ndefaults:\n"
                          "  placement: {arena: DDR}\n");
  const CommandResult freeze = service.Helxctl({"freeze", "placed.yaml"});
  EXPECT_EQ(freeze.exit_code, 0) << freeze.out << freeze.err;
}

// Work goes on until nothing is left of the disk; then each submission or job ends with an error
// that names it, nothing that was acknowledged is lost, and with space again the service works.
TEST(Failure, AFullDiskIsNamedAndSurvived) {
  ServiceOptions options;
  options.disk_bytes = int64_t{160} << 20;
  options.workers = 1;
  Service service(options);
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExpectDigitsRun(service);
  const std::string filler = service.DataFolderAsSeen() + "/filler";
  {
    std::ofstream out(filler, std::ios::binary);
    const std::string piece(1 << 20, 'x');
    while (out.write(piece.data(), static_cast<std::streamsize>(piece.size())) && out.flush()) {
    }
  }
  int acknowledged = 0, refused = 0;
  std::vector<std::string> names;
  std::string said;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "full" + std::to_string(i);
    service.WriteExperiment(name, "name: " + name + "\nmodel: " + Digits() +
                                      "\ndefaults: {samples: " + std::to_string(2 + i) + "}\n");
    const CommandResult submit =
        service.Helxctl({"submit", name + ".yaml", "--json", "--no-cache"});
    const Json answer = submit.json();
    if (answer.contains("jobs") && !answer["jobs"].empty()) {
      ++acknowledged;
      names.push_back(answer["jobs"][0].value("job", ""));
    } else {
      ++refused;
      said += submit.err;
    }
  }
  std::string endings;
  for (const std::string& name : names) {
    const CommandResult wait = service.Helxctl({"wait", name});
    endings += wait.err;
  }
  std::printf("full disk: %d acknowledged, %d refused\n", acknowledged, refused);
  EXPECT_NE((said + endings).find("full"), std::string::npos) << said << endings << service.Log();
  ASSERT_TRUE(fs::remove(filler));
  bool works = false;
  for (int i = 0; i < 100 && !works; ++i) {
    service.WriteExperiment("again", "name: again\nmodel: " + Digits() + "\n");
    works = service.Helxctl({"submit", "again.yaml", "--wait", "--no-cache"}).exit_code == 0;
    if (!works) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_TRUE(works) << service.Log();
  for (const std::string& name : names) {
    const CommandResult status = service.Helxctl({"status", name, "--json"});
    const Json job = status.json();
    ASSERT_TRUE(job.contains("phase")) << status.out << status.err;
    EXPECT_TRUE(job["phase"] == "SUCCEEDED" || job["phase"] == "FAILED") << job.dump(2);
  }
}

}  // namespace
}  // namespace helx::testing

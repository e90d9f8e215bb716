// Runs real images on every emulated board.
#include "worker/target/qemu.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "tests/unit/worker/target/firmware.h"
#include "worker/sandbox/process.h"

namespace helx::target {
namespace {

using ::testing::HasSubstr;

// What the tests expect of a board, from its documents.
struct BoardFacts {
  const char* platform;
  uint32_t cpuid_part;  // CPUID[15:4], from the core's Technical Reference Manual
  const char* identity;
};

constexpr BoardFacts kBoards[] = {
    {"corstone-300", 0xd22, ";machine=mps3-an547;icount=shift=5,sleep=off"},
    {"mps2-m33", 0xd21, ";machine=mps2-an505;icount=shift=7,sleep=off"},
    {"mps2-m7", 0xc27, ";machine=mps2-an500;icount=shift=7,sleep=off"},
    {"mps2-m4", 0xc24, ";machine=mps2-an386;icount=shift=7,sleep=off"},
    {"mps2-m3", 0xc23, ";machine=mps2-an385;icount=shift=7,sleep=off"},
};

class QemuTest : public ::testing::TestWithParam<BoardFacts> {
 protected:
  void SetUp() override {
    if (sandbox::FindProgram("qemu-system-arm").empty() ||
        sandbox::FindProgram("arm-none-eabi-gcc").empty()) {
      if (const char* require = std::getenv("HELX_REQUIRE_QEMU"); require && *require == '1') {
        FAIL() << "qemu-system-arm and arm-none-eabi-gcc are required";
      }
      GTEST_SKIP() << "qemu-system-arm or arm-none-eabi-gcc is not installed";
    }
  }

  const Board& board() const { return *FindBoard(GetParam().platform); }

  RunOutcome Execute(const RunRequest& request) {
    const auto outcome = QemuTarget(board()).Run(request);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : RunOutcome{};
  }

  // Builds and executes with the inputs that were compiled in.
  RunOutcome BuildAndRun(const TestModel& model, const InputSets& inputs) {
    const std::string image = BuildImage(board(), model, inputs, folder_.path());
    RunRequest request = MakeRequest(image, model, inputs, folder_.path());
    request.acquisition.capture = true;
    return Execute(request);
  }

  static std::string Code(const RunOutcome& outcome) {
    return outcome.failure ? outcome.failure->code : "";
  }

  TemporaryFolder folder_;
};

// out = in + 1, and the variable counts invocations from 7.
TestModel Adder() {
  return {{16}, {16, 4},
          "for (int i = 0; i < 16; ++i) out0[i] = in0[i] + 1;\n"
          "++variable; memcpy(out1, &variable, 4); return 0;", ""};
}

std::string PlusOne(std::string bytes) {
  for (char& c : bytes) ++c;
  return bytes;
}

std::string Word(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), 4);  // both ends are little-endian
}

TEST_P(QemuTest, ReportsOutputsSignaturesAndCounts) {
  const InputSets inputs = {{Bytes(16)}};
  const RunOutcome outcome = BuildAndRun(Adder(), inputs);
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  ASSERT_EQ(outcome.evidence->samples.size(), 1u);
  const collect::MeasuredSample& sample = outcome.evidence->samples[0];
  EXPECT_EQ(sample.outputs[0], PlusOne(inputs[0][0]));
  EXPECT_EQ(sample.outputs[1], Word(8));
  EXPECT_EQ(sample.signatures[0], Sha256Of(AsBytes(sample.outputs[0])));
  EXPECT_GT(sample.instructions, 10u);
  EXPECT_EQ(outcome.evidence->request_digest, TestRequestDigest());
  EXPECT_EQ(outcome.evidence->cpuid >> 24, 0x41u);  // implementer: Arm
  EXPECT_EQ(outcome.evidence->cpuid >> 4 & 0xfff, GetParam().cpuid_part);
  EXPECT_EQ(outcome.evidence->stack_reserved_bytes, 64u * 1024);
}

// 1000 turns of subs and bne, with movw before and the return after: 1 + 2000 + 1, and "movs r0, #0".
TEST_P(QemuTest, CountsExactlyTheInvocationsInstructions) {
  TestModel model{{4}, {4}, "return counted();",
                  "__attribute__((naked, noinline)) static uint32_t counted(void) {\n"
                  "  __asm__ volatile(\"movw r1, #1000\\n1: subs r1, r1, #1\\n bne 1b\\n"
                  " movs r0, #0\\n bx lr\\n\");\n}\n"};
  // invoke itself becomes a single branch to `counted` (a sibling call). A thousand samples meet the counter's clock in every
  // phase.
  const InputSets inputs = {{Bytes(4)}};
  const std::string image = BuildImage(board(), model, inputs, folder_.path());
  RunRequest request = MakeRequest(image, model, inputs, folder_.path());
  request.acquisition.samples = 1000;
  const RunOutcome outcome = Execute(request);
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  ASSERT_EQ(outcome.evidence->samples.size(), 1000u);
  for (const auto& sample : outcome.evidence->samples) {
    EXPECT_EQ(sample.instructions, 1u + 1 + 2000 + 1 + 1);
  }
}

TEST_P(QemuTest, MeasuresTheStackBelowTheCall) {
  TestModel model{{4}, {4},
                  "volatile uint8_t block[4096]; for (int i = 0; i < 4096; ++i) block[i] = 1;\n"
                  "out0[0] = block[17]; return 0;", ""};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  EXPECT_GE(outcome.evidence->stack_high_water_bytes, 4096u);
  EXPECT_LE(outcome.evidence->stack_high_water_bytes, 4096u + 64);
  EXPECT_GT(outcome.evidence->stack_total_bytes, outcome.evidence->stack_high_water_bytes);
}

TEST_P(QemuTest, TenRunsAreIdentical) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.acquisition.capture = true;
  request.acquisition.samples = 3;
  request.acquisition.state = "carry";
  // The bytes on the wire, not only what they mean.
  const std::string loader = folder_.path() + "/loader.bin";
  ASSERT_FALSE(Execute(request).failure);
  std::string first;
  for (int run = 0; run < 10; ++run) {
    sandbox::Command command;
    command.argv = QemuTarget(board()).CommandLine(image, loader);
    const auto result = sandbox::Run(command);
    ASSERT_TRUE(result.ok() && result->ok());
    if (run == 0) first = result->out;
    EXPECT_GT(first.size(), 300u);
    EXPECT_EQ(result->out, first) << "run " << run;
  }
}

TEST_P(QemuTest, CountsAreEqualWithAndWithoutCaptureAndWarmup) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.acquisition = {0, 4, "reset", false};
  const RunOutcome plain = Execute(request);
  request.acquisition = {5, 4, "reset", true};
  const RunOutcome captured = Execute(request);
  ASSERT_FALSE(plain.failure || captured.failure);
  ASSERT_EQ(plain.evidence->samples.size(), 4u);
  ASSERT_EQ(captured.evidence->samples.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const auto& a = plain.evidence->samples[i];
    const auto& b = captured.evidence->samples[i];
    EXPECT_EQ(a.instructions, plain.evidence->samples[0].instructions);
    EXPECT_EQ(a.instructions, b.instructions);
    EXPECT_EQ(a.signatures, b.signatures);
    EXPECT_TRUE(a.outputs.empty());
    EXPECT_EQ(b.outputs.size(), 2u);
  }
}

TEST_P(QemuTest, StateIsResetBeforeEachInvocationOrCarried) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.acquisition = {2, 3, "reset", true};
  RunOutcome outcome = Execute(request);
  ASSERT_FALSE(outcome.failure);
  for (const auto& sample : outcome.evidence->samples) EXPECT_EQ(sample.outputs[1], Word(8));
  request.acquisition = {2, 3, "carry", true};
  outcome = Execute(request);
  ASSERT_FALSE(outcome.failure);
  // From 7, two warm-ups, then samples: 10, 11, 12.
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome.evidence->samples[i].outputs[1], Word(10 + i));
  }
}

TEST_P(QemuTest, OneInputSetPerSample) {
  const InputSets inputs = {{Bytes(16, 1)}, {Bytes(16, 2)}, {Bytes(16, 3)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.acquisition = {0, 3, "carry", true};
  const RunOutcome outcome = Execute(request);
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome.evidence->samples[i].outputs[0], PlusOne(inputs[i][0]));
  }
}

TEST_P(QemuTest, PoisonChangesNothingOfAModelThatInitialisesItsMemory) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  const RunOutcome first = Execute(request);
  request.poison = 0x00ff55aa;
  const RunOutcome second = Execute(request);
  ASSERT_FALSE(first.failure || second.failure);
  EXPECT_EQ(first.evidence->samples[0].signatures, second.evidence->samples[0].signatures);
  EXPECT_EQ(first.evidence->samples[0].instructions, second.evidence->samples[0].instructions);
}

TEST_P(QemuTest, PoisonShowsAModelThatReadsWhatItNeverWrote) {
  const TestModel model{{16}, {4}, "memcpy(out0, arena + 48, 4); return 0;", ""};
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), model, inputs, folder_.path());
  RunRequest request = MakeRequest(image, model, inputs, folder_.path());
  request.acquisition.capture = true;
  for (const uint32_t poison : {0xa5a5a5a5u, 0x01020304u}) {
    request.poison = poison;
    const RunOutcome outcome = Execute(request);
    ASSERT_FALSE(outcome.failure);
    EXPECT_EQ(outcome.evidence->samples[0].outputs[0], Word(poison));
  }
}

TEST_P(QemuTest, RefusesInputBytesThatDoNotHashToTheImagesDigests) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.input_sets[0][0][15] ^= 1;
  const RunOutcome outcome = Execute(request);
  EXPECT_EQ(Code(outcome), "input_digest_mismatch");
  EXPECT_THAT(outcome.failure->message, HasSubstr(Sha256Hex(request.input_sets[0][0])));
  request.input_sets[0][0].resize(32);
  EXPECT_EQ(Code(Execute(request)), "runner_refused");
}

// The allocated sections of an ELF file by name.
std::map<std::string, std::string> Sections(const std::string& elf) {
  Elf32_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  std::vector<Elf32_Shdr> table(header.e_shnum);
  std::memcpy(table.data(), elf.data() + header.e_shoff, table.size() * sizeof(Elf32_Shdr));
  std::map<std::string, std::string> out;
  for (const Elf32_Shdr& section : table) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_NOBITS) continue;
    out[elf.data() + table[header.e_shstrndx].sh_offset + section.sh_name] =
        elf.substr(section.sh_offset, section.sh_size);
  }
  return out;
}

TEST_P(QemuTest, ImagesOfTwoInputsDifferOnlyInTheRequestsConstants) {
  const auto first = ReadFile(BuildImage(board(), Adder(), {{Bytes(16, 1)}}, folder_.path()));
  ASSERT_TRUE(first.ok());
  const auto second = ReadFile(BuildImage(board(), Adder(), {{Bytes(16, 2)}}, folder_.path()));
  ASSERT_TRUE(second.ok());
  auto a = Sections(*first), b = Sections(*second);
  EXPECT_NE(a[".helx_request"], b[".helx_request"]);
  a.erase(".helx_request");
  b.erase(".helx_request");
  EXPECT_GE(a.size(), 4u);
  EXPECT_EQ(a, b);
}

TEST_P(QemuTest, RefusesAnImageOfAnotherRequest) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.request_digest[0] ^= 1;
  EXPECT_EQ(Code(Execute(request)), "request_digest_mismatch");
}

// As much as both the staging memory and the largest region for an arena take: 16 MiB on corstone-300.
TEST_P(QemuTest, LargestInput) {
  // Behind the arena there is a page for kernels that read whole vectors.
  const uint32_t bytes = std::min(16u << 20, board().staging_bytes / 8 * 7) - 4096;
  const TestModel model{{bytes}, {4},
                        "uint32_t sum = 0; for (uint32_t i = 0; i < " + std::to_string(bytes) +
                            "; i += 4096) sum += in0[i]; memcpy(out0, &sum, 4); return 0;", ""};
  const InputSets inputs = {{Bytes(bytes)}};
  uint32_t sum = 0;
  for (uint32_t i = 0; i < bytes; i += 4096) sum += static_cast<uint8_t>(inputs[0][0][i]);
  const RunOutcome outcome = BuildAndRun(model, inputs);
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  EXPECT_EQ(outcome.evidence->samples[0].outputs[0], Word(sum));
}

// An arena that is too large for its own region lies behind the weights.
TestModel ReadsWeights(const std::string& more) {
  return {{4}, {4},
          "arena[0] = arena[sizeof(arena) - 1] = 1; memcpy(out0, weights + 4996, 4);\n" + more +
              " return 0;",
          "const uint8_t weights[5000] __attribute__((section(\".helx_weights\"))) = "
          "{[4996] = 1, 2, 3, 4};\n",
          3u << 20};
}

TEST_P(QemuTest, WeightsAndArenaInOneRegion) {
  const Placement placement = Placements(board(), 5000, 3u << 20).at(0);
  ASSERT_EQ(placement.weights, placement.arena);
  const RunOutcome outcome = BuildAndRun(ReadsWeights(""), {{Bytes(4)}});
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  EXPECT_EQ(outcome.evidence->samples[0].outputs[0], "\1\2\3\4");
}

TEST_P(QemuTest, WritingWeightsFaults) {
  const auto write = "*(volatile uint8_t*)(uint32_t)(weights + 4999) = 1;";
  const RunOutcome outcome = BuildAndRun(ReadsWeights(write), {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "hard_fault");
  EXPECT_THAT(outcome.failure->message, HasSubstr("write to constants"));
}

TEST_P(QemuTest, ExecutingDataFaults) {
  const TestModel model{{4}, {4},
                        "memcpy(arena, \"\\x70\\x47\", 2);"  // bx lr
                        " ((void (*)(void))((uint32_t)arena | 1))(); return 0;", ""};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "hard_fault");
  EXPECT_THAT(outcome.failure->message, HasSubstr("memory that is not code"));
}

TEST_P(QemuTest, NullPointerFaults) {
  const TestModel model{{4}, {4}, "out0[0] = *(volatile uint8_t*)(nothing + 8); return 0;",
                        "static uint8_t* volatile nothing = 0;\n"};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "hard_fault");
  EXPECT_EQ(outcome.failure->fault, Fault::kBug);
  ASSERT_TRUE(outcome.registers);
  EXPECT_EQ(outcome.registers->invocation, 0u);
  EXPECT_EQ(outcome.registers->mmfar, 8u);
  EXPECT_EQ(outcome.registers->cfsr, 0x82u);  // DACCVIOL, MMARVALID
  EXPECT_TRUE(outcome.registers->frame_readable);
  EXPECT_GT(outcome.registers->pc, 0x400u);
  EXPECT_THAT(outcome.failure->message, HasSubstr("address 0"));
}

TEST_P(QemuTest, WritingConstantsFaults) {
  const TestModel model{{4}, {4}, "*(volatile uint8_t*)(uint32_t)&helx_the_model = 1; return 0;",
                        "extern const helx_model helx_the_model;\n"};
  EXPECT_EQ(Code(BuildAndRun(model, {{Bytes(4)}})), "hard_fault");
}

TEST_P(QemuTest, StackOverflowFaults) {
  const TestModel model{{4}, {4}, "return deep(100000) & 0;",
                        "__attribute__((noinline)) static uint32_t deep(uint32_t n) {\n"
                        "  volatile uint32_t kept[16]; kept[n & 15] = n;\n"
                        "  return n == 0 ? 0 : deep(n - 1) + kept[n & 15];\n}\n"};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "hard_fault");
  EXPECT_THAT(outcome.failure->message, HasSubstr("stack overflow"));
}

TEST_P(QemuTest, UndefinedInstructionFaults) {
  const TestModel model{{4}, {4}, "__asm__ volatile(\"udf #1\"); return 0;", ""};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "hard_fault");
  EXPECT_THAT(outcome.failure->message, HasSubstr("undefined instruction"));
}

TEST_P(QemuTest, OperatorThatCannotGoOn) {
  const TestModel model{{4}, {4}, "return variable;", ""};
  const RunOutcome outcome = BuildAndRun(model, {{Bytes(4)}});
  EXPECT_EQ(Code(outcome), "operator_failed");
  EXPECT_EQ(outcome.failure->fault, Fault::kUser);
  EXPECT_THAT(outcome.failure->message, HasSubstr("operator 6"));  // the status is 1 + its index
}

class QemuHangTest : public QemuTest {
 protected:
  RunRequest Hang() {
    const TestModel model{{4}, {4}, "for (;;) ++*(volatile uint8_t*)out0; return 0;", ""};
    const InputSets inputs = {{Bytes(4)}};
    return MakeRequest(BuildImage(board(), model, inputs, folder_.path()), model, inputs,
                       folder_.path());
  }
};

TEST_P(QemuHangTest, ByInstructions) {
  RunRequest request = Hang();
  // Deadlines of every phase relative to the counter's clock.
  for (const uint64_t limit : {1u, 17u, 999u, 1'000u, 1'001u, 123'457u, 10'000'000u}) {
    request.limits.instructions = limit;
    const RunOutcome outcome = Execute(request);
    EXPECT_EQ(Code(outcome), "instruction_limit") << limit;
    EXPECT_TRUE(outcome.failure && outcome.failure->timed_out);
  }
}

TEST_P(QemuHangTest, BySilence) {
  RunRequest request = Hang();
  request.limits.silence = std::chrono::milliseconds(700);
  const RunOutcome outcome = Execute(request);
  EXPECT_EQ(Code(outcome), "silence");
  EXPECT_EQ(outcome.failure->fault, Fault::kDevice);
}

TEST_P(QemuHangTest, ByTheWallClock) {
  RunRequest request = Hang();
  request.limits.wall = std::chrono::milliseconds(900);
  const RunOutcome outcome = Execute(request);
  EXPECT_EQ(Code(outcome), "wall_limit");
  EXPECT_TRUE(outcome.failure->timed_out);
  EXPECT_LT(outcome.wall.count(), 5000);
}

TEST_P(QemuHangTest, Cancelled) {
  RunRequest request = Hang();
  request.cancelled = [] { return true; };
  const RunOutcome outcome = Execute(request);
  EXPECT_TRUE(outcome.cancelled);
  EXPECT_FALSE(outcome.failure || outcome.evidence);
}

TEST_P(QemuTest, LimitsThatAreNotReachedDoNotChangeTheCount) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.limits.instructions = 0;
  const RunOutcome free = Execute(request);
  request.limits.instructions = 1'000'000;
  const RunOutcome limited = Execute(request);
  ASSERT_FALSE(free.failure || limited.failure);
  EXPECT_EQ(free.evidence->samples[0].instructions, limited.evidence->samples[0].instructions);
}

// Where in the file the program header of the segment with the vector table lies.
size_t CodeSegmentHeader(const std::string& elf, const Board& board) {
  const uint32_t address = FindRegion(board, board.code_region)->address;
  Elf32_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * header.e_phentsize;
    Elf32_Phdr segment;
    std::memcpy(&segment, elf.data() + at, sizeof(segment));
    if (segment.p_type == PT_LOAD && segment.p_vaddr == address) return at;
  }
  ADD_FAILURE() << "no segment at " << address;
  return 0;
}

TEST_P(QemuTest, FirmwareThatIsNoRunner) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  auto elf = ReadFile(image);
  ASSERT_TRUE(elf.ok());
  Elf32_Phdr segment;
  std::memcpy(&segment, elf->data() + CodeSegmentHeader(*elf, board()), sizeof(segment));
  // "b ." in place of all code, which begins at 0x400.
  for (size_t i = 0x400; i + 2 <= segment.p_filesz; i += 2) {
    elf->replace(segment.p_offset + i, 2, "\xfe\xe7");
  }
  ASSERT_TRUE(WriteFile(image, *elf).ok());
  RunRequest request = MakeRequest(image, Adder(), inputs, folder_.path());
  request.limits.start = std::chrono::milliseconds(500);
  EXPECT_EQ(Code(Execute(request)), "no_start_frame");
}

TEST_P(QemuTest, ImageOutsideTheMemoryMap) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  auto elf = ReadFile(image);
  ASSERT_TRUE(elf.ok());
  const uint32_t nowhere = 0x9000'0000;
  std::memcpy(elf->data() + CodeSegmentHeader(*elf, board()) + offsetof(Elf32_Phdr, p_vaddr), &nowhere, 4);
  ASSERT_TRUE(WriteFile(image, *elf).ok());
  const RunOutcome outcome = Execute(MakeRequest(image, Adder(), inputs, folder_.path()));
  ASSERT_EQ(Code(outcome), "image_unusable");
  EXPECT_THAT(outcome.failure->message, HasSubstr("0x90000000"));
}

TEST_P(QemuTest, MissingEmulator) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  const QemuTarget target(board(), "/nonexistent/qemu-system-arm");
  EXPECT_EQ(target.Identity().status().code(), absl::StatusCode::kNotFound);
  const auto outcome = target.Run(MakeRequest(image, Adder(), inputs, folder_.path()));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(Code(*outcome), "emulator_not_installed");
  EXPECT_EQ(outcome->failure->fault, Fault::kInfra);
}

TEST_P(QemuTest, EmulatorThatRefusesItsArguments) {
  const InputSets inputs = {{Bytes(16)}};
  const std::string image = BuildImage(board(), Adder(), inputs, folder_.path());
  Board other = board();
  other.machine = "no-such-machine";
  const auto outcome = QemuTarget(other).Run(MakeRequest(image, Adder(), inputs, folder_.path()));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(Code(*outcome), "emulator_refused");
  EXPECT_THAT(outcome->failure->message, HasSubstr("unsupported machine"));
}

TEST_P(QemuTest, IdentityNamesVersionPackageAndSettings) {
  const auto identity = QemuTarget(board()).Identity();
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->name, "qemu-system-arm");
  EXPECT_THAT(identity->version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(identity->detail, HasSubstr(GetParam().identity));
}

std::string PlatformName(const ::testing::TestParamInfo<BoardFacts>& info) {
  std::string name = info.param.platform;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Boards, QemuTest, ::testing::ValuesIn(kBoards), PlatformName);
INSTANTIATE_TEST_SUITE_P(Boards, QemuHangTest, ::testing::ValuesIn(kBoards), PlatformName);

// Boards whose counter has 32 bits, one per clock: 2^32 ticks are 2^32 * 40 / 128 = 1,342,177,280 instructions of the first
// and 2^32 * 50 / 128 = 1,677,721,600 of the second.
class QemuLongTest : public QemuTest {};

TEST_P(QemuLongTest, CountsAndLimitsBeyondTheCountersWidth) {
  const bool first = board().platform == kBoards[1].platform;
  const uint64_t rounds = first ? 680'000'000 : 850'000'000;  // of two instructions
  const TestModel model{{4}, {4}, "return counted();",
                        "__attribute__((naked, noinline)) static uint32_t counted(void) {\n"
                        "  __asm__ volatile(\"ldr r1, =" + std::to_string(rounds) +
                            "\\n1: subs r1, r1, #1\\n bne 1b\\n"
                            " movs r0, #0\\n bx lr\\n .ltorg\\n\");\n}\n"};
  const InputSets inputs = {{Bytes(4)}};
  const std::string image = BuildImage(board(), model, inputs, folder_.path());
  RunRequest request = MakeRequest(image, model, inputs, folder_.path());
  request.limits.wall = std::chrono::minutes(4);
  request.limits.instructions = 1'900'000'000;
  const RunOutcome outcome = Execute(request);
  ASSERT_FALSE(outcome.failure) << outcome.failure->message;
  EXPECT_EQ(outcome.evidence->samples[0].instructions, 1u + 1 + 2 * rounds + 1 + 1);
  if (!first) return;  // a limit is the same timer on both
  request.limits.instructions = 1'350'000'000;
  EXPECT_EQ(Code(Execute(request)), "instruction_limit");
}

INSTANTIATE_TEST_SUITE_P(Clocks, QemuLongTest, ::testing::Values(kBoards[1], kBoards[3]),
                         PlatformName);

}  // namespace
}  // namespace helx::target

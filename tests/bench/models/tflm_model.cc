// A model run by TensorFlow Lite Micro's interpreter, as the runner sees a model (helx_model.h):
// firmware of the benchmark, built against a user's SDK by tflm_run.cc, which generates
// tflm_model_generated.h:
//   HELX_TFLM_OPERATORS          number of operators; HELX_TFLM_ADD_OPERATORS(resolver) registers
//   them HELX_TFLM_INPUT_BYTES, HELX_TFLM_OUTPUT_BYTES   {bytes, bytes, ...}
//   HELX_TFLM_LARGEST_BYTES      of inputs and outputs
//   HELX_TFLM_ARENA_BYTES, HELX_TFLM_VARIABLES      arena; at most that many resource variables
//   HELX_TFLM_STATE              whether anything outlives an invocation
// Behind the model's outputs comes one of 4 bytes: how much of the arena the interpreter used.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <new>

#include "helx_model.h"
#include "tensorflow/lite/micro/micro_allocator.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"
#include "tensorflow/lite/schema/schema_generated.h"
#include "tflm_model_generated.h"

extern "C" {
extern const uint8_t helx_weights[];
void __real_helx_run(void);
void __wrap_helx_run(void);
}

namespace {

constexpr uint32_t kInputBytes[] = HELX_TFLM_INPUT_BYTES;
constexpr uint32_t kOutputBytes[] = HELX_TFLM_OUTPUT_BYTES;
constexpr uint32_t kInputs = sizeof kInputBytes / sizeof kInputBytes[0];
constexpr uint32_t kOutputs = sizeof kOutputBytes / sizeof kOutputBytes[0];

alignas(16) uint8_t arena[HELX_TFLM_ARENA_BYTES] __attribute__((section(".helx_arena")));
// Where bytes go when the interpreter could not be made; its invocation says so then.
alignas(16) uint8_t nowhere[HELX_TFLM_LARGEST_BYTES] __attribute__((section(".helx_arena")));
uint32_t arena_used;
helx_tensor inputs[kInputs];
helx_tensor outputs[kOutputs + 1];

alignas(16) uint8_t resolver_bytes[sizeof(tflite::MicroMutableOpResolver<HELX_TFLM_OPERATORS>)];
alignas(16) uint8_t interpreter_bytes[sizeof(tflite::MicroInterpreter)];
tflite::MicroInterpreter* interpreter;

// Placement only: nothing with a constructor lives outside of functions, since the runner runs
// none.
bool Make() {
  auto* resolver = new (resolver_bytes) tflite::MicroMutableOpResolver<HELX_TFLM_OPERATORS>();
  HELX_TFLM_ADD_OPERATORS((*resolver));
  const tflite::Model* model = tflite::GetModel(helx_weights);
  tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(arena, sizeof arena);
  if (allocator == nullptr) return false;
  tflite::MicroResourceVariables* variables = nullptr;
  if (HELX_TFLM_VARIABLES > 0) {
    variables = tflite::MicroResourceVariables::Create(allocator, HELX_TFLM_VARIABLES);
  }
  interpreter =
      new (interpreter_bytes) tflite::MicroInterpreter(model, *resolver, allocator, variables);
  return interpreter->AllocateTensors() == kTfLiteOk && interpreter->inputs_size() == kInputs &&
         interpreter->outputs_size() == kOutputs;
}

// Without state there is nothing to reset, and a user would not: kernels would prepare again what
// they keep, within what is counted.
void ResetVariables() {
  if (HELX_TFLM_STATE && interpreter != nullptr) interpreter->Reset();
}

uint32_t Invoke() { return interpreter != nullptr && interpreter->Invoke() == kTfLiteOk ? 0 : 1; }

}  // namespace

const helx_model helx_the_model = {kInputs, kOutputs + 1,   0,     inputs, outputs,
                                   nullptr, ResetVariables, Invoke};

// Before the runner's first frame.
void __wrap_helx_run(void) {
  const bool made = Make();
  if (!made) interpreter = nullptr;
  for (uint32_t i = 0; i < kInputs; ++i) {
    inputs[i] = {made ? interpreter->input(i)->data.data : nowhere, kInputBytes[i]};
  }
  for (uint32_t i = 0; i < kOutputs; ++i) {
    outputs[i] = {made ? interpreter->output(i)->data.data : nowhere, kOutputBytes[i]};
  }
  arena_used = made ? static_cast<uint32_t>(interpreter->arena_used_bytes()) : 0;
  outputs[kOutputs] = {&arena_used, sizeof arena_used};
  __real_helx_run();
}

// What the SDK and the C++ library want of a system, and what a benchmark can do without.
extern "C" {
void DebugLog(const char* /*format*/, va_list /*arguments*/) {}
int DebugVsnprintf(char* /*buffer*/, size_t /*bytes*/, const char* /*format*/,
                   va_list /*arguments*/) {
  return 0;
}
void abort(void) {
  for (;;) __asm__ volatile("udf #0");
}
void __cxa_pure_virtual(void) { abort(); }
int __aeabi_atexit(void* /*object*/, void (* /*destroy*/)(void*), void* /*handle*/) { return 0; }
void* __dso_handle;
}
void operator delete(void* /*memory*/) noexcept {}
void operator delete(void* /*memory*/, size_t /*bytes*/) noexcept {}

// The same model run by TensorFlow Lite Micro on the same emulated board, from an SDK that the user
// built.
#ifndef HELX_TESTS_BENCH_MODELS_TFLM_RUN_H_
#define HELX_TESTS_BENCH_MODELS_TFLM_RUN_H_

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tests/unit/worker/engine/board_run.h"

namespace helx::engine {

// `sdk` holds
//   include/                                  tensorflow/, flatbuffers/, gemmlowp's fixedpoint/ and
//   internal/, ruy/ lib/CORE/libtensorflow-microlite.a        per core, "cortex-m55": with the
//   kernels to compare with
// as `make ... microlite` of tflite-micro and its headers make them, for the hard-float ABI.
//
// Builds an image around the archive, measures the second invocation on the model's first case (the
// first warms up), compares the outputs and verifies the smallest arena by running in it. In the
// answer: `arena_bytes` is that arena, `refusal` says why there is no comparison (no archive for
// the core; an operator without a registration), `argv` and `elf_path` are of the last run.
absl::StatusOr<BoardRun> RunTflm(const RecordedModel& model, std::string_view platform,
                                 const std::string& sdk);

}  // namespace helx::engine

#endif  // HELX_TESTS_BENCH_MODELS_TFLM_RUN_H_

// Reads .tflite files written by strangers.
#ifndef HELX_CORE_MODEL_READER_H_
#define HELX_CORE_MODEL_READER_H_

#include <cstdint>
#include <span>
#include <string>

#include "core/base/status.h"
#include "core/model/model.h"

namespace helx::model {

struct ReadLimits {
  size_t file_bytes = 64u << 20;
  int64_t tensor_bytes = int64_t{1} << 30;  // of one tensor
  size_t objects = 100'000;                 // tensors + operators + buffers
  size_t rank = 8;
  size_t name_bytes = 1024;
};

// Why a file is not a usable model.
struct ReadError {
  std::string place;    // "file", "subgraph 0, tensor 12 (conv1/bias)", "subgraph 0, operator 3 (CONV_2D)"
  std::string message;  // what was found, what is allowed
};

// Reads and checks a model. INVALID_ARGUMENT "place: message" for anything malformed, with the same in `error` when given.
// Memory and time are linear in the file's size whatever the file says: shared FlatBuffers objects are paid for each time.
//
// Checked here: FlatBuffers structure, schema version 3, every index, shapes, element and byte counts, constants' lengths,
// quantisation parameters, single producers, order of operators. Not checked here: whether an operator or dtype can be
// executed, and what an operator demands of its own tensors and options.
absl::StatusOr<Model> ReadModel(std::span<const uint8_t> bytes, ReadError* error = nullptr,
                                const ReadLimits& limits = {});

}  // namespace helx::model

#endif  // HELX_CORE_MODEL_READER_H_

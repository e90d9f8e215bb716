// The WHG1 file (docs/integer-operators.md, section 10): reading with load steps 1 to 6, writing.
#ifndef HELX_CORE_OPS_WHG1_H_
#define HELX_CORE_OPS_WHG1_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/ops/graph.h"
#include "core/ops/result.h"

namespace helx::ops {

// zlib's crc32: reflected 0xEDB88320, initial value and final xor FFFFFFFF.
uint32_t Crc32(std::string_view bytes);

// Load steps 1 to 6 of section 10.5. The refusal is of the first step that fails: kHeader,
// kChecksum, kInputs, kNodes, kParams or kOutputs. Nothing is allocated beyond a constant factor
// of `bytes.size()`.
Result<Graph> ReadWhg1(std::string_view bytes);

// The file of a graph, its length unchecked: a caller that builds graphs from untrusted sizes asks
// FileSize first. The bytes of a graph that breaks a rule of section 10 are refused by ReadWhg1.
std::string WriteWhg1(const Graph& graph);

// Bytes of the file; a file of 2^32 bytes and more has no WHG1 form.
uint64_t FileSize(const Graph& graph);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_WHG1_H_

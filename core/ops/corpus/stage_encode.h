// Encoders for the stage operators' vectors: the inverse of rans64_decode and mans_decode
// (docs/integer-operators.md, sections 5E.1, 5E.2 and 14.7.8).
#ifndef HELX_CORE_OPS_CORPUS_STAGE_ENCODE_H_
#define HELX_CORE_OPS_CORPUS_STAGE_ENCODE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace helx::ops {

struct RansCodingTable {
  std::vector<int64_t> cdf;
  bool escape = false;
  int64_t offset = 0;

  int64_t symbols() const { return static_cast<int64_t>(cdf.size()) - 1; }
};

// The stream that decodes to values + offset with close succeeding. `index` and `values` are
// parallel; a value outside a table's plain symbols is escaped.
std::string EncodeRans64(const std::vector<RansCodingTable>& tables,
                         const std::vector<size_t>& index, const std::vector<int64_t>& values);

// A state as rans64's eight bytes.
std::string RansStateBytes(uint64_t state);

struct MansCodingDist {
  std::vector<int> freq;
  std::vector<int> sym;
  int escape = 0;
};
// Section 14.7.8's dist(e).
MansCodingDist MakeMansDist(int escape);

struct MansPosition {
  size_t dist = 0;
  bool present = true;
  int64_t value = 0;
};
// The stream of the calls; the decoder ends with both states 0 and no bits left.
std::string EncodeMans(const std::vector<MansCodingDist>& dists,
                       const std::vector<std::vector<MansPosition>>& calls);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_STAGE_ENCODE_H_

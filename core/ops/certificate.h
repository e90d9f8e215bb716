// Bounds certificates and the sink (docs/integer-operators.md, sections 8.5 and 8.6), and the
// digest of a set (section 13.0).
#ifndef HELX_CORE_OPS_CERTIFICATE_H_
#define HELX_CORE_OPS_CERTIFICATE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/hash.h"
#include "core/ops/load.h"
#include "core/ops/lower/lowering.h"

namespace helx::ops {

// The SHA-256 (hex) of the one member, or of the wai.prior.set listing of several.
std::string SetDigest(const std::vector<Member>& members, HashFunction hash);

struct Certificate {
  // Canonical JSON and one line feed.
  std::string text;
  // The weakest of the roles'.
  Verdict verdict = Verdict::kNone;
};

// The certificate of lowered graphs in role order. `set` is the set's digest, hex. The refusal is
// of load steps 1 to 7; a graph that fails only step 8 is certified with verdict none.
Result<Certificate> Certify(std::string_view capability, std::string_view lowering,
                            const std::vector<RoleGraph>& roles, std::string_view set);

// Graphs certified on their own: roles in byte order of name, and the set their own digest.
Result<Certificate> CertifyGraphs(std::string_view capability, std::string_view lowering,
                                  std::vector<RoleGraph> roles, HashFunction hash);

// What a certificate claims, read back.
struct CertificateClaim {
  std::string capability;
  std::string lowering;
  std::string set;
  Verdict verdict = Verdict::kNone;
};

// Empty, with `*error`, when the text is not canonical or not of the certificate's form.
std::optional<CertificateClaim> ReadCertificate(std::string_view text, std::string* error);

// "acc32" or "acc64".
std::optional<Verdict> ProfileFromName(std::string_view name);

// Section 8.6: whether a set is admitted under `profile` with this certificate. Empty when it is;
// else the condition that failed, for a person. The sink lowers the set and runs the bounds pass
// itself; a pin in the set is no certificate.
std::optional<std::string> SinkRefusal(const LoweringInfo& lowering,
                                       const std::vector<Member>& members,
                                       const EntryFields& fields, std::string_view certificate,
                                       Verdict profile, HashFunction hash);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CERTIFICATE_H_

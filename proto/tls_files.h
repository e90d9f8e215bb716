// The three files that name a program to its peer over mutual TLS.
#ifndef HELX_PROTO_TLS_FILES_H_
#define HELX_PROTO_TLS_FILES_H_

#include <string>

#include "core/base/status.h"

namespace helx::rpc {

struct TlsFiles {
  std::string ca;           // PEM: the authorities whose certificates are believed
  std::string certificate;  // PEM: this program's certificate, then any intermediates
  std::string key;          // PEM: its private key, without a passphrase

  bool empty() const { return ca.empty() && certificate.empty() && key.empty(); }
};

// Looks at the files before anything depends on them, since a handshake that fails says little. INVALID_ARGUMENT naming
// the file and what is wrong: not all three given, unreadable, no PEM, a key of another certificate, a certificate that has
// expired or is not valid yet.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Whether "host:port" names this host itself: localhost, 127.0.0.0/8 or [::1].
bool IsLoopbackAddress(const std::string& address);

}  // namespace helx::rpc

#endif  // HELX_PROTO_TLS_FILES_H_

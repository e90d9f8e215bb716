#include "server/api/authenticator.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>

#include "server/api/grpc_status.h"
#include "server/security/authorization.h"

namespace helx::server {
namespace {

std::string Property(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.size() == 1 ? std::string(values[0].data(), values[0].size()) : std::string();
}

class Authenticator : public grpc::AuthMetadataProcessor {
 public:
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto answer = [&]() -> absl::Status {
      HELX_ASSIGN_OR_RETURN(const Identity identity, IdentityOf(*context));
      const auto path = metadata.find(":path");
      if (path == metadata.end()) return absl::PermissionDeniedError("the call names no method");
      return Authorize(identity, std::string_view(path->second.data(), path->second.size()));
    };
    return ToGrpcStatus(answer());
  }
};

}  // namespace

absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context) {
  const std::string transport = Property(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  // Plain text is only served where the address itself is the credential.
  if (transport == "insecure") return Identity();
  if (transport != GRPC_TLS_TRANSPORT_SECURITY_TYPE) {
    return absl::UnauthenticatedError("the connection has the unknown security type \"" +
                                      transport + "\"");
  }
  return ParseIdentity(Property(context, GRPC_PEER_SPIFFE_ID_PROPERTY_NAME));
}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const rpc::TlsFiles& files,
                                                        unsigned refresh_seconds) {
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          files.key, files.certificate, files.ca, refresh_seconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  auto credentials = grpc::experimental::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<Authenticator>());
  return credentials;
}

}  // namespace helx::server

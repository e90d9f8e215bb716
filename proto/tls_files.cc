#include "proto/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "core/base/file.h"

namespace helx::rpc {
namespace {

constexpr size_t kFileBytes = 1 << 20;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

absl::StatusOr<std::string> ReadPem(const std::string& path, const char* what) {
  auto text = ReadFile(path, kFileBytes);
  if (!text.ok()) {
    return InvalidArgument(std::string("cannot read the ") + what + " " + path + ": " +
                           MessageOf(text.status()));
  }
  return text;
}

Bio BioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without a terminal there is nobody to ask for a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

absl::StatusOr<Certificate> ReadCertificate(const std::string& path, const char* what) {
  HELX_ASSIGN_OR_RETURN(const std::string text, ReadPem(path, what));
  Certificate certificate(PEM_read_bio_X509(BioOf(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return InvalidArgument(std::string("the ") + what + " " + path +
                           " holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  }
  return certificate;
}

std::string TimeText(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (ASN1_TIME_print(bio.get(), time) != 1) return "an unreadable time";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::Status CheckValidity(const X509* certificate, const std::string& path, const char* what) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) {
    return InvalidArgument(std::string("the ") + what + " " + path + " expired on " +
                           TimeText(X509_get0_notAfter(certificate)) + "; make a new one");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return InvalidArgument(std::string("the ") + what + " " + path + " is not valid before " +
                           TimeText(X509_get0_notBefore(certificate)) + "; check this host's clock");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.ca.empty() || files.certificate.empty() || files.key.empty()) {
    return InvalidArgument(
        "TLS needs three files: the authority's certificate, an own certificate and its private key");
  }
  HELX_ASSIGN_OR_RETURN(const Certificate ca, ReadCertificate(files.ca, "CA certificate"));
  HELX_RETURN_IF_ERROR(CheckValidity(ca.get(), files.ca, "CA certificate"));
  HELX_ASSIGN_OR_RETURN(const Certificate own, ReadCertificate(files.certificate, "certificate"));
  HELX_RETURN_IF_ERROR(CheckValidity(own.get(), files.certificate, "certificate"));
  HELX_ASSIGN_OR_RETURN(const std::string text, ReadPem(files.key, "private key"));
  const Key key(PEM_read_bio_PrivateKey(BioOf(text).get(), nullptr, NoPassphrase, nullptr));
  const bool matches = key != nullptr && X509_check_private_key(own.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) {
    return InvalidArgument("the private key " + files.key +
                           " holds no unencrypted private key in PEM form");
  }
  if (!matches) {
    return InvalidArgument("the private key " + files.key + " does not belong to the certificate " +
                           files.certificate);
  }
  return absl::OkStatus();
}

bool IsLoopbackAddress(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // A name such as 127.example.org is somebody else's.
  return host.rfind("127.", 0) == 0 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace helx::rpc

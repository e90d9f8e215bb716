#include "worker/collect/failure.h"

namespace helx {

std::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kUser: return "USER";
    case Fault::kInfra: return "INFRA";
    case Fault::kDevice: return "DEVICE";
    case Fault::kBug: return "BUG";
  }
  return "BUG";
}

Failure MakeFailure(Fault fault, std::string_view code, std::string_view message) {
  constexpr size_t kLimit = 1024;
  size_t size = message.size();
  if (size > kLimit) {
    size = kLimit;
    while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xc0) == 0x80) --size;
  }
  return {fault, std::string(code), std::string(message.substr(0, size)), false};
}

}  // namespace helx

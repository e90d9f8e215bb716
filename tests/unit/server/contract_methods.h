// Every RPC of the wire contract (proto/helx/v1), from the descriptors.
#ifndef HELX_TESTS_UNIT_SERVER_CONTRACT_METHODS_H_
#define HELX_TESTS_UNIT_SERVER_CONTRACT_METHODS_H_

#include <google/protobuf/descriptor.h>

#include <vector>

#include "helx/v1/blobs.pb.h"
#include "helx/v1/capabilities.pb.h"
#include "helx/v1/experiments.pb.h"
#include "helx/v1/jobs.pb.h"
#include "helx/v1/pool.pb.h"
#include "helx/v1/results.pb.h"
#include "helx/v1/store.pb.h"
#include "helx/v1/types.pb.h"
#include "helx/v1/worker.pb.h"

namespace helx::server {

// A message names the file that a service stands in.
inline std::vector<const google::protobuf::MethodDescriptor*> ContractMethods() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto* file :
       {v1::Digest::descriptor()->file(), v1::Job::descriptor()->file(),
        v1::ReadRequest::descriptor()->file(), v1::ServerCapabilities::descriptor()->file(),
        v1::FreezeRequest::descriptor()->file(), v1::Result::descriptor()->file(),
        v1::Device::descriptor()->file(), v1::StoreStatus::descriptor()->file(),
        v1::Lease::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int m = 0; m < file->service(i)->method_count(); ++m) {
        methods.push_back(file->service(i)->method(m));
      }
    }
  }
  return methods;
}

}  // namespace helx::server

#endif  // HELX_TESTS_UNIT_SERVER_CONTRACT_METHODS_H_

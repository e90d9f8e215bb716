# Headers that nearly every file of a kind reads, compiled once and shared by the targets of that kind: most of a small
# file's compile time is theirs. A folder's libraries use the one that HELX_PRECOMPILED names; tests use their own.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows what a file forgot to include.
set(HELX_STANDARD_HEADERS
  <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <sstream> <string> <vector>)
set(HELX_BASE_HEADERS <nlohmann/json.hpp> "${PROJECT_SOURCE_DIR}/core/base/json.h"
  "${PROJECT_SOURCE_DIR}/core/base/status.h")

function(helx_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS;OPTIONS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} nlohmann_json::nlohmann_json absl::statusor helx_warnings)
  target_precompile_headers(${name} PRIVATE ${HELX_STANDARD_HEADERS} ${ARG_HEADERS} ${HELX_BASE_HEADERS})
endfunction()

helx_precompiled(helx_precompiled_base)
# Tests are programs and not optimised (helx_test).
helx_precompiled(helx_precompiled_test HEADERS <gmock/gmock.h> <gtest/gtest.h> DEPS GTest::gmock OPTIONS -fPIE -O0)
set_target_properties(helx_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)

# helx_precompiled_rpc(FOLDER HEADERS...): the same for what speaks the wire contract, whose generated headers lie in FOLDER
# and cost more than all others.
function(helx_precompiled_rpc folder)
  helx_precompiled(helx_precompiled_rpc HEADERS <grpcpp/grpcpp.h> ${ARGN} DEPS gRPC::grpc++)
  helx_precompiled(helx_precompiled_rpc_test
    HEADERS <gmock/gmock.h> <gtest/gtest.h> <grpcpp/grpcpp.h> ${ARGN} DEPS GTest::gmock gRPC::grpc++ OPTIONS -fPIE -O0)
  foreach(name helx_precompiled_rpc helx_precompiled_rpc_test)
    target_include_directories(${name} SYSTEM PRIVATE ${folder})
  endforeach()
  set_target_properties(helx_precompiled_rpc_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

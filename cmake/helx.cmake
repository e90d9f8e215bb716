# Build helpers shared by every folder.

# helx_library(NAME SRCS a.cc ... DEPS x y ...): a static library of this project, warnings as errors, compiled with the
# precompiled headers that HELX_PRECOMPILED names, if any.
function(helx_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} helx_warnings)
  if(HELX_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM ${HELX_PRECOMPILED})
  endif()
endfunction()

# helx_optimise(NAME): a library whose loops are what its users wait for, also in the build that developers test. gcc
# cannot use headers that were precompiled at another level.
function(helx_optimise name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O2>)
  set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# helx_executable(NAME SRCS a.cc ... DEPS x y ...)
function(helx_executable name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} helx_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

function(helx_compile_as_test name)
  target_compile_definitions(${name} PRIVATE
      HELX_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HELX_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(${name} PRIVATE -O0)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  if("gRPC::grpc++" IN_LIST libraries)
    target_precompile_headers(${name} REUSE_FROM helx_precompiled_rpc_test)
  else()
    target_precompile_headers(${name} REUSE_FROM helx_precompiled_test)
  endif()
endfunction()

# helx_test_library(NAME SRCS a.cc ... DEPS x y ...): what several tests share, compiled as they are.
function(helx_test_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} GTest::gmock PRIVATE ${ARG_PRIVATE_DEPS} helx_warnings)
  target_compile_options(${name} PRIVATE -fPIE)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  helx_compile_as_test(${name})
endfunction()

# helx_test_program(NAME SRCS a_test.cc ... DEPS x y ...): a GoogleTest program without a CTest entry. The code under test
# is optimised in its library; a test's own code is not, because that halves the time it takes to compile.
function(helx_test_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main helx_warnings)
  helx_compile_as_test(${name})
endfunction()

# helx_test_entry(NAME PROGRAM [SUITES A B ...] [LABELS l] [TIMEOUT s] [ENV K=V ...]): a CTest entry that runs a program's
# tests, or those of the named suites. An entry that finds none of its tests fails.
function(helx_test_entry name program)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SUITES;LABELS;ENV" ${ARGN})
  if(ARG_SUITES)
    list(TRANSFORM ARG_SUITES APPEND ".*")
    list(JOIN ARG_SUITES ":" filter)
    add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  else()
    add_test(NAME ${name} COMMAND ${program})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" FAIL_REGULAR_EXPRESSION "Running 0 tests")
  if(ARG_ENV)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENV}")
  endif()
endfunction()

# helx_test(NAME SRCS a_test.cc ... DEPS x y ... [LABELS l] [TIMEOUT s] [ENV K=V ...]): a program and its one CTest entry.
function(helx_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SRCS;DEPS;LABELS;ENV" ${ARGN})
  helx_test_program(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS})
  helx_test_entry(${name} ${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT} ENV ${ARG_ENV})
endfunction()

# Adds those of the named folders that hold a CMakeLists.txt.
macro(helx_subdirectories)
  foreach(dir ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt)
      add_subdirectory(${dir})
    endif()
  endforeach()
endmacro()

// A small complete bundle, written with BundleWriter: one sample, an int8 and a float32 output, optionally a reference.
#ifndef HELX_TESTS_UNIT_CLIENT_CPP_TEST_BUNDLE_H_
#define HELX_TESTS_UNIT_CLIENT_CPP_TEST_BUNDLE_H_

#include <string>

#include "client/cpp/blob_client.h"
#include "tests/unit/client/cpp/fake_server.h"

namespace helx::client {

enum class TestReference { kNone, kMatching, kMismatching };

// Input int8[2] = {1, -1}; outputs "scores" int8[1, 4] = {10, -3, 127, 5} and "margin" float32[2] = {0.5, -1}.
// 1,234,567 instructions, the image and memory of tests/unit/core/bundle/test_image.h. The mismatching reference has 126 in
// place of 127. Aborts the test program when it cannot be written.
void WriteTestBundle(const std::string& folder, TestReference reference = TestReference::kNone);

// Puts every file of the bundle into the fake server, listed as the newest result of `experiment`.
helx::v1::Result StoreTestBundle(const std::string& folder, const std::string& experiment,
                                 FakeServer& server);

}  // namespace helx::client

#endif  // HELX_TESTS_UNIT_CLIENT_CPP_TEST_BUNDLE_H_

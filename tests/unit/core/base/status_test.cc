#include "core/base/status.h"

#include <gtest/gtest.h>

namespace helx {
namespace {

TEST(Status, ErrorCodeSurvivesAnnotation) {
  const absl::Status status =
      Annotate(WithErrorCode(DataLoss("tensor.bin differs"), "artifact_modified"), "bundle");
  EXPECT_EQ(MessageOf(status), "bundle: tensor.bin differs");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ErrorCodeOf(status), "artifact_modified");
}

TEST(Status, NoErrorCodeIsEmpty) {
  EXPECT_EQ(ErrorCodeOf(absl::OkStatus()), "");
  EXPECT_EQ(ErrorCodeOf(Internal("x")), "");
}

}  // namespace
}  // namespace helx

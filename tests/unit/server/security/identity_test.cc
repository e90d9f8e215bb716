// Who a certificate names, and what the table grants.
#include "server/security/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/security/authorization.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

TEST(IdentityTest, HasInstanceRoleAndName) {
  const auto anna = ParseIdentity("spiffe://helx/lab-7/submitter/anna");
  ASSERT_TRUE(anna.ok());
  EXPECT_EQ(anna->instance, "lab-7");
  EXPECT_EQ(anna->role, Role::kSubmitter);
  EXPECT_EQ(anna->name, "anna");
  const auto worker = ParseIdentity("spiffe://helx/any/worker/w1.lab");
  ASSERT_TRUE(worker.ok());
  EXPECT_EQ(worker->role, Role::kWorker);
}

TEST(IdentityTest, RefusesEverythingElse) {
  for (const char* bad :
       {"", "spiffe://helx", "spiffe://helx/", "spiffe://helx/lab/submitter",
        "spiffe://helx/lab/submitter/", "spiffe://helx/lab/submitter/anna/",
        "spiffe://helx/lab/submitter/anna/x", "spiffe://helx//submitter/anna",
        "spiffe://helx/lab/admin/anna", "spiffe://helx/lab/Submitter/anna",
        "spiffe://other/lab/submitter/anna", "https://helx/lab/submitter/anna",
        "spiffe://helx/lab/worker/w1", "spiffe://helx/any/operator/olga",
        "spiffe://helx/../operator/olga", "spiffe://helx/lab/local/anna",
        "spiffe://helx/la b/viewer/anna", "spiffe://helx/lab/viewer/-"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(ParseIdentity(bad).status())) << bad;
  }
}

TEST(AuthorizationTest, GrantsByRole) {
  const auto may = [](Role role, const char* method) {
    return Authorize({"lab", role, "x"}, method).ok();
  };
  EXPECT_TRUE(may(Role::kViewer, "/helx.v1.Jobs/Get"));
  EXPECT_FALSE(may(Role::kViewer, "/helx.v1.Jobs/Submit"));
  EXPECT_TRUE(may(Role::kSubmitter, "/helx.v1.Jobs/Submit"));
  EXPECT_FALSE(may(Role::kSubmitter, "/helx.v1.Pool/SetHealth"));
  EXPECT_TRUE(may(Role::kOperator, "/helx.v1.Pool/SetHealth"));
  EXPECT_FALSE(may(Role::kOperator, "/helx.v1.Worker/Complete"));
  EXPECT_TRUE(may(Role::kWorker, "/helx.v1.Worker/Complete"));
  EXPECT_FALSE(may(Role::kWorker, "/helx.v1.Results/Get"));
  for (const std::string_view method : AuthorizedMethods()) {
    EXPECT_TRUE(Authorize(Identity(), method).ok()) << method;
  }
  // What the table does not hold is closed to everybody.
  for (const char* unknown : {"/helx.v1.Jobs/Destroy", "", "/", "helx.v1.Jobs/Get"}) {
    EXPECT_FALSE(may(Role::kLocal, unknown)) << unknown;
  }
  EXPECT_THAT(MessageOf(Authorize({"lab", Role::kViewer, "vera"}, "/helx.v1.Pool/Drain")),
              HasSubstr("not for the role viewer of vera; allowed are: operator"));
}

}  // namespace
}  // namespace helx::server

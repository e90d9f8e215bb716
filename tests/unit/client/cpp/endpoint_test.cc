#include "client/cpp/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/cpp/connection.h"
#include "tests/unit/client/cpp/temporary_folder.h"

namespace helx::client {
namespace {

class EndpointTest : public testing::Test {
 protected:
  Environment With(std::map<std::string, std::string, std::less<>> values) {
    values.emplace("HOME", home_.path());
    return Environment(std::move(values));
  }
  TemporaryFolder home_;
};

TEST_F(EndpointTest, FlagBeatsVariableBeatsFileBeatsEmbedded) {
  home_.Write(".config/helx/client.yaml", "server: file.example:3\n");
  auto endpoint = ResolveEndpoint("flag.example:1", With({{"HELX_SERVER", "env.example:2"}}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->address, "flag.example:1");
  EXPECT_EQ(endpoint->source, "--server");
  endpoint = ResolveEndpoint("", With({{"HELX_SERVER", "env.example:2"}}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->address, "env.example:2");
  endpoint = ResolveEndpoint("", With({}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->address, "file.example:3");
  EXPECT_EQ(endpoint->source, home_.path() + "/.config/helx/client.yaml");
  EXPECT_FALSE(endpoint->embedded);
  std::filesystem::remove(home_.path() + "/.config/helx/client.yaml");
  endpoint = ResolveEndpoint("", With({{"XDG_RUNTIME_DIR", "/run/user/7"}}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->address, "unix:/run/user/7/helx/helxd.sock");
  EXPECT_TRUE(endpoint->embedded);
}

TEST_F(EndpointTest, WithoutRuntimeFolderTheTemporaryOneCarriesTheUserNumber) {
  const auto endpoint = ResolveEndpoint("", With({{"TMPDIR", "/var/tmp"}}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->address, "unix:/var/tmp/helx-" + std::to_string(geteuid()) + "/helxd.sock");
}

TEST_F(EndpointTest, RelativeXdgFoldersAreIgnored) {
  const Environment environment =
      With({{"XDG_RUNTIME_DIR", "run"}, {"XDG_CONFIG_HOME", "config"}, {"XDG_DATA_HOME", "data"}});
  EXPECT_EQ(environment.RuntimeFolder(), "/tmp/helx-" + std::to_string(geteuid()));
  EXPECT_EQ(*environment.ConfigFolder(), home_.path() + "/.config/helx");
  EXPECT_EQ(*environment.DataFolder(), home_.path() + "/.local/share/helx");
  EXPECT_FALSE(Environment(std::map<std::string, std::string, std::less<>>{}).DataFolder().ok());
}

TEST_F(EndpointTest, ConfigFileOverXdgConfigHome) {
  home_.Write("xdg/helx/client.yaml", "server: unix:/srv/helxd.sock\n");
  const auto endpoint = ResolveEndpoint("", With({{"XDG_CONFIG_HOME", home_.path() + "/xdg"}}));
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->address, "unix:/srv/helxd.sock");
}

TEST_F(EndpointTest, BadConfigFilesAreNamed) {
  for (const char* text :
       {"servr: a:1\n", "server: [a, b]\n", "- server\n", "server: a:1\nserver: b:2\n",
        "server: a:1\n---\nserver: b:2\n", "server: &x a:1\n", "[[["}) {
    home_.Write(".config/helx/client.yaml", text);
    const auto endpoint = ResolveEndpoint("", With({}));
    EXPECT_TRUE(absl::IsInvalidArgument(endpoint.status())) << text << endpoint.status();
    EXPECT_NE(endpoint.status().message().find("client.yaml"), absl::string_view::npos) << text;
  }
  for (const char* text : {"", "# server: host:port\n"}) {
    home_.Write(".config/helx/client.yaml", text);
    const auto endpoint = ResolveEndpoint("", With({}));
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    EXPECT_TRUE(endpoint->embedded);
  }
}

TEST(CheckAddress, AllowsSocketsAndHostsWithPorts) {
  for (const char* address : {"unix:/a/b.sock", "localhost:1", "127.0.0.1:65535", "[::1]:7000"}) {
    EXPECT_TRUE(CheckAddress(address, "test").ok()) << address;
  }
  for (const std::string& address :
       {std::string("host"), std::string(":1"), std::string("host:0"), std::string("host:65536"),
        std::string("host:7x"), std::string("unix:relative.sock"), std::string("unix:"),
        std::string("b\xc3\xbc"
                    "ro:1"),
        std::string("a b:1"), std::string("http://host:1"), "unix:/" + std::string(107, 'x'),
        std::string("unix:/a\0b", 9)}) {
    const absl::Status status = CheckAddress(address, "test");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address;
    EXPECT_NE(status.message().find("allowed are"), absl::string_view::npos) << address;
  }
  EXPECT_TRUE(CheckAddress("unix:/" + std::string(106, 'x'), "test").ok());  // 107 bytes
}

TEST(CheckMetadata, RefusesWhatWouldEndTheProcess) {
  EXPECT_TRUE(CheckMetadata({{"x-trace", "abc 123"}, {"a.b_c", ""}}).ok());
  EXPECT_FALSE(CheckMetadata({{"x-trace", "b\xc3\xbcro"}}).ok());
  EXPECT_FALSE(CheckMetadata({{"x-trace", "a\nb"}}).ok());
  EXPECT_FALSE(CheckMetadata({{"X-Trace", "a"}}).ok());
  EXPECT_FALSE(CheckMetadata({{"", "a"}}).ok());
  EXPECT_FALSE(CheckMetadata({{"grpc-timeout", "1"}}).ok());
  EXPECT_FALSE(CheckMetadata({{"x-bin", "a"}}).ok());
}

TEST_F(EndpointTest, TlsFilesComeEachFromTheNearestPlace) {
  home_.Write(".config/helx/client.yaml",
              "server: lab.example:3\ntls_ca: /c/ca\ntls_cert: /c/cert\ntls_key: /c/key\n");
  auto endpoint = ResolveEndpoint("", With({{"HELX_TLS_CERT", "/e/cert"}}), {"", "", "/f/key"});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->tls.ca, "/c/ca");
  EXPECT_EQ(endpoint->tls.certificate, "/e/cert");
  EXPECT_EQ(endpoint->tls.key, "/f/key");
  EXPECT_THAT(MessageOf(CheckTransport(*endpoint)),
              testing::HasSubstr("cannot read the CA certificate"));
  // A UNIX socket is its own credential.
  endpoint = ResolveEndpoint("unix:/run/helx/helxd.sock", With({}));
  ASSERT_TRUE(endpoint.ok());
  EXPECT_TRUE(endpoint->tls.empty());
  EXPECT_TRUE(CheckTransport(*endpoint).ok());
}

TEST_F(EndpointTest, PlainTextIsForThisHostOnly) {
  for (const char* address : {"127.0.0.1:1", "localhost:1", "[::1]:1", "127.1.2.3:1"}) {
    EXPECT_TRUE(CheckTransport(*ResolveEndpoint(address, With({}))).ok()) << address;
  }
  for (const char* address : {"10.0.0.1:1", "lab.example:1", "127.lab.example:1", "[::2]:1"}) {
    const absl::Status refused = CheckTransport(*ResolveEndpoint(address, With({})));
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << address;
    EXPECT_THAT(MessageOf(refused), testing::HasSubstr("TLS only"));
  }
}

}  // namespace
}  // namespace helx::client

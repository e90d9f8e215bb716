// Mutual TLS, roles and instances, against a real helxd with certificates of deploy/certificates.
#include <gmock/gmock.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "helx/v1/pool.pb.h"
#include "proto/channel_credentials.h"
#include "server/security/authorization.h"
#include "tests/integration/server_harness.h"
#include "tests/unit/server/contract_methods.h"

namespace helx::server {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

const char kCertificates[] = HELX_SOURCE_DIR "/deploy/certificates";

std::string Text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

class SecurityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Make(ca_, {"ca"});
    Make(ca_, {"server", "localhost", "127.0.0.1"});
    Make(ca_, {"client", "lab", "submitter", "anna"});
    Make(ca_, {"client", "lab", "submitter", "bert"});
    Make(ca_, {"client", "lab", "viewer", "vera"});
    Make(ca_, {"client", "lab", "operator", "olga"});
    Make(ca_, {"client", "other", "submitter", "otto"});
    Make(ca_, {"worker", "w1"});
    daemon_ = std::make_unique<Daemon>(
        std::vector<std::string>{"--tls-cert", ca_ + "/server.crt", "--tls-key",
                                 ca_ + "/server.key", "--tls-client-ca", ca_ + "/ca.crt",
                                 "--tls-refresh-seconds", "1"},
        Daemon::Transport::kTls);
    ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();
  }

  // deploy/certificates {kind} FOLDER ...
  static void Make(const std::string& folder, std::vector<std::string> words) {
    words.insert(words.begin(), kCertificates);
    words.insert(words.begin() + 2, folder);
    std::string output;
    ASSERT_EQ(RunProgram(words, &output), 0) << output;
  }
  static std::shared_ptr<grpc::ChannelCredentials> Credentials(const std::string& folder,
                                                               const std::string& name) {
    return grpc::SslCredentials({Text(folder + "/ca.crt"), Text(folder + "/" + name + ".key"),
                                 Text(folder + "/" + name + ".crt")});
  }
  std::unique_ptr<Client> As(const std::string& name) const {
    return std::make_unique<Client>(daemon_->address(), 4 << 20, Credentials(ca_, name));
  }
  static grpc::Status Capabilities(Client& client, v1::ServerCapabilities* out) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    return client.capabilities->Get(&context, {}, out);
  }
  static grpc::StatusCode CodeOf(const std::string& address,
                                 std::shared_ptr<grpc::ChannelCredentials> credentials) {
    Client client(address, 4 << 20, std::move(credentials));
    v1::ServerCapabilities capabilities;
    return Capabilities(client, &capabilities).error_code();
  }
  std::vector<std::string> Ctl(const std::string& user, std::vector<std::string> words) const {
    words.insert(words.begin(), {kHelxctl, "--server", daemon_->address(), "--tls-ca",
                                 ca_ + "/ca.crt", "--tls-cert", ca_ + "/" + user + ".crt",
                                 "--tls-key", ca_ + "/" + user + ".key", "--quiet"});
    return words;
  }

  TempFolder folder_;
  const std::string ca_ = folder_.path() + "/ca";
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(SecurityTest, CertificateNamesInstanceUserAndRole) {
  for (const auto& [name, instance, role] :
       std::vector<std::array<std::string, 3>>{{"anna", "lab", "submitter"},
                                               {"vera", "lab", "viewer"},
                                               {"otto", "other", "submitter"},
                                               {"w1", "any", "worker"}}) {
    v1::ServerCapabilities capabilities;
    const auto client = As(name);
    const grpc::Status status = Capabilities(*client, &capabilities);
    ASSERT_TRUE(status.ok()) << name << ": " << status.error_message();
    EXPECT_EQ(capabilities.instance(), instance);
    EXPECT_EQ(capabilities.user(), name);
    EXPECT_EQ(capabilities.role(), role);
  }
}

TEST_F(SecurityTest, WhoeverHasNoGoodCertificateDoesNotGetIn) {
  // No certificate at all; plain text.
  EXPECT_EQ(CodeOf(daemon_->address(), grpc::SslCredentials({Text(ca_ + "/ca.crt"), "", ""})),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(CodeOf(daemon_->address(), grpc::InsecureChannelCredentials()),
            grpc::StatusCode::UNAVAILABLE);

  // Another authority's certificate, with the same words in it.
  const std::string forged = folder_.path() + "/forged";
  Make(forged, {"ca"});
  Make(forged, {"client", "lab", "operator", "olga"});
  EXPECT_EQ(CodeOf(daemon_->address(),
                   grpc::SslCredentials({Text(ca_ + "/ca.crt"), Text(forged + "/olga.key"),
                                         Text(forged + "/olga.crt")})),
            grpc::StatusCode::UNAVAILABLE);
  // A server under another authority is not believed either.
  EXPECT_EQ(CodeOf(daemon_->address(), Credentials(forged, "olga")), grpc::StatusCode::UNAVAILABLE);

  // A certificate that expired a day ago, and certificates of the right authority whose identity is
  // none.
  for (const auto& [san, days, code] :
       std::vector<std::tuple<std::string, std::string, grpc::StatusCode>>{
           {"URI:spiffe://helx/lab/operator/eva", "-1", grpc::StatusCode::UNAVAILABLE},
           {"URI:spiffe://helx/lab/root/eva", "1", grpc::StatusCode::UNAUTHENTICATED},
           {"URI:spiffe://helx/lab/worker/eva", "1", grpc::StatusCode::UNAUTHENTICATED},
           {"URI:spiffe://helx/any/operator/eva", "1", grpc::StatusCode::UNAUTHENTICATED},
           {"URI:spiffe://elsewhere/lab/operator/eva", "1", grpc::StatusCode::UNAUTHENTICATED},
           {"URI:spiffe://helx/lab/operator/eva,URI:spiffe://helx/other/operator/eva", "1",
            grpc::StatusCode::UNAUTHENTICATED},
           {"DNS:eva", "1", grpc::StatusCode::UNAUTHENTICATED}}) {
    const std::string base = folder_.path() + "/eva";
    std::string output;
    const std::string script = "set -e; openssl ecparam -name prime256v1 -genkey -noout -out " +
                               base + ".key; echo '" + "subjectAltName=" + san + "' > " + base +
                               ".ext; openssl req -new -key " + base + ".key -subj /CN=eva -out " +
                               base + ".csr; openssl x509 -req -in " + base + ".csr -CA " + ca_ +
                               "/ca.crt -CAkey " + ca_ + "/ca.key -set_serial 7 -extfile " + base +
                               ".ext -days " + days + " -out " + base + ".crt";
    ASSERT_EQ(RunProgram({"/bin/bash", "-c", script}, &output), 0) << output;
    EXPECT_EQ(
        CodeOf(daemon_->address(), grpc::SslCredentials({Text(ca_ + "/ca.crt"), Text(base + ".key"),
                                                         Text(base + ".crt")})),
        code)
        << san;
  }
}

TEST_F(SecurityTest, RolesMayCallWhatTheTableSays) {
  const auto viewer = As("vera");
  const auto anna = As("anna");
  const auto bert = As("bert");
  const auto olga = As("olga");
  const auto worker = As("w1");

  v1::Job job;
  const v1::SubmitJobRequest request = anna->Request("model");
  grpc::Status status = viewer->Submit(request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(),
            "helx.v1.Jobs/Submit is not for the role viewer of vera; allowed are: submitter, "
            "operator");
  EXPECT_EQ(worker->Submit(request, &job).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(viewer->Write(Client::UploadName(DigestOf(std::string_view("x")), "u1", "lab"), "x")
                .error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(anna->Submit(request, &job).ok());
  EXPECT_EQ(job.user(), "anna");
  EXPECT_EQ(job.instance(), "lab");
  EXPECT_EQ(viewer->Get(job.name()).name(), job.name());

  // A submitter poses as a worker to write a result.
  v1::SynchronizeRequest synchronize;
  synchronize.set_worker("w1");
  synchronize.set_session("s");
  synchronize.set_lane(v1::LANE_DEVICE);
  v1::SynchronizeResponse desired;
  {
    grpc::ClientContext context;
    EXPECT_EQ(anna->worker->Synchronize(&context, synchronize, &desired).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  // A worker poses as another one.
  synchronize.set_worker("w2");
  {
    grpc::ClientContext context;
    status = worker->worker->Synchronize(&context, synchronize, &desired);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("cannot speak for worker \"w2\""));
  }

  // Another submitter's job is not his to cancel; an operator's it is.
  const auto cancel = [&](Client& client) {
    grpc::ClientContext context;
    v1::CancelJobRequest wanted;
    wanted.set_name(job.name());
    v1::Job answer;
    return client.jobs->Cancel(&context, wanted, &answer);
  };
  EXPECT_EQ(cancel(*bert).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(cancel(*viewer).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(anna->Get(job.name()).finished());
  EXPECT_TRUE(cancel(*olga).ok());
  EXPECT_EQ(anna->Get(job.name()).phase(), v1::CANCELLED);
}

TEST_F(SecurityTest, AnInstanceSeesNothingOfAnother) {
  ScriptedWorker worker(daemon_->address(), "w1", nullptr, "s1", Credentials(ca_, "w1"));
  const auto anna = As("anna");
  const auto otto = As("otto");
  v1::Job job;
  ASSERT_TRUE(anna->Submit(anna->Request("secret model"), &job).ok());
  const v1::Job done = anna->Wait(job.name());
  ASSERT_EQ(done.phase(), v1::SUCCEEDED) << done.DebugString();

  // Blobs: neither readable nor known to exist.
  const Digest secret = DigestOf(std::string_view("secret model"));
  std::string content;
  EXPECT_EQ(otto->Read(secret, &content).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(anna->Read(secret, &content).ok());
  v1::FindMissingRequest find;
  find.add_digests()->set_hash(secret.hash);
  find.mutable_digests(0)->set_size_bytes(secret.size_bytes);
  v1::FindMissingResponse missing;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(otto->blobs->FindMissing(&context, find, &missing).ok());
    EXPECT_EQ(missing.missing_size(), 1);
  }
  {
    grpc::ClientContext context;
    find.set_instance("lab");
    const grpc::Status status = otto->blobs->FindMissing(&context, find, &missing);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("the certificate of otto is for \"other\""));
  }
  // An upload of what another instance has takes all its bytes: it does not end early.
  int64_t committed = -1;
  ASSERT_TRUE(
      otto->Write(Client::UploadName(secret, "u", "-"), "secret", 0, false, &committed).ok());
  EXPECT_EQ(committed, 6);

  // Jobs, results, names.
  EXPECT_EQ(otto->Get(job.name()).name(), "");
  grpc::Status status;
  EXPECT_TRUE(otto->Watch(job.name(), 0, &status).empty());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  {
    grpc::ClientContext context;
    v1::ListJobsResponse jobs;
    ASSERT_TRUE(otto->jobs->List(&context, {}, &jobs).ok());
    EXPECT_EQ(jobs.jobs_size(), 0);
  }
  for (const bool by_name : {true, false}) {
    grpc::ClientContext context;
    v1::GetResultRequest get;
    if (by_name) {
      get.set_experiment("kws");
    } else {
      *get.mutable_bundle() = done.bundle();
    }
    v1::Result result;
    EXPECT_EQ(otto->results->Get(&context, get, &result).error_code(), grpc::StatusCode::NOT_FOUND);
    grpc::ClientContext own;
    EXPECT_TRUE(anna->results->Get(&own, get, &result).ok());
  }
  // The same model of another instance is worked on anew: a result is not an oracle either.
  const int executed = worker.executed();
  ASSERT_TRUE(otto->Submit(otto->Request("secret model"), &job).ok());
  const v1::Job again = otto->Wait(job.name());
  EXPECT_EQ(again.phase(), v1::SUCCEEDED);
  EXPECT_FALSE(again.cached());
  EXPECT_EQ(worker.executed(), executed + 3);

  // A worker without a lease there touches no blob.
  EXPECT_EQ(worker.client()
                .Write(Client::UploadName(DigestOf(std::string_view("y")), "u", "lab"), "y")
                .error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(SecurityTest, RenewedCertificatesServeWithoutARestart) {
  const std::string before = Text(ca_ + "/server.crt");
  Make(ca_, {"server", "localhost", "127.0.0.1"});
  ASSERT_NE(Text(ca_ + "/server.crt"), before);
  // A second authority joins the one that clients may come from.
  const std::string second = folder_.path() + "/second";
  Make(second, {"ca"});
  Make(second, {"client", "lab", "submitter", "nina"});
  const auto nina = [&] {
    return CodeOf(daemon_->address(),
                  grpc::SslCredentials({Text(ca_ + "/ca.crt"), Text(second + "/nina.key"),
                                        Text(second + "/nina.crt")}));
  };
  EXPECT_EQ(nina(), grpc::StatusCode::UNAVAILABLE);
  const std::string ca = Text(ca_ + "/ca.crt");
  std::ofstream(ca_ + "/ca.new") << ca << Text(second + "/ca.crt");
  ASSERT_EQ(rename((ca_ + "/ca.new").c_str(), (ca_ + "/ca.crt").c_str()), 0);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (nina() != grpc::StatusCode::OK && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(nina(), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(daemon_->address(), Credentials(ca_, "anna")), grpc::StatusCode::OK);
}

TEST_F(SecurityTest, ProgramsSpeakTlsAndSayWhatIsWrongWithTheirFiles) {
  std::string output;
  EXPECT_EQ(RunProgram(Ctl("vera", {"list", "--json"}), &output), 0) << output;
  output.clear();
  std::ofstream(folder_.path() + "/model.tflite") << "not a model";
  std::ofstream(folder_.path() + "/e.yaml") << "name: kws\nmodel: model.tflite\n";
  EXPECT_EQ(RunProgram(Ctl("vera", {"submit", folder_.path() + "/e.yaml"}), &output), 7);
  EXPECT_THAT(output, HasSubstr("not for the role viewer of vera"));
  output.clear();
  EXPECT_EQ(RunProgram(Ctl("anna", {"submit", folder_.path() + "/e.yaml"}), &output), 0) << output;

  output.clear();
  EXPECT_EQ(RunProgram({kHelxctl, "--server", daemon_->address(), "--tls-ca", ca_ + "/ca.crt",
                        "--tls-cert", ca_ + "/anna.crt", "--tls-key", ca_ + "/bert.key", "list"},
                       &output),
            2);
  EXPECT_THAT(output, HasSubstr("does not belong to the certificate"));
  output.clear();
  EXPECT_EQ(RunProgram({kHelxctl, "--server", "lab.example:7000", "list"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("TLS only"));
  output.clear();
  EXPECT_EQ(RunProgram({kHelxd, "--listen", "0.0.0.0:0", "--workers", "0", "--data-dir",
                        folder_.path() + "/d", "--tls-cert", ca_ + "/server.crt"},
                       &output),
            2);
  EXPECT_THAT(output, HasSubstr("TLS needs three files"));
}

TEST_F(SecurityTest, PythonSpeaksTls) {
  std::string output;
  const std::string script =
      "from helx._connection import Connection\n"
      "from helx.v1 import capabilities_pb2 as messages, capabilities_pb2_grpc as stubs\n"
      "with Connection(None) as connection:\n"
      "    get = stubs.CapabilitiesStub(connection.channel).Get\n"
      "    answer = connection.call(get, messages.GetCapabilitiesRequest())\n"
      "    print(answer.instance, answer.user, answer.role)\n";
  EXPECT_EQ(RunProgram({"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1",
                        "PYTHONPATH=" HELX_SOURCE_DIR "/client/python",
                        "HELX_BUILD_DIR=" HELX_BUILD_DIR, "HELX_SERVER=" + daemon_->address(),
                        "HELX_TLS_CA=" + ca_ + "/ca.crt", "HELX_TLS_CERT=" + ca_ + "/vera.crt",
                        "HELX_TLS_KEY=" + ca_ + "/vera.key", "/usr/bin/python3", "-c", script},
                       &output),
            0)
      << output;
  EXPECT_EQ(output, "lab vera viewer\n");
}

TEST_F(SecurityTest, RealWorkerJoinsOverMutualTls) {
  const pid_t pid = fork();
  if (pid == 0) {
    execl(kHelxWorker, kHelxWorker, "--server", daemon_->address().c_str(), "--name", "w1",
          "--state-dir", (folder_.path() + "/w1").c_str(), "--cache-dir",
          (folder_.path() + "/cache").c_str(), "--tls-ca", (ca_ + "/ca.crt").c_str(), "--tls-cert",
          (ca_ + "/w1.crt").c_str(), "--tls-key", (ca_ + "/w1.key").c_str(), nullptr);
    _exit(127);
  }
  const auto anna = As("anna");
  v1::ServerCapabilities capabilities;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (capabilities.live_workers() == 0 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(Capabilities(*anna, &capabilities).ok());
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(capabilities.live_workers(), 1);
  // Its freeze lane answers: the harness's document says too little, and it is refused as such.
  const std::string platform = capabilities.targets(0).platform();
  v1::SubmitJobRequest request = anna->Request("not a model");
  std::string document = request.document();
  document.replace(document.find("\"board\""), 7, "\"" + platform + "\"");
  request.set_document(document);
  v1::Job job;
  ASSERT_TRUE(anna->Submit(request, &job).ok());
  const v1::Job done = anna->Wait(job.name());
  EXPECT_EQ(done.phase(), v1::FAILED);
  EXPECT_EQ(done.failure().fault(), v1::USER) << done.failure().DebugString();
  EXPECT_EQ(done.failure().code(), "malformed_document");
  EXPECT_EQ(done.attempts(0).worker(), "w1");
  kill(pid, SIGTERM);
  waitpid(pid, nullptr, 0);
}

// The table grants each method of the wire contract to somebody, and nothing else.
TEST(AuthorizationTest, HoldsEveryMethodOfTheContract) {
  std::set<std::string> table;
  for (const std::string_view method : AuthorizedMethods()) table.emplace(method);
  const auto methods = ContractMethods();
  for (const auto* method : methods) {
    const std::string name = "/" + method->service()->full_name() + "/" + method->name();
    EXPECT_TRUE(table.contains(name)) << name;
  }
  // gRPC's own: Health.Check, Health.Watch, ServerReflection.
  EXPECT_EQ(table.size(), methods.size() + 3);
}

}  // namespace
}  // namespace helx::server

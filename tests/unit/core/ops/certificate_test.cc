#include "core/ops/certificate.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <random>

#include "client/ops/sha256.h"
#include "core/ops/corpus/sets.h"
#include "tests/unit/core/ops/corpus_set.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

TEST(Sha256, EqualsOpenSsl) {
  std::mt19937_64 random(23);
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    Digest expected{};
    unsigned int size = 0;
    ASSERT_EQ(EVP_Digest(bytes.data(), bytes.size(), expected.data(), &size, EVP_sha256(), nullptr),
              1);
    ASSERT_EQ(Sha256(bytes), expected) << length;
    bytes.push_back(static_cast<char>(random()));
  }
}

TEST(Sha256, FipsExample) {
  EXPECT_EQ(HexDigest(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

std::string CertificateOf(const CorpusSet& set) {
  const auto roles = Lower(*set.lowering, set.members, set.fields);
  return Certify(set.lowering->capability, set.lowering->id, roles.value(),
                 SetDigest(set.members, Sha256))
      .value()
      .text;
}

std::string Sink(const CorpusSet& set, const std::string& certificate, Verdict profile) {
  return SinkRefusal(*set.lowering, set.members, set.fields, certificate, profile, Sha256)
      .value_or("admitted");
}

TEST(SetDigest, OneMemberAndSeveral) {
  EXPECT_EQ(SetDigest({{"x", "abc"}}, Sha256),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // The listing by hand: byte order puts T before g.
  const std::string a = HexDigest(Sha256("1"));
  const std::string b = HexDigest(Sha256("2"));
  EXPECT_EQ(SetDigest({{"g_s.whm", "1"}, {"T.whm", "2"}}, Sha256),
            HexDigest(Sha256("wai.prior.set/1\n" + b + " T.whm\n" + a + " g_s.whm\n")));
}

// Annex B.3.
TEST(Certificate, OfClaimAcc32) {
  const CorpusSet& set = SetNamed("claim_acc32");
  EXPECT_EQ(CertificateOf(set),
            "{\"capability\":\"wai.neural.int_conv\",\"cert\":\"wai-ops-bounds/1\",\"lowering\":"
            "\"int_conv/1\",\"roles\":[{\"fail_acc32\":[[1,\"part\"],[1,\"acc\"]],\"fail_acc64\":"
            "[],\"role\":\"net\",\"values\":[{\"id\":0,\"named\":[[\"x\",0,65536]],\"op\":"
            "\"input\"},{\"id\":1,\"named\":[[\"part\",0,2147483648],[\"acc\",0,2147483648],"
            "[\"~p\",0,2147483648],[\"q\",0,32768],[\"y\",0,32768]],\"op\":\"conv\"}],\"verdict\":"
            "\"acc64\"}],\"set\":\"57cf65fcf37b6d6d31efc44329428b1f92f461dfc4029692b3443418a2c5e69f"
            "\",\"verdict\":\"acc64\"}\n");
}

TEST(Certificate, OneUnitDecidesTheFalsificationSets) {
  // The last weight 0, and the bias one less, meet what the sets fail (section 14.3).
  CorpusSet claim = SetNamed("claim_acc32");
  std::string& text = claim.members[0].bytes;
  text.replace(text.find("[32767,1]"), 9, "[32767,0]");
  EXPECT_NE(CertificateOf(claim).find("\"verdict\":\"acc32\"}\n"), std::string::npos);
  CorpusSet overflow = SetNamed("overflow_acc64");
  EXPECT_NE(CertificateOf(overflow).find("\"verdict\":\"none\"}\n"), std::string::npos);
  std::string& bias = overflow.members[0].bytes;
  bias.replace(bias.find("4611686018427387904"), 19, "4611686018427387903");
  EXPECT_NE(CertificateOf(overflow).find("\"verdict\":\"acc64\"}\n"), std::string::npos);
}

TEST(Certificate, OfGraphsOnTheirOwn) {
  const std::string small = WriteWhg1(BaseCase(Op::kElu).Build());
  const std::string large = WriteWhg1(BaseCase(Op::kClamp).Build());
  const auto certificate = CertifyGraphs("", "", {{"b", small}, {"a", large}}, Sha256);
  ASSERT_TRUE(certificate.ok());
  const std::string& text = certificate.value().text;
  EXPECT_EQ(text.substr(0, 17), "{\"capability\":\"\",");
  EXPECT_LT(text.find("\"role\":\"a\""), text.find("\"role\":\"b\""));
  EXPECT_NE(text.find(SetDigest({{"a", large}, {"b", small}}, Sha256)), std::string::npos);
}

TEST(Certificate, MalformedGraphsHaveNone) {
  const auto certificate = CertifyGraphs("", "", {{"a", "WHG1"}}, Sha256);
  ASSERT_FALSE(certificate.ok());
  EXPECT_EQ(certificate.refusal().code, Code::kHeader);
}

TEST(Sink, AdmitsASetWithItsCertificate) {
  const CorpusSet& gru = SetNamed("gru_a");
  EXPECT_EQ(Sink(gru, CertificateOf(gru), Verdict::kAcc64), "admitted");
  const CorpusSet& world = SetNamed("world_a");
  EXPECT_EQ(Sink(world, CertificateOf(world), Verdict::kAcc64), "admitted");
}

TEST(Sink, RefusesBothFalsificationSets) {
  for (const char* const name : {"overflow_acc64", "claim_acc32"}) {
    const CorpusSet& set = SetNamed(name);
    EXPECT_NE(Sink(set, CertificateOf(set), *set.claim), "admitted") << name;
  }
  const CorpusSet& claim = SetNamed("claim_acc32");
  EXPECT_EQ(Sink(claim, CertificateOf(claim), Verdict::kAcc64), "admitted")
      << "it meets acc64; the pin admits it to nothing";
}

TEST(Sink, NamesTheConditionThatFails) {
  const CorpusSet& mlp = SetNamed("mlp_a");
  const CorpusSet& conv = SetNamed("conv_a");
  const std::string good = CertificateOf(mlp);
  const auto refusal = [&](const std::string& certificate) {
    return Sink(mlp, certificate, Verdict::kAcc64);
  };
  EXPECT_NE(refusal(good + "\n").find("not canonical"), std::string::npos);
  EXPECT_NE(refusal(" " + good).find("not canonical"), std::string::npos);
  EXPECT_NE(refusal("{}\n").find("not a wai-ops-bounds/1"), std::string::npos);
  EXPECT_NE(refusal(CertificateOf(conv)).find("is of set"), std::string::npos);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.rfind(from), from.size(), to);
    return refusal(text);
  };
  EXPECT_NE(changed("\"lowering\":\"int_mlp/1\"", "\"lowering\":\"int_mlp/2\"").find("lowering"),
            std::string::npos);
  EXPECT_NE(changed("[\"y\",", "[\"z\",").find("own bounds pass"), std::string::npos);
  CorpusSet broken = mlp;
  broken.members[0].bytes = "{}\n";
  EXPECT_NE(Sink(broken, good, Verdict::kAcc64).find("form"), std::string::npos);
  CorpusSet overflow = SetNamed("overflow_acc64");
  EXPECT_NE(Sink(overflow, good, Verdict::kAcc64).find("does not load"), std::string::npos);
  CorpusSet claim = SetNamed("claim_acc32");
  EXPECT_NE(Sink(claim, CertificateOf(claim), Verdict::kAcc32).find("does not meet acc32"),
            std::string::npos);
}

}  // namespace
}  // namespace helx::ops

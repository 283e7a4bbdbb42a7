#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "testing/nats_certificates.h"
#include "testing/nats_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr char kUserSeed[] = "SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7OVBP65AZVVI3THI6IS5OM";
constexpr char kUserKey[] = "UB4OTTY6EWBAKWOQ65BH4PW2UTGEEICPIOKJ4XRLEQ5QDEXGEDLJ7MEE";
constexpr char kOtherSeed[] = "SUAIQEFNLAPFT4V4HEULEYLQPJYTBD36COPLASBAGZW4JVOBRWMAEJNIF4";
constexpr char kAccountSeed[] = "SAAECQZCGCO3LQDNBEFC5ERMZQ7AA4EMTE5ZXFSALXQSPN75RWRN2IOLT4";
constexpr char kAccountKey[] = "ACS4GIAA3TVDZAOF2ZWZBH4FMFVAQB4O2QYSAVRHWYQMJJ3W7EF3W3Q5";
// Signed by an operator, for itself and the account, and by the account, for the user.
constexpr char kOperatorJwt[] =
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJ0ZXN0IiwiaWF0IjoxLCJpc3MiOiJPQjN"
    "ISlZCUlZXNVNCUlRKT0NDVlFRR01XWjNOTEtYREpTQkhONzU3VkY3SE9XQUVEWVNRSVBWWiIsInN1YiI6Ik9CM0hKV"
    "kJSVlc1U0JSVEpPQ0NWUVFHTVdaM05MS1hESlNCSE43NTdWRjdIT1dBRURZU1FJUFZaIiwibmFtZSI6InRlc3QiLCJ"
    "uYXRzIjp7InR5cGUiOiJvcGVyYXRvciIsInZlcnNpb24iOjJ9fQ.HN7kajcV5UsFdRB9KjwyBc8_tQOwT737QstXwk"
    "amH8iuhjT-DlT_OYM05kEItOAzxfON7C8gfLxTPb9QOsqzCQ";
constexpr char kAccountJwt[] =
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJ0ZXN0IiwiaWF0IjoxLCJpc3MiOiJPQjN"
    "ISlZCUlZXNVNCUlRKT0NDVlFRR01XWjNOTEtYREpTQkhONzU3VkY3SE9XQUVEWVNRSVBWWiIsInN1YiI6IkFDUzRHS"
    "UFBM1RWRFpBT0YyWldaQkg0Rk1GVkFRQjRPMlFZU0FWUkhXWVFNSkozVzdFRjNXM1E1IiwibmFtZSI6InRlc3QiLCJ"
    "uYXRzIjp7ImxpbWl0cyI6eyJzdWJzIjotMSwiZGF0YSI6LTEsInBheWxvYWQiOi0xLCJpbXBvcnRzIjotMSwiZXhwb"
    "3J0cyI6LTEsIndpbGRjYXJkcyI6dHJ1ZSwiY29ubiI6LTEsImxlYWYiOi0xfSwidHlwZSI6ImFjY291bnQiLCJ2ZXJ"
    "zaW9uIjoyfX0.YSJQRykQZxsnO5SaQBpA0RvKTIlnkrt4lZWzdu0H-hvbDDVnWol7Wb6eJDdLK4UtNBDwFD7_SSOjI"
    "Who3DB9CA";
constexpr char kUserJwt[] =
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJ0ZXN0IiwiaWF0IjoxLCJpc3MiOiJBQ1M"
    "0R0lBQTNUVkRaQU9GMlpXWkJINEZNRlZBUUI0TzJRWVNBVlJIV1lRTUpKM1c3RUYzVzNRNSIsInN1YiI6IlVCNE9UV"
    "Fk2RVdCQUtXT1E2NUJINFBXMlVUR0VFSUNQSU9LSjRYUkxFUTVRREVYR0VETEo3TUVFIiwibmFtZSI6InRlc3QiLCJ"
    "uYXRzIjp7InN1YnMiOi0xLCJkYXRhIjotMSwicGF5bG9hZCI6LTEsInR5cGUiOiJ1c2VyIiwidmVyc2lvbiI6Mn19."
    "pMDIBTg2n4xC2SFtTm6IdDyP_8jg6LUO7bwpZFh2g62XIp5jlYwgcme72wMZBQ_sRaJ50febRwFZAAWID43VBw";

std::string write_file(const TemporaryDirectory& directory, const std::string& name,
                       const std::string& text, mode_t mode = 0600) {
  const std::string path = directory.file(name);
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

std::string credentials(const char* seed) {
  return absl::StrCat("-----BEGIN NATS USER JWT-----\n", kUserJwt,
                      "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n", seed,
                      "\n------END USER NKEY SEED------\n");
}

void check_works(const NatsOptions& options) {
  const auto transport = connected(options);
  const auto other = connected(options);
  listen(*transport, {RelaySubject::kLive});
  const absl::Status state = transport->tail(kHang).status();
  INFO(state.ToString());
  CHECK((errc_of(state) == Errc::kNotFound || errc_of(state) == Errc::kUnsupported));
  const std::string large(200'000, 'x');
  for (int i = 0; i < 100; ++i) CHECK(other->send(RelaySubject::kLive, message(large)).ok());
  for (int i = 0; i < 100; ++i) CHECK((take(*transport).text == large));
}

TEST_CASE("access to NATS: a user and a password") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server(
      "jetstream { store_dir: $STORE }\n"
      "authorization { user: relay, password: secret }");
  check_works(options_for(server, "relay:secret"));
  for (const std::string wrong : {"", "relay:wrong-one", "other:wrong-one", "wrong-one"}) {
    const absl::Status refused = refusal(options_for(server, wrong));
    CHECK(errc_of(refused) == Errc::kNotPermitted);
    CHECK(mentions(refused, "Authorization Violation"));
    CHECK(mentions(refused, server.url()));
    CHECK_FALSE(mentions(refused, "wrong-one"));
  }
}

TEST_CASE("access to NATS: an NKey from a file of this user alone") {
  LAPWING_NEED_NATS_SERVER();
  const TemporaryDirectory directory;
  const NatsServer server(absl::StrCat("jetstream { store_dir: $STORE }\n",
                                       "authorization { users: [ { nkey: ", kUserKey, " } ] }"));
  NatsOptions options = options_for(server);
  options.nkey_path = write_file(directory, "right", absl::StrCat("# mine\n", kUserSeed, "\n"));
  check_works(options);
  options.nkey_path = write_file(directory, "wrong", kOtherSeed);
  CHECK(errc_of(refusal(options)) == Errc::kNotPermitted);
  for (const mode_t mode : {0640U, 0604U, 0620U, 0610U}) {
    options.nkey_path = write_file(directory, "open", kUserSeed, mode);
    const absl::Status refused = refusal(options);
    CHECK(errc_of(refused) == Errc::kNotPermitted);
    CHECK(mentions(refused, "chmod 600 " + options.nkey_path));
  }
  for (const std::string text :
       {"", "no seed", "SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7", kAccountSeed,
        "SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7OVBP65AZVVI3THI6IS5OA"}) {
    options.nkey_path = write_file(directory, "no-seed", text);
    const absl::Status refused = refusal(options);
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK(mentions(refused, options.nkey_path));
    CHECK_FALSE(mentions(refused, "SUAHM"));
  }
  options.nkey_path = directory.file("missing");
  CHECK(errc_of(refusal(options)) == Errc::kNotFound);
}

TEST_CASE("access to NATS: a credentials file") {
  LAPWING_NEED_NATS_SERVER();
  const TemporaryDirectory directory;
  const NatsServer server(absl::StrCat("operator: ", kOperatorJwt,
                                       "\nresolver: MEMORY\nresolver_preload { ", kAccountKey, ": ",
                                       kAccountJwt, " }"));
  NatsOptions options = options_for(server);
  options.credentials_path = write_file(directory, "right", credentials(kUserSeed));
  check_works(options);
  options.credentials_path = write_file(directory, "wrong", credentials(kOtherSeed));
  CHECK(errc_of(refusal(options)) == Errc::kNotPermitted);
  options.credentials_path = write_file(directory, "open", credentials(kUserSeed), 0644);
  CHECK(mentions(refusal(options), "chmod 600"));
  options.credentials_path = directory.file("missing");
  CHECK(errc_of(refusal(options)) == Errc::kNotFound);
  options.credentials_path = directory.file("right");
  options.nkey_path = directory.file("right");
  CHECK(errc_of(refusal(options)) == Errc::kInvalidArgument);
}

TEST_CASE("access to NATS: TLS with the right CA, and with none or another one") {
  LAPWING_NEED_NATS_SERVER();
  const TemporaryDirectory directory;
  const NatsCertificates right(directory);
  const NatsCertificates wrong(directory, "other");
  const NatsServer server("jetstream { store_dir: $STORE }\n" + right.tls());
  NatsOptions options = options_for(server);
  options.urls = "tls://localhost:" + std::to_string(server.port());
  options.tls_ca_path = right.ca;
  check_works(options);
  options.urls = "nats://localhost:" + std::to_string(server.port());
  check_works(options);
  options.tls_ca_path = wrong.ca;
  absl::Status refused = refusal(options);
  CHECK(errc_of(refused) == Errc::kRefused);
  CHECK(mentions(refused, "certificate"));
  options.tls_ca_path.clear();
  CHECK(errc_of(refusal(options)) == Errc::kRefused);
  options.tls_ca_path = directory.file("missing");
  CHECK(errc_of(refusal(options)) == Errc::kNotFound);
  options.tls_ca_path = write_file(directory, "text", "no certificate");
  CHECK(errc_of(refusal(options)) == Errc::kRefused);
}

TEST_CASE("access to NATS: the certificate of another host is refused") {
  LAPWING_NEED_NATS_SERVER();
  const TemporaryDirectory directory;
  const NatsCertificates other(directory, "ca", "DNS:other.example");
  const NatsServer server(other.tls());
  NatsOptions options = options_for(server);
  options.urls = "tls://localhost:" + std::to_string(server.port());
  options.tls_ca_path = other.ca;
  const absl::Status refused = refusal(options);
  CHECK(errc_of(refused) == Errc::kRefused);
  CHECK(mentions(refused, "certificate"));
}

TEST_CASE("access to NATS: a server without TLS is refused when TLS is asked for") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  NatsOptions options = options_for(server);
  options.urls = "tls://" + server.address();
  CHECK(errc_of(refusal(options)) == Errc::kRefused);
}

TEST_CASE("access to NATS: a server that wants the client's certificate") {
  LAPWING_NEED_NATS_SERVER();
  const TemporaryDirectory directory;
  const NatsCertificates right(directory);
  const NatsCertificates wrong(directory, "other");
  const NatsServer server("jetstream { store_dir: $STORE }\n" +
                          right.tls(absl::StrCat(", ca_file: \"", right.ca, "\", verify: true")));
  NatsOptions options = options_for(server);
  options.urls = "tls://localhost:" + std::to_string(server.port());
  options.tls_ca_path = right.ca;
  options.tls_certificate_path = right.certificate;
  options.tls_key_path = right.key;
  check_works(options);
  options.tls_key_path.clear();
  CHECK(errc_of(refusal(options)) == Errc::kInvalidArgument);
  options.tls_certificate_path.clear();
  CHECK_FALSE(connect_nats(options, test_names(), kHang).ok());
  options.tls_certificate_path = wrong.certificate;
  options.tls_key_path = wrong.key;
  CHECK_FALSE(connect_nats(options, test_names(), kHang).ok());
  REQUIRE(::chmod(right.key.c_str(), 0644) == 0);
  options.tls_certificate_path = right.certificate;
  options.tls_key_path = right.key;
  CHECK(mentions(refusal(options), "chmod 600"));
}

TEST_CASE("access to NATS: a subject that the user may not publish ends the connection") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server(
      "jetstream { store_dir: $STORE }\n"
      "authorization { users: [ { user: in, password: in, permissions: { publish: "
      "{ deny: \"lapwing.log.>\" }, subscribe: { deny: \"lapwing.ask.>\" } } } ] }");
  const NatsOptions options = options_for(server, "in:in");
  const auto transport = connected(options);
  REQUIRE(transport->send(RelaySubject::kLog, message("x")).ok());
  absl::Status lost = transport->take(kHang).status();
  CHECK(errc_of(lost) == Errc::kNotPermitted);
  CHECK(mentions(lost, test_names().log));
  const auto other = connected(options);
  listen(*other, {RelaySubject::kAsk});
  lost = other->take(kHang).status();
  CHECK(errc_of(lost) == Errc::kNotPermitted);
  CHECK(mentions(lost, test_names().ask));
}

TEST_CASE("access to NATS: an answer that may not be published does not end the connection") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server(
      "jetstream { store_dir: $STORE }\n"
      "authorization { users: [ { user: in, password: in }, { user: out, password: out, "
      "permissions: { publish: { deny: \"_OTHER.>\" } } } ] }");
  const auto origin = connected(options_for(server, "out:out"));
  NatsOptions options = options_for(server, "in:in");
  const auto right = connected(options);
  options.inbox_prefix = "_OTHER";
  const auto wrong = connected(options);
  listen(*origin, {RelaySubject::kAsk});
  settle(*origin);
  for (const auto* const asking : {&wrong, &right}) {
    REQUIRE((*asking)->ask(message("x")).ok());
    REQUIRE(origin->answer(take(*origin).reply_to, message("y")).ok());
    settle(*origin);
  }
  CHECK(take(*right).text == "y");
  CHECK_FALSE(try_take(*wrong, Deadline::now()));
  CHECK(origin->send(RelaySubject::kLive, message("x")).ok());
}

TEST_CASE("access to NATS: a server whose max_payload is too small") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server("max_payload: 65536");
  const absl::Status refused = refusal(options_for(server));
  CHECK(errc_of(refused) == Errc::kLimit);
  CHECK(mentions(refused, "max_payload 65536"));
  CHECK(mentions(refused, std::to_string(kNatsPayloadBytesMin)));
}

}  // namespace
}  // namespace lapwing

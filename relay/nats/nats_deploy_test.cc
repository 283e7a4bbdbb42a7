#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lapwing/error.h"
#include "testing/nats_certificates.h"
#include "testing/nats_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr char kOutSeed[] = "SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7OVBP65AZVVI3THI6IS5OM";
constexpr char kOutKey[] = "UB4OTTY6EWBAKWOQ65BH4PW2UTGEEICPIOKJ4XRLEQ5QDEXGEDLJ7MEE";
constexpr char kInSeed[] = "SUAFQKLHKNGQ7EE5DFVZP6PGSIJUE5325KD3I35FFXYWKOE5WH5YZT62QI";
constexpr char kInKey[] = "UBCAKTW3KQAG2SN36JFT7KC5L2TVNLRVEK3BUHT2572KMB2SOHEODBPZ";

// deploy/nats, edited as its README.md describes, for addresses of this machine.
class Site {
 public:
  Site() {
    write_seed("out", kOutSeed);
    write_seed("in", kInSeed);
    const std::vector<std::pair<std::string, std::string>> edits = {
        {"/etc/nats/server-cert.pem", certificates_.certificate},
        {"/etc/nats/server-key.pem", certificates_.key},
        {"/etc/nats/ca.pem", certificates_.ca},
        {"/var/lib/nats", directory_.file("store")},
        {"0.0.0.0:4222", "127.0.0.1:-1"},
        {"0.0.0.0:6222", "127.0.0.1:-1"},
        {"0.0.0.0:7422", "127.0.0.1:-1"},
        {"80GB", "1GB"},
        {"OUT_KEY: CHANGE-ME", absl::StrCat("OUT_KEY: ", kOutKey)},
        {"IN_KEY: CHANGE-ME", absl::StrCat("IN_KEY: ", kInKey)},
        {"CHANGE-ME", "3xq7UuN0hYbT1sPzKcVwLm"},
        {"BUSNAME", test_names().stream.substr(sizeof "LAPWING_" - 1)}};
    for (const auto& entry : std::filesystem::directory_iterator(LAPWING_DEPLOY_NATS)) {
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      std::ofstream(directory_.file(entry.path().filename().string()))
          << absl::StrReplaceAll(text, edits);
    }
  }

  // For the configuration of a server, which is in a directory beside this one.
  std::string include(const std::string& file) const {
    const std::filesystem::path here(directory_.path());
    return absl::StrCat("include \"../", here.filename().string(), "/", file, "\"");
  }
  NatsOptions options(const NatsServer& server, const std::string& user) const {
    NatsOptions options;
    options.urls = absl::StrCat("tls://localhost:", server.port());
    options.tls_ca_path = certificates_.ca;
    options.nkey_path = directory_.file(user);
    options.inbox_prefix = "_INBOX_" + user;
    return options;
  }

 private:
  void write_seed(const std::string& user, const char* seed) const {
    const std::string path = directory_.file(user);
    std::ofstream(path) << seed;
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
  }

  TemporaryDirectory directory_;
  NatsCertificates certificates_{directory_};
};

TEST_CASE("NATS as deployed: out and in may do what they need") {
  LAPWING_NEED_NATS_SERVER();
  const Site site;
  const NatsServer server(site.include("single.conf"));
  for (const char* const domain : {"", "hub"}) {
    NatsOptions options = site.options(server, "out");
    options.js_domain = domain;
    const auto out = connected(options);
    options = site.options(server, "in");
    options.js_domain = domain;
    const auto in = connected(options);
    const auto serving = connected(options);
    listen(*out, {RelaySubject::kAsk});
    listen(*serving, {RelaySubject::kAsk});
    listen(*in, {RelaySubject::kLog, RelaySubject::kLive, RelaySubject::kBeat});
    open_stream(*out);
    const std::uint64_t last = out->tail(kHang)->last;
    settle(*serving);
    REQUIRE(in->read_from(last + 1, kHang).ok());
    store(*out, "log", last);
    REQUIRE(out->send(RelaySubject::kLive, message("live")).ok());
    REQUIRE(out->send(RelaySubject::kBeat, message("beat")).ok());
    REQUIRE(in->ask(message("ask")).ok());
    for (const auto* const answering : {&out, &serving}) {
      const Arrived asked = take(**answering);
      CHECK(asked.text == "ask");
      REQUIRE((*answering)->answer(asked.reply_to, message("answer")).ok());
    }
    std::multiset<std::string> texts;
    for (int i = 0; i < 6; ++i) texts.insert(take(*in).text);
    CHECK(texts == std::multiset<std::string>{"answer", "answer", "beat", "live", "log", "log"});
    in->stop_reading();
    CHECK(in->tail(kHang)->last == last + 1);
    for (const auto* const each : {&out, &in, &serving}) settle(**each);
  }
}

TEST_CASE("NATS as deployed: flow control is permitted") {
  LAPWING_NEED_NATS_SERVER();
  const Site site;
  const NatsServer server(site.include("single.conf"));
  const auto out = connected(site.options(server, "out"));
  const auto in = connected(site.options(server, "in"));
  open_stream(*out);
  constexpr std::uint64_t kMessages = 400;  // 100 MB, more than may be on its way
  const std::string body(250'000, 'x');
  for (std::uint64_t i = 0; i < kMessages; ++i) store(*out, body, i);
  REQUIRE(in->read_from(1, kHang).ok());
  for (std::uint64_t i = 1; i <= kMessages; ++i) REQUIRE(take(*in).stream_sequence == i);
}

TEST_CASE("NATS as deployed: only out publishes the bus, and nobody else reads it") {
  LAPWING_NEED_NATS_SERVER();
  const Site site;
  const NatsServer server(site.include("single.conf"));
  open_stream(*connected(site.options(server, "out")));
  for (const RelaySubject subject :
       {RelaySubject::kLog, RelaySubject::kLive, RelaySubject::kBeat}) {
    const auto in = connected(site.options(server, "in"));
    REQUIRE(in->send(subject, message("forged")).ok());
    const absl::Status lost = in->take(kHang).status();
    CHECK(errc_of(lost) == Errc::kNotPermitted);
  }
  const auto in = connected(site.options(server, "in"));
  CHECK(errc_of(in->open_stream({}, kHang)) == Errc::kInvalidArgument);  // STREAM.INFO is permitted
  NatsOptions none = site.options(server, "out");
  none.nkey_path.clear();
  CHECK(errc_of(refusal(none)) == Errc::kNotPermitted);
  none = site.options(server, "out");
  none.inbox_prefix = "_INBOX_in";
  CHECK(errc_of(connected(none)->take(kHang).status()) == Errc::kNotPermitted);
}

TEST_CASE("NATS as deployed: each configuration starts") {
  LAPWING_NEED_NATS_SERVER();
  const Site site;
  for (const char* const file : {"single.conf", "cluster.conf", "leaf.conf"}) {
    const NatsServer server(site.include(file));
    CHECK(server.port() != 0);
  }
}

}  // namespace
}  // namespace lapwing

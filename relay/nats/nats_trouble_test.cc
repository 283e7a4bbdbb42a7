#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/unique_fd.h"
#include "testing/is_readable.h"
#include "testing/nats_client.h"
#include "testing/nats_fixture.h"
#include "testing/process_descriptors.h"

namespace lapwing {
namespace {

// The error of take() once nothing is left.
absl::Status loss_of(RelayTransport& transport) {
  const Deadline hang = kHang;
  for (;;) {
    const auto taken = transport.take(hang);
    if (!taken.ok()) return taken.status();
    REQUIRE(taken->has_value());
  }
}

void check_lost(RelayTransport& transport, const std::string& why) {
  const auto is_it = [&](const absl::Status& status) {
    INFO(status.ToString());
    CHECK(errc_of(status) == Errc::kPeerGone);
    CHECK(mentions(status, why));
  };
  const RelaySubject live[] = {RelaySubject::kLive};
  is_it(loss_of(transport));
  is_it(transport.take(Deadline::now()).status());
  is_it(transport.send(RelaySubject::kLive, message("x")));
  is_it(transport.append(message("x"), 0));
  is_it(transport.tail(kHang).status());
  is_it(transport.open_stream(small_stream(), kHang));
  is_it(transport.read_from(1, kHang));
  is_it(transport.listen(live));
  is_it(transport.ask(message("x")).status());
  is_it(transport.answer("_INBOX.x", message("x")));
  CHECK_FALSE(transport.take_ack());
  CHECK(is_readable(transport.fd()));
}

// Listens on 127.0.0.1 and does nothing else.
struct SilentListener {
  SilentListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd.get(), any, bytes) == 0);
    REQUIRE(::getsockname(fd.get(), any, &bytes) == 0);
    REQUIRE(::listen(fd.get(), 8) == 0);
    port = ntohs(address.sin_port);
  }
  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port); }

  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port = 0;
};

TEST_CASE("a NATS server that is killed: every call reports it, and a new connection continues") {
  LAPWING_NEED_NATS_SERVER();
  NatsServer server;
  auto out = connected(server);
  auto in = connected(server);
  open_stream(*out);
  for (std::uint64_t i = 0; i < 100; ++i) store(*out, std::to_string(i + 1), i);
  listen(*in, {RelaySubject::kLive});
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK(take(*in).stream_sequence == 1);
  // The rest is in the inbox, or on its way to it.
  REQUIRE(is_readable(in->fd(), 60'000));
  server.kill();
  std::uint64_t last = 1;
  for (;;) {
    const auto taken = in->take(kHang);
    if (!taken.ok()) break;
    REQUIRE(taken->has_value());
    if ((*taken)->kind == RelayArrivalKind::kStored) {
      CHECK((*taken)->stream_sequence == last + 1);
      last = (*taken)->stream_sequence;
    }
  }
  check_lost(*in, server.url());
  check_lost(*out, server.url());
  const absl::Status gone = refusal(options_for(server));
  CHECK(errc_of(gone) == Errc::kPeerGone);
  CHECK(mentions(gone, server.url()));

  server.start();
  in = connected(server);
  out = connected(server);
  open_stream(*out);
  REQUIRE(in->read_from(last + 1, kHang).ok());
  for (std::uint64_t i = last + 1; i <= 100; ++i) {
    const Arrived arrived = take(*in);
    CHECK(arrived.stream_sequence == i);
    CHECK(arrived.text == std::to_string(i));
  }
  const auto tail = out->tail(kHang);
  REQUIRE(tail.ok());
  CHECK(tail->last == 100);
  store(*out, "101", 100);
  CHECK(take(*in).text == "101");
}

TEST_CASE("a NATS server that is restarted again and again: each message is read once, in order") {
  LAPWING_NEED_NATS_SERVER();
  NatsServer server;
  std::uint64_t stored = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 4; ++round) {
    const auto out = connected(server);
    const auto in = connected(server);
    open_stream(*out);
    REQUIRE(in->read_from(read + 1, kHang).ok());
    for (int i = 0; i < 25; ++i, ++stored) store(*out, std::to_string(stored + 1), stored);
    // Some are left for the next round.
    const std::uint64_t until = stored - (round == 3 ? 0 : 5);
    while (read < until) {
      const Arrived arrived = take(*in);
      REQUIRE(arrived.stream_sequence == ++read);
      REQUIRE(arrived.text == std::to_string(read));
    }
    if (round % 2 == 0) {
      server.kill();
    } else {
      server.stop();
    }
    server.start();
  }
  CHECK(read == 100);
}

TEST_CASE("a NATS server in lame duck mode is left at once") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server("lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"20s\"");
  const auto transport = connected(server);
  listen(*transport, {RelaySubject::kLive});
  server.send(SIGUSR2);
  check_lost(*transport, "is shutting down");  // else the server closes it after 20 s
}

TEST_CASE("a NATS server that is stopped is noticed, and does not block the destructor") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  auto transport = connected(server);
  auto other = connected(server);
  server.pause();
  other.reset();
  check_lost(*transport, "is silent since");
  transport.reset();
}

TEST_CASE("a NATS server that stops reading: a send fails and the connection is lost") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto transport = connected(server);
  server.pause();
  const std::string large(200'000, 'x');
  const Deadline hang = kHang;
  absl::Status status;
  while (status.ok() && !hang.has_passed()) {
    status = transport->send(RelaySubject::kLive, message(large));
  }
  INFO(status.ToString());
  CHECK(errc_of(status) == Errc::kPeerGone);
}

TEST_CASE(
    "a stream that is deleted while it is read: the reading ends, appends end with no-stream") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  open_stream(*out);
  store(*out, "1", 0);
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK(take(*in).text == "1");
  const std::string deleted =
      NatsClient(server).request("$JS.API.STREAM.DELETE." + test_names().stream);
  INFO(deleted);
  const Arrived arrived = take(*in);
  CHECK(arrived.kind == RelayArrivalKind::kReadEnded);
  INFO(arrived.text);
  CHECK_FALSE(arrived.text.empty());
  CHECK(errc_of(in->read_from(2, kHang)) == Errc::kNotFound);
  REQUIRE(out->append(message("2"), 1).ok());
  CHECK(take_ack(*out).result == RelayAckResult::kNoStream);
  // Made again, it begins at 1.
  open_stream(*out);
  store(*out, "again", 0);
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK(take(*in).text == "again");
}

TEST_CASE("a NATS server that is restarted without its files: the stream is made anew") {
  LAPWING_NEED_NATS_SERVER();
  NatsServer server;
  {
    const auto out = connected(server);
    open_stream(*out);
    for (std::uint64_t i = 0; i < 5; ++i) store(*out, "old", i);
  }
  server.kill();
  std::filesystem::remove_all(server.store());
  server.start();
  const auto out = connected(server);
  const auto in = connected(server);
  CHECK(errc_of(out->tail(kHang).status()) == Errc::kNotFound);
  CHECK(errc_of(in->read_from(6, kHang)) == Errc::kNotFound);
  REQUIRE(out->append(message("x"), 5).ok());
  CHECK(take_ack(*out).result == RelayAckResult::kNoStream);
  open_stream(*out);
  REQUIRE(out->append(message("x"), 5).ok());
  CHECK(take_ack(*out).result == RelayAckResult::kWrongLast);
  REQUIRE(in->read_from(6, kHang).ok());
  store(*out, "new", 0);
  const Arrived arrived = take(*in);
  CHECK(arrived.stream_sequence == 1);
  CHECK(arrived.text == "new");
}

TEST_CASE("a stream's messages cannot be purged or deleted one by one") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  store(*out, "1", 0);
  const std::string stream = test_names().stream;
  CHECK(NatsClient(server).request("$JS.API.STREAM.PURGE." + stream).find("not permitted") !=
        std::string::npos);
  CHECK(NatsClient(server)
            .request("$JS.API.STREAM.MSG.DELETE." + stream, R"({"seq":1})")
            .find("not permitted") != std::string::npos);
  CHECK(out->tail(kHang)->last == 1);
}

TEST_CASE("a consumer that is deleted: the reading ends, and a new one continues") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  open_stream(*out);
  store(*out, "1", 0);
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK(take(*in).text == "1");
  const std::string stream = test_names().stream;
  const std::string names = NatsClient(server).request("$JS.API.CONSUMER.NAMES." + stream);
  const std::string key = "\"consumers\":[\"";
  const std::size_t begin = names.find(key) + key.size();
  const std::string consumer = names.substr(begin, names.find('"', begin) - begin);
  NatsClient(server).request("$JS.API.CONSUMER.DELETE." + stream + "." + consumer);
  const Arrived arrived = take(*in);
  INFO(arrived.text);
  CHECK(arrived.kind == RelayArrivalKind::kReadEnded);
  REQUIRE(in->read_from(2, kHang).ok());
  store(*out, "2", 1);
  CHECK(take(*in).text == "2");
}

TEST_CASE("a reading that is stopped leaves no consumer behind") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  for (int i = 0; i < 3; ++i) REQUIRE(out->read_from(1, kHang).ok());
  const std::string request = "$JS.API.CONSUMER.NAMES." + test_names().stream;
  REQUIRE(out->tail(kHang).ok());  // the deletions are in front of it
  CHECK(NatsClient(server).request(request).find("\"total\":1,") != std::string::npos);
  out->stop_reading();
  REQUIRE(out->tail(kHang).ok());
  CHECK(NatsClient(server).request(request).find("\"total\":0,") != std::string::npos);
}

TEST_CASE("connecting without a NATS server: each cause has its error") {
  NatsOptions options;
  for (const char* const wrong :
       {"", "127.0.0.1:4222", "http://127.0.0.1:4222", "nats://", "nats://:4222",
        "nats://127.0.0.1:0", "nats://127.0.0.1:65536", "nats://127.0.0.1:x"}) {
    options.urls = wrong;
    const absl::Status status = refusal(options);
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    CHECK(mentions(status, "nats://HOST:PORT"));
  }
  options.urls = "nats://:secret@:4222";
  CHECK_FALSE(mentions(refusal(options), "secret"));

  std::string free_url;
  {
    const SilentListener listener;
    free_url = listener.url();
    options.urls = listener.url();
    const absl::Status silent = refusal(options, std::chrono::milliseconds(300));
    CHECK(errc_of(silent) == Errc::kTimedOut);
    CHECK(mentions(silent, listener.url()));
    std::thread other_protocol([&] {
      // The first connection is the one above.
      const UniqueFd first(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const UniqueFd second(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const std::string greeting = "SSH-2.0-OpenSSH_9.2\r\n";
      if (::write(second.get(), greeting.data(), greeting.size()) < 0) return;
      char byte;
      while (::read(second.get(), &byte, 1) > 0) continue;
    });
    const absl::Status other = refusal(options);
    other_protocol.join();
    CHECK(errc_of(other) == Errc::kProtocol);
  }
  options.urls = free_url;
  const absl::Status nobody = refusal(options);
  CHECK(errc_of(nobody) == Errc::kPeerGone);
  CHECK(mentions(nobody, free_url));
  options.urls = "nats://no-such-host.example:4222";
  CHECK(errc_of(refusal(options)) == Errc::kPeerGone);
}

TEST_CASE("connecting to NATS: one of several servers is enough") {
  LAPWING_NEED_NATS_SERVER();
  std::string free_url;
  {
    const SilentListener listener;
    free_url = listener.url();
  }
  const NatsServer server;
  NatsOptions options = options_for(server);
  options.urls = free_url + "," + server.url();
  for (int i = 0; i < 5; ++i) open_stream(*connected(options));
}

TEST_CASE("connections to NATS come and go without leaving a descriptor") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  connected(server).reset();
  const std::set<int> before = descriptor_numbers();
  const std::string inherited = descriptors_of_program();
  for (int i = 0; i < 5; ++i) {
    const auto transport = connected(server);
    CHECK(transport->send(RelaySubject::kLive, message("x")).ok());
    CHECK(descriptors_of_program() == inherited);
  }
  CHECK(descriptor_numbers() == before);
}

}  // namespace
}  // namespace lapwing

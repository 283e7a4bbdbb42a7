#include <catch2/catch.hpp>
#include <thread>

#include "lapwing/error.h"
#include "relay/out/relay_out.h"
#include "testing/publisher_fixture.h"
#include "testing/relay_out_fixture.h"

namespace lapwing {

TEST_CASE("A running relay sends, answers asks in its own thread, and ends on stop") {
  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.sync_interval = kOnRequest;
  const ClosingPublisher publisher = open_publisher(options);
  RelayNetwork network(1);
  RelayOutOptions out;
  out.directory = options.directory;
  auto relay = RelayOut::open(out, [&] { return network.connect("origin"); });
  REQUIRE(relay.ok());
  CHECK((*relay)->name() == "bus");
  absl::Status ended;
  std::thread thread([&] { ended = (*relay)->run(); });
  Listener listener(network, {RelaySubject::kLog, RelaySubject::kLive});
  for (Sequence n = 1; n <= 100; ++n) REQUIRE(publisher->publish(record_of(n)).ok());
  const Deadline hang = kHang;
  while (listener.newest() < 100 && !hang.has_passed()) network.advance(10'000);
  CHECK(listener.newest() == 100);
  // Nothing is durable until a mirror asks for it.
  RelayBuffer buffer;
  RelayOrigin origin;
  origin.journal_id = listener.messages.back()->header().journal_id;
  RelayAsk ask{};
  ask.request = RelayRequest::kFlush;
  ask.last = 100;
  const MadeMessage message = make_ask_message(origin, ask, buffer);
  REQUIRE(message.ok());
  REQUIRE(listener.transport().ask(*message).ok());
  const auto answer = [&]() -> const Relayed* {
    for (const auto& each : listener.take()) {
      if (each->is(RelayKind::kAnswer)) return each.get();
    }
    return nullptr;
  };
  while (answer() == nullptr && !hang.has_passed()) network.advance(10'000);
  REQUIRE(answer() != nullptr);
  CHECK(answer()->parsed.answer().outcome == RelayOutcome::kOk);
  CHECK(answer()->header().durable >= 100);
  (*relay)->stop();
  thread.join();
  CHECK(ended.ok());
  CHECK((*relay)->counts().records == 100);
  CHECK((*relay)->counts().asks == 1);
}

TEST_CASE("A relay of a name that is too long is refused") {
  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const PublisherSetUp options = options_for(directory);
  const ClosingPublisher publisher = open_publisher(options);
  RelayOutOptions out;
  out.directory = options.directory;
  out.name = std::string(64, 'x');
  const auto relay = RelayOut::open(out, [] { return make_error(Errc::kPeerGone, "none"); });
  CHECK(errc_of(relay.status()) == Errc::kInvalidArgument);
}

}  // namespace lapwing

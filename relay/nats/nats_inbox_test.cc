#include "relay/nats/nats_inbox.h"

#include <catch2/catch.hpp>
#include <string>

#include "testing/is_readable.h"
#include "testing/relay_fixture.h"

namespace lapwing {
namespace {

NatsMessage make_message(std::size_t bytes) {
  REQUIRE(nats_Open(-1) == NATS_OK);  // messages are freed by a thread of libnats
  const std::string text(bytes, 'x');
  natsMsg* made = nullptr;
  REQUIRE(natsMsg_Create(&made, "s", nullptr, text.data(), static_cast<int>(bytes)) == NATS_OK);
  return NatsMessage(made);
}

bool add(NatsInbox& inbox, std::size_t bytes) {
  return inbox.add({.kind = RelayArrivalKind::kPublished, .message = make_message(bytes)});
}

TEST_CASE("an inbox holds its limit, drops what is beyond it, and has room again") {
  const auto inbox = NatsInbox::make().value();
  constexpr std::size_t kBytes = 1 << 20;
  std::size_t held = 0;
  while (add(*inbox, kBytes)) ++held;
  CHECK(held == 63);  // each takes a little more than its body
  CHECK(inbox->dropped() == 1);
  CHECK_FALSE(add(*inbox, kBytes));
  CHECK(inbox->dropped() == 2);
  CHECK(add(*inbox, 1000));
  for (std::size_t i = 0; i < held; ++i) CHECK(inbox->take()->message.size() == kBytes);
  CHECK(inbox->take()->message.size() == 1000);
  CHECK_FALSE(inbox->take());
  for (std::size_t i = 0; i < held; ++i) CHECK(add(*inbox, kBytes));
  CHECK(inbox->dropped() == 2);
}

TEST_CASE("a full inbox takes acks and the end of a reading") {
  const auto inbox = NatsInbox::make().value();
  while (add(*inbox, 1 << 20)) continue;
  CHECK(inbox->add({.kind = RelayArrivalKind::kReadEnded, .text = "why"}));
  inbox->add_ack({7, make_message(10)});
  CHECK(inbox->take_ack()->append == 7);
  CHECK_FALSE(inbox->take_ack());
  std::optional<NatsArrival> last;
  while (auto arrival = inbox->take()) last = std::move(arrival);
  REQUIRE(last);
  CHECK(last->kind == RelayArrivalKind::kReadEnded);
  CHECK(last->text == "why");
}

TEST_CASE("an inbox is readable while it holds something, and for good once it has ended") {
  const auto inbox = NatsInbox::make().value();
  CHECK_FALSE(is_readable(inbox->fd()));
  add(*inbox, 1);
  inbox->add_ack({1, make_message(1)});
  CHECK(is_readable(inbox->fd()));
  CHECK(inbox->take());
  CHECK(is_readable(inbox->fd()));
  CHECK(inbox->take_ack());
  CHECK_FALSE(is_readable(inbox->fd()));
  CHECK_FALSE(inbox->take());
  inbox->end();
  CHECK(is_readable(inbox->fd()));
  add(*inbox, 1);
  CHECK(inbox->take());
  CHECK(is_readable(inbox->fd()));
}

}  // namespace
}  // namespace lapwing

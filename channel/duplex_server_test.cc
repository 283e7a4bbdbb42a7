// Tests a server with many clients: turns, room, sleep, and how clients connect and leave.
#include "lapwing/duplex_server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/handshake.h"
#include "lapwing/detail/channel_layout.h"
#include "os/ready_loop.h"
#include "testing/channel_fixture.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/is_readable.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

using Kind = ServerEvent::Kind;

constexpr std::size_t kLarge = 400;  // two of them fill a channel
const ChannelOptions kSmallDuplex{
    .capacity = 1024, .message_bytes_max = kLarge, .wait = WaitStrategy::kPark};

struct Served {
  ClientId id;
  Duplex duplex;
};

struct Here {
  explicit Here(DuplexServerOptions options = {.channel = kSmallDuplex}) {
    auto opened = DuplexServer::open(path, options);
    INFO(opened.status());
    REQUIRE(opened.ok());
    server.emplace(*std::move(opened));
  }

  std::future<absl::StatusOr<Duplex>> connecting(const ChannelOptions& options = kSmallDuplex) {
    return std::async(std::launch::async,
                      [=, this] { return Duplex::connect(path, options, soon()); });
  }
  // Returns the next event, which must be of this kind.
  Result<ServerEvent> event(Kind kind) {
    const Result<ServerEvent> event = server->wait(soon());
    INFO(server->status());
    REQUIRE(event.ok());
    REQUIRE(event->kind == kind);
    return event;
  }
  Served connected(const ChannelOptions& options = kSmallDuplex) {
    auto client = connecting(options);
    const ClientId id = event(Kind::kConnected)->client;
    auto duplex = client.get();
    REQUIRE(duplex.ok());
    return {id, *std::move(duplex)};
  }
  void check_nothing() { CHECK(server->try_wait().error() == Errc::kWouldBlock); }

  TemporaryDirectory directory;
  std::string path = directory.file("server.sock");
  std::optional<DuplexServer> server;
};

// A client that reads nothing, and sends what a test specifies.
struct HandMadeClient {
  explicit HandMadeClient(Here& here) {
    auto connecting = std::async(std::launch::async, [&] {
      return RawEnd<ChannelRole::kDuplex>::connect(here.path, kSmallDuplex, soon());
    });
    id = here.event(Kind::kConnected)->client;
    auto connected = connecting.get();
    REQUIRE(connected.ok());
    side = std::move(connected->side);
    writer = FrameWriter(side->own().data(), side->own().header(), side->own().words(),
                         side->peer().words());
  }

  void send(CallId call, CallKind kind, std::uint32_t type) {
    REQUIRE(writer.claim(0) == FrameWriter::Room::kYes);
    const CallHead head{call, kind, 0};
    std::memcpy(writer.call_head(), &head, sizeof head);
    writer.commit(0, type);
    side->wake_peer();
  }

  ClientId id = 0;
  std::unique_ptr<ChannelSide> side;
  FrameWriter writer;
};

// Fills the direction from the server to a client with one-way messages.
void fill(DuplexServer& server, ClientId client) {
  const std::vector<std::byte> large(kLarge);
  Result<> sent;
  for (int i = 0; i < 3 && sent.ok(); ++i) sent = server.try_send(client, large, 9);
  REQUIRE(sent == Errc::kWouldBlock);
}

TEST_CASE("Each call and message belongs to the client that sent it") {
  Here here;
  Served a = here.connected();
  Served b = here.connected();
  CHECK(a.id != b.id);
  CHECK(here.server->clients() == 2);
  const CallId asked_a = *a.duplex.start(bytes_of("a?"), 1);
  const CallId asked_b = *b.duplex.start(bytes_of("b?"), 2);
  REQUIRE(b.duplex.try_send(bytes_of("b!"), 3) == Errc::kOk);
  std::map<ClientId, std::vector<std::string>> got;
  for (int i = 0; i < 3; ++i) {
    const Result<ServerEvent> event = here.event(Kind::kMessage);
    got[event->client].push_back(text_of(event->message.payload));
    if (event->message.is_call()) {
      CHECK(here.server->try_reply(event->client, event->message.call, event->message.payload,
                                   event->message.type + 10) == Errc::kOk);
    }
  }
  CHECK(got[a.id] == std::vector<std::string>{"a?"});
  CHECK(got[b.id] == std::vector<std::string>{"b?", "b!"});
  Result<Reply> reply = a.duplex.finish(asked_a);
  CHECK(reply->type == 11);
  CHECK(text_of(reply->payload) == "a?");
  reply = b.duplex.finish(asked_b);
  CHECK(reply->type == 12);
  here.check_nothing();
}

struct Order {
  std::uint64_t number;
};
enum class Type : std::uint32_t { kNew = 1, kDone = 2 };

TEST_CASE("A server takes and gives plain structs and types of an enumeration") {
  Here here;
  Served client = here.connected();
  const CallId call = *client.duplex.start(Order{7}, Type::kNew);
  const Result<ServerEvent> event = here.event(Kind::kMessage);
  REQUIRE(event->message.is(Type::kNew));
  REQUIRE(event->message.as<Order>());
  CHECK(event->message.as<Order>()->number == 7);
  CHECK(here.server->try_reply(client.id, event->message.call, Order{8}, Type::kDone) == Errc::kOk);
  CHECK(here.server->try_send(client.id, Order{9}, Type::kDone) == Errc::kOk);
  CHECK(client.duplex.finish(call)->as<Order>()->number == 8);
  CHECK(client.duplex.next(soon())->as<Order>()->number == 9);
}

TEST_CASE("Clients take turns, with a limited number of events each") {
  constexpr std::uint32_t kTurn = 3;
  constexpr std::uint32_t kEach = 4 * kTurn;
  Here here({.turn_events_max = kTurn});
  std::vector<Served> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(here.connected({}));
  for (Served& client : clients) REQUIRE(client.duplex.try_send({}, 0) == Errc::kOk);
  for (std::size_t i = 0; i < clients.size(); ++i)
    (void)here.event(Kind::kMessage);  // all are awake
  for (Served& client : clients) {
    for (std::uint32_t n = 0; n < kEach; ++n) {
      REQUIRE(client.duplex.try_send({}, n) == Errc::kOk);
    }
  }
  std::map<ClientId, std::uint32_t> served;
  std::uint32_t in_turn = 0;
  ClientId last = 0;
  for (std::size_t i = 0; i < clients.size() * kEach; ++i) {
    const Result<ServerEvent> event = here.event(Kind::kMessage);
    CHECK(event->message.type == served[event->client]++);
    in_turn = event->client == last ? in_turn + 1 : 1;
    last = event->client;
    CHECK(in_turn <= kTurn);
    const auto [least, most] = std::minmax_element(
        served.begin(), served.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; });
    if (i >= 2 * clients.size() * kTurn) CHECK(most->second - least->second <= 2 * kTurn);
  }
  for (const Served& client : clients) CHECK(served[client.id] == kEach);
}

TEST_CASE("A client that wakes has its turn soon, although another one keeps sending") {
  Here here;
  Served busy = here.connected();
  Served wakes = here.connected();
  REQUIRE(here.server->arm());
  REQUIRE(busy.duplex.try_send({}, 1) == Errc::kOk);
  REQUIRE(here.event(Kind::kMessage)->client == busy.id);  // the other client is still asleep
  REQUIRE(wakes.duplex.try_send({}, 1) == Errc::kOk);
  std::uint32_t before = 0;
  for (ClientId served = busy.id; served == busy.id && before < 1000; ++before) {
    REQUIRE(busy.duplex.try_send({}, 1) == Errc::kOk);
    served = here.event(Kind::kMessage)->client;
  }
  CHECK(before <= kChecksPerRound + 16);  // a poll, and a turn
}

TEST_CASE("A new client is served, although another one keeps sending") {
  Here here;
  Served busy = here.connected();
  auto coming = here.connecting();
  int messages = 0;
  ClientId came = 0;
  for (const Deadline hangs = soon(); came == 0 && !hangs.has_passed();) {
    (void)busy.duplex.try_send({}, 1);
    const Result<ServerEvent> event = here.server->wait(soon());
    REQUIRE(event.ok());
    messages += event->kind == Kind::kMessage ? 1 : 0;
    if (event->kind == Kind::kConnected) came = event->client;
  }
  CHECK(came != 0);
  CHECK(messages > 0);
  CHECK(coming.get().ok());
}

TEST_CASE("A client that takes nothing does not delay others, and kRoom comes when it continues") {
  Here here;
  Served stalls = here.connected();
  Served lives = here.connected();
  const CallId asked = *stalls.duplex.start(bytes_of("x"), 1);
  const CallId call = here.event(Kind::kMessage)->message.call;
  REQUIRE(call == asked);
  fill(*here.server, stalls.id);
  const std::vector<std::byte> large(kLarge);
  CHECK(here.server->try_reply(stalls.id, call, large, 2) == Errc::kWouldBlock);
  for (int i = 0; i < 100; ++i) {
    const CallId other = *lives.duplex.start({}, 1);
    const Result<ServerEvent> event = here.event(Kind::kMessage);
    REQUIRE(event->client == lives.id);
    REQUIRE(here.server->try_reply(lives.id, other, {}, 2) == Errc::kOk);
    REQUIRE(lives.duplex.finish(other).error() == Errc::kOk);
  }
  here.check_nothing();
  const Result<ServerEvent> room =
      while_it_waits([&] { return here.server->wait(soon()); },
                     [&] { CHECK(stalls.duplex.try_next().error() == Errc::kOk); });
  CHECK(room->kind == Kind::kRoom);
  CHECK(room->client == stalls.id);
  CHECK(here.server->try_reply(stalls.id, call, large, 2) == Errc::kOk);
  CHECK(stalls.duplex.finish(asked)->type == 2);
  here.check_nothing();
}

TEST_CASE("kRoom comes when a client has taken a one-way message, and once") {
  ChannelOptions options = kSmallDuplex;
  options.call_window = 1;
  Here here({.channel = kSmallDuplex});
  Served client = here.connected(options);
  REQUIRE(here.server->try_send(client.id, {}, 1) == Errc::kOk);
  CHECK(here.server->try_send(client.id, {}, 2) == Errc::kWouldBlock);
  here.check_nothing();
  const Result<ServerEvent> room =
      while_it_waits([&] { return here.server->wait(soon()); },
                     [&] { CHECK(client.duplex.try_next()->type == 1); });
  CHECK(room->kind == Kind::kRoom);
  here.check_nothing();
  CHECK(here.server->try_send(client.id, {}, 2) == Errc::kOk);
  CHECK(here.server->duplex_counters(client.id).one_ways_sent == 2);
}

TEST_CASE("Room for a small message does not wake a large reply that waits for more") {
  ChannelOptions options = kSmallDuplex;
  options.call_window = 1;
  Here here;
  Served client = here.connected(options);
  const std::vector<std::byte> large(kLarge);
  CallId calls[2];
  for (CallId& call : calls) {
    REQUIRE(client.duplex.try_start({}, 1).error() == Errc::kOk);
    call = here.event(Kind::kMessage)->message.call;
  }
  REQUIRE(here.server->try_send(client.id, large, 1) == Errc::kOk);  // the only untaken one
  REQUIRE(here.server->try_reply(client.id, calls[0], large, 2) == Errc::kOk);
  CHECK(here.server->try_reply(client.id, calls[1], large, 3) == Errc::kWouldBlock);
  CHECK(here.server->try_send(client.id, {}, 4) == Errc::kWouldBlock);  // no credit
  here.check_nothing();
  REQUIRE(client.duplex.finish(calls[0])->type == 2);  // receives both, and so makes room
  CHECK(here.event(Kind::kRoom)->client == client.id);
  CHECK(here.server->try_reply(client.id, calls[1], large, 3) == Errc::kOk);
  CHECK(here.server->try_send(client.id, {}, 4) == Errc::kWouldBlock);
  REQUIRE(client.duplex.try_next()->type == 1);
  CHECK(here.event(Kind::kRoom)->client == client.id);
  CHECK(here.server->try_send(client.id, {}, 4) == Errc::kOk);
}

TEST_CASE("A server whose clients have all left while asleep sleeps") {
  Here here;
  std::optional<Served> client(here.connected());
  REQUIRE(here.server->arm());
  CHECK(here.server->drop(client->id) == Errc::kOk);
  // Longer than the dropped client would have slept. The server sleeps twice, so it does not spin
  // after that time.
  const std::uint64_t before = sleeps_of(gettid());
  CHECK(here.server->wait(std::chrono::nanoseconds(2 * kChannelSleepNsMax)).error() ==
        Errc::kTimedOut);
  CHECK(sleeps_of(gettid()) >= before + 2);
}

TEST_CASE("kRoom comes in addition to the reply when a client has answered a call") {
  ChannelOptions options = kSmallDuplex;
  options.call_window = 1;
  Here here({.channel = kSmallDuplex});
  Served client = here.connected(options);
  const CallId call = *here.server->try_start(client.id, bytes_of("first"), 1);
  REQUIRE(call != 0);
  CHECK(here.server->try_start(client.id, bytes_of("second"), 1).error() == Errc::kWouldBlock);
  here.check_nothing();
  REQUIRE(client.duplex.reply(client.duplex.next(soon())->call, bytes_of("one"), 2) == Errc::kOk);
  const Result<ServerEvent> reply = here.event(Kind::kReply);
  CHECK(reply->client == client.id);
  CHECK(reply->reply->call == call);
  CHECK(text_of(reply->reply->payload) == "one");
  CHECK(here.event(Kind::kRoom)->client == client.id);
  CHECK(here.server->try_start(client.id, bytes_of("second"), 1).error() == Errc::kOk);
}

TEST_CASE("An operation that takes a wake-up of a client asleep does not leave it asleep") {
  Here here;
  HandMadeClient client(here);
  const CallId asked = call_number(1, kSmallDuplex.call_window, 0);
  client.send(asked, CallKind::kCall, 1);
  REQUIRE(here.event(Kind::kMessage)->message.call == asked);
  fill(*here.server, client.id);
  REQUIRE(here.server->arm());
  client.send(0, CallKind::kOneWay, 7);
  wait_readable(-1, 2 * kPeerLookNs);
  // There is no room, so it processes what has arrived, including the wake-up.
  REQUIRE(here.server->try_reply(client.id, asked, std::vector<std::byte>(kLarge), 2) ==
          Errc::kWouldBlock);
  CHECK(here.server->try_wait()->message.type == 7);
}

TEST_CASE("A call of a client ends at its deadline, even while all are asleep") {
  Here here;
  Served client = here.connected();
  const CallId call =
      *here.server->try_start(client.id, bytes_of("x"), 1, std::chrono::milliseconds(20));
  REQUIRE(client.duplex.next(soon())->call == call);
  // The call ends the sleep before it reaches its maximum length.
  const Result<ServerEvent> event =
      here.server->wait(std::chrono::nanoseconds(kChannelSleepNsMax / 2));
  REQUIRE(event->kind == Kind::kReply);
  CHECK(event->reply->call == call);
  CHECK(event->reply.error() == Errc::kTimedOut);
  CHECK(event->reply->delivery == Delivery::kTaken);
}

TEST_CASE("The server can cancel a call, and detects that a client has cancelled one") {
  Here here;
  Served client = here.connected();
  const CallId call = *here.server->try_start(client.id, bytes_of("x"), 1);
  CHECK(here.server->cancel(client.id, call) == Errc::kOk);
  CHECK(here.server->cancel(client.id, call) == Errc::kMisuse);
  REQUIRE(client.duplex.next(soon())->call == call);
  CHECK(client.duplex.is_cancelled(call));
  const CallId its = *client.duplex.start(bytes_of("x"), 1);
  REQUIRE(here.event(Kind::kMessage)->message.call == its);
  CHECK_FALSE(here.server->is_cancelled(client.id, its));
  REQUIRE(client.duplex.cancel(its) == Errc::kOk);
  CHECK(here.server->is_cancelled(client.id, its));
  CHECK(here.server->try_reply_error(client.id, its, 33, "too late") == Errc::kOk);
}

TEST_CASE("Messages of a client that left are delivered, then its calls end, then it is gone") {
  Here here;
  Served client = here.connected();
  const CallId pending = *here.server->try_start(client.id, bytes_of("x"), 1);
  REQUIRE(here.server->try_send(client.id, {}, 2) == Errc::kOk);
  REQUIRE(client.duplex.next(soon())->call == pending);
  REQUIRE(client.duplex.try_send({}, 7) == Errc::kOk);
  client.duplex.close();
  CHECK(here.event(Kind::kMessage)->message.type == 7);
  const Result<ServerEvent> reply = here.event(Kind::kReply);
  CHECK(reply->reply->call == pending);
  CHECK(reply->reply.error() == Errc::kClosed);
  CHECK(reply->reply->delivery == Delivery::kTaken);
  const Result<ServerEvent> gone = here.event(Kind::kGone);
  CHECK(gone->client == client.id);
  CHECK(gone->why == Errc::kClosed);
  CHECK(errc_of(here.server->status()) == Errc::kClosed);
  CHECK(here.server->clients() == 0);
  CHECK(here.server->duplex_counters(client.id).one_ways_sent == 1);  // valid until the next wait
  CHECK(here.server->duplex_counters(client.id).one_ways_taken == 0);
  CHECK(here.server->try_send(client.id, {}, 2) == Errc::kClosed);
  here.check_nothing();
  CHECK(here.server->duplex_counters(client.id).one_ways_sent == 0);
  CHECK(here.server->try_send(client.id, {}, 2) == Errc::kNotFound);
  CHECK(here.connected().id != client.id);
}

TEST_CASE("A client that is killed is gone, whether the server waits or not") {
  Here here;
  const bool sleeps = GENERATE(true, false);
  ChildProcess child([&] {
    const auto client = Duplex::connect(here.path, kSmallDuplex, soon());
    while (client.ok()) pause();
    return 1;
  });
  const ClientId id = here.event(Kind::kConnected)->client;
  CHECK(here.server->peer(id).find(std::to_string(child.pid())) != std::string::npos);
  if (!sleeps) {
    child.send(SIGKILL);
    REQUIRE(child.wait() == -SIGKILL);
  }
  const Result<ServerEvent> gone =
      sleeps
          ? while_it_waits([&] { return here.server->wait(soon()); }, [&] { child.send(SIGKILL); })
          : here.server->wait(soon());
  CHECK(gone->kind == Kind::kGone);
  CHECK(gone->client == id);
  CHECK(gone->why == Errc::kPeerGone);
  CHECK_FALSE(here.server->peer(id).empty());  // valid until the next wait
}

TEST_CASE("A dropped client gets closed, and produces no more events") {
  Here here;
  Served dropped = here.connected();
  Served stays = here.connected();
  REQUIRE(dropped.duplex.try_send({}, 1) == Errc::kOk);
  const bool was_asleep = GENERATE(true, false);
  if (was_asleep) {
    REQUIRE(here.event(Kind::kMessage)->message.type == 1);
    REQUIRE(here.server->wait(std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
  }
  CHECK(here.server->drop(dropped.id) == Errc::kOk);
  CHECK(here.server->drop(dropped.id) == Errc::kNotFound);
  CHECK(errc_of(here.server->status()) == Errc::kNotFound);
  CHECK(dropped.duplex.next(soon()).error() == Errc::kClosed);
  here.check_nothing();
  CHECK(here.server->clients() == 1);
  REQUIRE(stays.duplex.try_send({}, 2) == Errc::kOk);
  CHECK(here.event(Kind::kMessage)->client == stays.id);
}

TEST_CASE("A client beyond the limit waits in its connect until another one has left") {
  Here here({.channel = kSmallDuplex, .clients_max = 2});
  std::optional<Served> first(here.connected());
  Served second = here.connected();
  auto third = here.connecting();
  CHECK(here.server->wait(std::chrono::milliseconds(50)).error() == Errc::kTimedOut);
  CHECK(third.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  const bool drops = GENERATE(true, false);
  if (drops) {
    CHECK(here.server->drop(first->id) == Errc::kOk);
  } else {
    first.reset();
    (void)here.event(Kind::kGone);
  }
  const ClientId id = here.event(Kind::kConnected)->client;
  CHECK(id != second.id);
  CHECK(third.get().ok());
  CHECK(here.server->clients() == 2);
}

TEST_CASE("A client that writes invalid data is dropped, and the others stay") {
  Here here;
  Served stays = here.connected();
  HandMadeClient client(here);
  client.send(7, CallKind::kReply, 0);  // for a call that does not exist
  const Result<ServerEvent> gone = here.event(Kind::kGone);
  CHECK(gone->client == client.id);
  CHECK(gone->why == Errc::kCorrupt);
  CHECK(errc_of(here.server->status()) == Errc::kCorrupt);
  REQUIRE(stays.duplex.try_send({}, 2) == Errc::kOk);
  CHECK(here.event(Kind::kMessage)->client == stays.id);
  CHECK(here.connected().id != client.id);
}

TEST_CASE("Every kind of event ends the sleep of a server, however it waits") {
  const WaitStrategy strategy =
      GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  ChannelOptions options = kSmallDuplex;
  options.wait = strategy;
  options.membarrier = GENERATE(true, false);
  Here here({.channel = options});
  Served client = here.connected(options);
  const auto wait = [&](Deadline deadline) { return here.server->wait(deadline); };
  for (int i = 0; i < 3; ++i) {
    Result<> sent = Errc::kMisuse;
    const Result<ServerEvent> event =
        while_it_waits([&] { return wait(soon()); }, [&] { sent = client.duplex.try_send({}, 3); });
    CHECK(sent == Errc::kOk);
    CHECK(event->message.type == 3);
  }
  CHECK(while_it_waits([&] { return wait(soon()).error(); }, [&] { here.server->interrupt(); }) ==
        Errc::kInterrupted);
  here.server->interrupt();
  here.server->interrupt();
  CHECK(wait(Deadline::now()).error() == Errc::kWouldBlock);
  CHECK(wait(soon()).error() == Errc::kInterrupted);
  CHECK(wait(kPast).error() == Errc::kTimedOut);
  CHECK(wait(std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
  const Result<ServerEvent> gone =
      while_it_waits([&] { return wait(soon()); }, [&] { client.duplex.close(); });
  CHECK(gone->kind == Kind::kGone);
}

TEST_CASE("A client with nothing to say stays asleep while others keep the server busy") {
  Here here;
  Served idle = here.connected();
  Served busy = here.connected();
  constexpr std::uint64_t kMessages = 1000;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    // The server has slept, according to its strategy, before it takes the message.
    REQUIRE(here.server->wait(kPast).error() == Errc::kTimedOut);
    REQUIRE(here.server->arm());
    REQUIRE(busy.duplex.try_send({}, 3) == Errc::kOk);
    REQUIRE(here.event(Kind::kMessage)->client == busy.id);
  }
  CHECK(here.server->counters(busy.id).sleeps >= kMessages);
  // It is checked once a second in any case.
  CHECK(10 * here.server->counters(idle.id).sleeps < kMessages);
}

TEST_CASE("A call that overlaps a wait is misuse, and disturbs nothing") {
  Here here;
  Served client = here.connected();
  std::vector<Errc> overlapping;
  bool armed = true;
  const Result<ServerEvent> event =
      while_it_waits([&] { return here.server->wait(soon()); },
                     [&] {
                       DuplexServer& server = *here.server;
                       overlapping = {server.wait(soon()).error(),
                                      server.try_wait().error(),
                                      server.try_send(client.id, {}, 1).error(),
                                      server.try_reply(client.id, 1, {}, 1).error(),
                                      server.try_reply_error(client.id, 1, 1, "x").error(),
                                      server.try_start(client.id, {}, 1).error(),
                                      server.cancel(client.id, 1).error(),
                                      server.drop(client.id).error()};
                       armed = server.arm();
                       (void)client.duplex.try_send({}, 5);
                     });
  CHECK(overlapping == std::vector<Errc>(8, Errc::kMisuse));
  CHECK_FALSE(armed);
  CHECK(event->message.type == 5);
}

TEST_CASE("In an event loop the descriptor of a server is readable when there is something to do") {
  Here here;
  CHECK(here.server->arm());
  const int fd = here.server->fd();
  CHECK_FALSE(is_readable(fd));
  auto connecting = here.connecting();
  std::optional<ClientId> id;
  constexpr int kHangMs = 60'000;
  while (!id) {
    REQUIRE((!here.server->arm() || is_readable(fd, kHangMs)));
    const Result<ServerEvent> event = here.server->try_wait();
    if (event->kind == Kind::kConnected) id = event->client;
  }
  auto client = connecting.get();
  REQUIRE(client.ok());
  REQUIRE(here.server->arm());
  CHECK_FALSE(is_readable(fd));
  REQUIRE(client->try_send({}, 3) == Errc::kOk);
  CHECK(is_readable(fd));
  CHECK_FALSE(here.server->arm());
  CHECK(here.server->try_wait()->message.type == 3);
  REQUIRE(here.server->try_start(*id, {}, 1, std::chrono::milliseconds(20)).error() == Errc::kOk);
  REQUIRE((!here.server->arm() || is_readable(fd, kHangMs)));
  CHECK(here.server->try_wait()->reply.error() == Errc::kTimedOut);
  REQUIRE(here.server->arm());
  client->close();
  CHECK(is_readable(fd));
  CHECK(here.server->try_wait()->kind == Kind::kGone);
  REQUIRE(here.server->arm());
  here.server->interrupt();
  CHECK(is_readable(fd));
  CHECK(here.server->wait(soon()).error() == Errc::kInterrupted);
  REQUIRE(here.server->arm());
  CHECK_FALSE(is_readable(fd));
}

TEST_CASE("A successor takes the path, and the old server keeps its clients until they leave") {
  Here here({.channel = kSmallDuplex, .clients_max = 1});  // full: only tends the listener
  std::optional<Served> old(here.connected());
  auto taking =
      std::async(std::launch::async, [&] { return ChannelListener::take_over(here.path, soon()); });
  CHECK(here.event(Kind::kHandedOver)->client == 0);
  auto listener = taking.get();
  REQUIRE(listener.ok());
  auto successor = DuplexServer::open(*std::move(listener), {.channel = kSmallDuplex});
  REQUIRE(successor.ok());
  auto connecting = here.connecting();
  CHECK(successor->wait(soon())->kind == Kind::kConnected);
  auto client = connecting.get();
  REQUIRE(client.ok());
  REQUIRE(client->try_send({}, 2) == Errc::kOk);
  CHECK(successor->wait(soon())->message.type == 2);
  REQUIRE(old->duplex.try_send({}, 3) == Errc::kOk);
  CHECK(here.event(Kind::kMessage)->message.type == 3);
  old.reset();
  (void)here.event(Kind::kGone);
  CHECK(here.server->wait(soon()).error() == Errc::kClosed);
  CHECK(here.server->try_wait().error() == Errc::kClosed);
  here.server.reset();  // keeps the name
  auto another = here.connecting();
  CHECK(successor->wait(soon())->kind == Kind::kConnected);
  CHECK(another.get().ok());
}

TEST_CASE("A server that ends closes every client and removes its name") {
  Here here;
  Served client = here.connected();
  here.server.reset();
  CHECK(client.duplex.next(soon()).error() == Errc::kClosed);
  CHECK(errc_of(Duplex::connect(here.path, kSmallDuplex, soon()).status()) == Errc::kNoBus);
}

TEST_CASE("A server that moves keeps its clients") {
  Here here;
  Served client = here.connected();
  DuplexServer moved = *std::move(here.server);
  REQUIRE(client.duplex.try_send({}, 3) == Errc::kOk);
  CHECK(moved.wait(soon())->message.type == 3);
}

TEST_CASE("Options that would serve no client are refused, and leave no socket") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("server.sock");
  const auto refused = [&](const DuplexServerOptions& options, const std::string& words) {
    const absl::Status status = DuplexServer::open(path, options).status();
    INFO(status);
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    CHECK(status.message().find(words) != absl::string_view::npos);
  };
  refused({.clients_max = 0}, "clients_max is 0");
  refused({.clients_max = kServerClientsMax + 1}, "clients_max is 4097");
  refused({.turn_events_max = 0}, "turn_events_max");
  refused({.channel = {.capacity = 1000}}, "1000");
  refused({.channel = {.call_window = 0}}, "window");
  auto listener = ChannelListener::listen(path);
  REQUIRE(listener.ok());
  const absl::Status other_user =
      DuplexServer::open(*std::move(listener), {.channel = {.expected_peer_uid = 12345}}).status();
  CHECK(errc_of(other_user) == Errc::kInvalidArgument);
  CHECK(DuplexServer::open(path).ok());
}

TEST_CASE("Every call of a server returns forked in a child, and the parent's clients stay") {
  Here here;
  Served client = here.connected();
  ChildProcess child([&] {
    DuplexServer& server = *here.server;
    const auto is_forked = [](Errc code) { return code == Errc::kForked; };
    if (!is_forked(errc_of(server.status()))) return __LINE__;
    if (!is_forked(server.wait(soon()).error())) return __LINE__;
    if (!is_forked(server.try_send(client.id, {}, 1).error())) return __LINE__;
    if (!is_forked(server.try_reply(client.id, 1, {}, 1).error())) return __LINE__;
    if (!is_forked(server.try_reply_error(client.id, 1, 1, "x").error())) return __LINE__;
    if (!is_forked(server.try_start(client.id, {}, 1).error())) return __LINE__;
    if (!is_forked(server.cancel(client.id, 1).error())) return __LINE__;
    if (!is_forked(server.drop(client.id).error())) return __LINE__;
    if (server.is_cancelled(client.id, 1) || server.arm() || server.fd() != -1) return __LINE__;
    if (server.clients() != 0 || !server.peer(client.id).empty()) return __LINE__;
    if (server.counters(client.id).messages_sent != 0) return __LINE__;
    if (server.duplex_counters(client.id).one_ways_sent != 0) return __LINE__;
    server.interrupt();
    here.server.reset();
    return errc_of(ChannelListener::listen(here.path).status()) == Errc::kInUse ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  REQUIRE(client.duplex.try_send({}, 3) == Errc::kOk);
  CHECK(here.event(Kind::kMessage)->message.type == 3);
  here.check_nothing();
}

}  // namespace
}  // namespace lapwing

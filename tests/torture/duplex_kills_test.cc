// What a duplex, and a server with many clients, know after a kill.
//
// A program is killed at every instruction of taking a call: if it had received the call, the
// caller learns that it was taken. Many clients of one server, and the server itself, are killed at
// random, and clients are stopped. No call is lost or filled twice, and each side's account of the
// messages that the other side has taken is correct. A stopped client delays no other process.
//
// LAPWING_KILLS   number of kills, default 100; with fewer, some instructions are skipped
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"
#include "lapwing/listener.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/environment.h"
#include "testing/temporary_directory.h"
#include "tests/torture/stepped_child.h"

namespace lapwing {
namespace {

constexpr std::chrono::seconds kHang{60};
const ChannelOptions kSmall{
    .capacity = 1024, .message_bytes_max = 64, .wait = WaitStrategy::kPark, .retry = kHang};

std::uint64_t kills_wanted() {
  return std::max<std::uint64_t>(1, count_from("LAPWING_KILLS", 100));
}

struct Taking {
  std::atomic<bool> listens{false};
  std::atomic<bool> sent{false};
  std::atomic<bool> got{false};
};

// Takes the waiting call. `got` means that its next() has returned it.
int take_as_victim(SteppedChild::Marks& marks, const std::string& path, Taking& taking) {
  auto listener = ChannelListener::listen(path);
  if (!listener.ok()) return 1;
  taking.listens.store(true);
  auto duplex = Duplex::accept(*listener, kSmall, kHang);
  if (!duplex.ok()) return 2;
  while (!taking.sent.load()) sched_yield();
  marks.begin();
  if (duplex->try_next()->is_call()) taking.got.store(true);
  marks.end();
  return 0;
}

struct Outcome {
  bool over;  // it had ended before the kill
  bool got;
  Delivery delivery;
};

Outcome kill_taker(std::uint64_t steps) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("duplex.sock");
  const Shared<Taking> taking;
  SteppedChild victim(
      [&](SteppedChild::Marks& marks) { return take_as_victim(marks, path, *taking); });
  for (const Deadline hangs = kHang; !taking->listens.load() && !hangs.has_passed();) {
    sched_yield();
  }
  auto client = Duplex::connect(path, kSmall, kHang);
  INFO(client.status());
  REQUIRE(client.ok());
  const Result<CallId> started = client->try_start({}, 1);
  REQUIRE(started.ok());
  taking->sent.store(true);
  REQUIRE(victim.reaches_begin());
  Outcome outcome{};
  outcome.over = victim.step(SteppedChild::By::kInstruction, steps);
  victim.kill();
  const Result<Reply> reply = client->finish(*started);
  REQUIRE(reply.error() == Errc::kPeerGone);
  outcome.got = taking->got.load();
  outcome.delivery = reply->delivery;
  return outcome;
}

TEST_CASE("A call that a program had got, at whatever instruction it was killed, was taken") {
  const std::uint64_t stride = std::max<std::uint64_t>(1, 100 / kills_wanted());
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;  // but not received
  std::uint64_t got = 0;
  bool over = false;
  for (std::uint64_t steps = 0; !over; steps += stride) {
    INFO(steps << " instructions");
    const Outcome outcome = kill_taker(steps);
    over = outcome.over;
    got += outcome.got ? 1 : 0;
    if (outcome.got) CHECK(outcome.delivery == Delivery::kTaken);
    sent += outcome.delivery == Delivery::kSent ? 1 : 0;
    taken += outcome.delivery == Delivery::kTaken && !outcome.got ? 1 : 0;
  }
  std::printf(
      "killed at %llu instructions before the call was taken, %llu before the program "
      "had it, %llu after\n",
      static_cast<unsigned long long>(sent), static_cast<unsigned long long>(taken),
      static_cast<unsigned long long>(got));
  CHECK(sent > 0);
  CHECK(taken > 0);
  CHECK(got > 0);
}

constexpr std::size_t kClients = 6;
constexpr std::size_t kConnectionsKept = 64;  // per client, for which its notes are kept
constexpr std::size_t kUnderWay = 4;          // concurrent calls per client

enum class Kind : std::uint32_t { kHello = 1, kOrder = 2, kFilled = 3, kTick = 4 };
struct Hello {  // one-way, the first message of a connection
  std::uint64_t client;
  std::uint64_t connection;
};
struct Order {
  std::uint64_t number;   // of the client, from 1; repeated after a break
  std::uint64_t attempt;  // of the client, never repeated
};
struct Tick {            // one-way, to every client with room
  std::uint64_t number;  // of the connection, from 1
};

// Shared by the processes. Each word has one writer at a time.
struct ClientNotes {
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> attempts{0};
  std::atomic<std::uint64_t> answered{0};                            // the newest order
  std::array<std::atomic<std::uint64_t>, kConnectionsKept> ticks{};  // received, per connection
  std::atomic<std::uint64_t> filled{0};        // by the server: the newest order
  std::atomic<std::uint64_t> attempt_seen{0};  // by the server: the newest attempt
  std::atomic<std::uint64_t> breaks_sent{0};   // calls that ended this way
  std::atomic<std::uint64_t> breaks_taken{0};
  Complaint says{};
};
struct Notes {
  std::array<ClientNotes, kClients> clients{};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> gone{0};     // clients whose account the server has checked
  std::atomic<std::uint64_t> blocked{0};  // ticks for which a client had no room
  Complaint server_says{};
};

// One connection of a client.
class Trader {
 public:
  Trader(Duplex& duplex, std::uint64_t client, ClientNotes& notes)
      : duplex_(duplex), client_(client), notes_(notes) {}

  // Returns 0 if `stop` is set or the server has ended, otherwise an error code.
  int run(const std::atomic<bool>& stop) {
    const std::uint64_t connection = notes_.connections.fetch_add(1) + 1;
    ticks_ = &notes_.ticks[connection % kConnectionsKept];
    ticks_->store(0);
    next_ = notes_.answered.load() + 1;
    const Result<> hello = duplex_.send(Hello{client_, connection}, Kind::kHello, kHang);
    if (!hello.ok()) return has_ended(hello.error()) ? 0 : complain("hello", hello.error());
    for (;;) {
      if (!stop.load() && !broken_) start_orders();
      if (stop.load() && under_way_.empty()) return 0;
      const Result<Arrival> arrival = duplex_.wait_any(kHang);
      int code = 0;
      if (arrival->kind == Arrival::Kind::kReply) {
        code = take(arrival->reply);
      } else if (arrival->kind == Arrival::Kind::kIncoming) {
        code = take(arrival->incoming);
      } else {
        return has_ended(arrival.error()) ? 0 : complain("waiting", arrival.error());
      }
      if (code != 0) return code;
    }
  }

 private:
  static bool has_ended(Errc result) {
    return result == Errc::kPeerGone || result == Errc::kClosed;
  }
  int complain(const std::string& what, Errc result) {
    return notes_.says.say(what + ": " + name_of(result));
  }

  void start_orders() {
    while (under_way_.size() < kUnderWay) {
      const Order order{next_, notes_.attempts.fetch_add(1) + 1};
      const Result<CallId> started = duplex_.try_start(order, Kind::kOrder, kHang);
      if (!started.ok()) break;  // no room, or the end, which a wait will find
      under_way_[*started] = order;
      ++next_;
    }
  }

  int take(const Result<Reply>& reply) {
    const auto found = under_way_.find(reply->call);
    if (found == under_way_.end()) return complain("a reply to no call", reply.error());
    const Order order = found->second;
    under_way_.erase(found);
    if (has_ended(reply.error())) {
      broken_ = true;
      const bool was_seen = notes_.attempt_seen.load() >= order.attempt;
      const bool was_taken = reply->delivery == Delivery::kTaken;
      if (!was_taken && reply->delivery != Delivery::kSent) return complain("delivery", Errc::kOk);
      if (was_seen && !was_taken) return notes_.says.say("a call that was seen was not taken");
      (was_taken ? notes_.breaks_taken : notes_.breaks_sent).fetch_add(1);
      return 0;
    }
    const auto filled = reply->as<Order>();
    if (!reply->is(Kind::kFilled) || !filled) return complain("a reply", reply.error());
    if (filled->number != order.number || order.number != notes_.answered.load() + 1) {
      return notes_.says.say("a reply out of order");
    }
    notes_.answered.store(order.number);
    return 0;
  }

  int take(const Incoming& incoming) {
    const auto tick = incoming.as<Tick>();
    if (!incoming.is(Kind::kTick) || !tick || tick->number != ticks_->load() + 1) {
      return notes_.says.say("a tick is missing, or came twice");
    }
    ticks_->store(tick->number);
    return 0;
  }

  Duplex& duplex_;
  const std::uint64_t client_;
  ClientNotes& notes_;
  std::atomic<std::uint64_t>* ticks_ = nullptr;
  std::uint64_t next_ = 1;
  bool broken_ = false;
  std::map<CallId, Order> under_way_;
};

int trade(const std::string& path, std::uint64_t client, Notes& notes) {
  ClientNotes& own = notes.clients[client];
  ChannelOptions options = kSmall;
  options.is_interrupted = [&] { return notes.stop.load(); };
  while (!notes.stop.load()) {
    auto duplex = Duplex::connect(path, options, kHang);
    if (errc_of(duplex.status()) == Errc::kInterrupted) return 0;
    if (!duplex.ok()) return own.says.say(std::string(duplex.status().message()));
    if (const int code = Trader(*duplex, client, own).run(notes.stop); code != 0) return code;
  }
  return 0;
}

// Fills each order once. The filled orders are in the notes, which outlive it.
class Exchange {
 public:
  Exchange(DuplexServer& server, Notes& notes) : server_(server), notes_(notes) {}

  // Returns 0 at the end, otherwise an error code.
  int run() {
    while (!notes_.stop.load() || server_.clients() > 0) {
      const Result<ServerEvent> event = server_.wait(std::chrono::milliseconds(100));
      if (event.error() == Errc::kTimedOut) continue;
      if (!event.ok()) return say(std::string(server_.status().message()));
      if (const int code = handle(*event); code != 0) return code;
    }
    return 0;
  }

 private:
  struct Answer {
    CallId call;
    Order order;
  };
  struct Peer {
    Hello hello{};
    std::uint64_t ticks = 0;     // ticks sent
    std::deque<Answer> answers;  // answers waiting for room
  };

  int say(const std::string& what) { return notes_.server_says.say(what); }

  int handle(const ServerEvent& event) {
    switch (event.kind) {
      case ServerEvent::Kind::kConnected:
        peers_[event.client] = {};
        return 0;
      case ServerEvent::Kind::kMessage:
        return event.message.is_call() ? fill(event) : greet(event);
      case ServerEvent::Kind::kRoom:
        answer(event.client, peers_.at(event.client));
        return 0;
      case ServerEvent::Kind::kGone:
        return account(event.client);
      default:
        return say("an event that cannot be");
    }
  }

  int greet(const ServerEvent& event) {
    const auto hello = event.message.as<Hello>();
    if (!event.message.is(Kind::kHello) || !hello) return say("no hello");
    peers_.at(event.client).hello = *hello;
    return 0;
  }

  int fill(const ServerEvent& event) {
    Peer& peer = peers_.at(event.client);
    const auto order = event.message.as<Order>();
    if (!order || peer.hello.connection == 0) return say("no order");
    ClientNotes& notes = notes_.clients[peer.hello.client];
    notes.attempt_seen.store(order->attempt);
    const std::uint64_t filled = notes.filled.load();
    if (order->number > filled + 1) return say("an order was lost");
    if (order->number == filled + 1) notes.filled.store(order->number);
    peer.answers.push_back({event.message.call, *order});
    answer(event.client, peer);
    for (auto& [id, other] : peers_) tick(id, other);
    return 0;
  }

  // Failures other than lack of room appear in the client's next event.
  void answer(ClientId id, Peer& peer) {
    while (!peer.answers.empty()) {
      const Answer& next = peer.answers.front();
      if (server_.try_reply(id, next.call, next.order, Kind::kFilled) == Errc::kWouldBlock) return;
      peer.answers.pop_front();
    }
  }

  void tick(ClientId id, Peer& peer) {
    const Result<> sent = server_.try_send(id, Tick{peer.ticks + 1}, Kind::kTick);
    if (sent.ok()) ++peer.ticks;
    if (sent.error() == Errc::kWouldBlock) notes_.blocked.fetch_add(1);
  }

  // The library's account and the client's own may differ by the message that the client was just
  // taking.
  int account(ClientId id) {
    const Peer peer = peers_.at(id);
    peers_.erase(id);
    if (peer.hello.connection == 0) return 0;  // it never sent its hello
    const DuplexCounters counters = server_.duplex_counters(id);
    const std::uint64_t got =
        notes_.clients[peer.hello.client].ticks[peer.hello.connection % kConnectionsKept].load();
    if (counters.one_ways_sent != peer.ticks) return say("a tick was not counted");
    if (counters.one_ways_taken != got && counters.one_ways_taken != got + 1) {
      return say("client got " + std::to_string(got) + " ticks, and is said to have taken " +
                 std::to_string(counters.one_ways_taken));
    }
    notes_.gone.fetch_add(1);
    return 0;
  }

  DuplexServer& server_;
  Notes& notes_;
  std::map<ClientId, Peer> peers_;
};

int exchange(const std::string& path, Notes& notes) {
  auto server = DuplexServer::open(path, {.channel = kSmall, .clients_max = kClients});
  if (!server.ok()) return notes.server_says.say(std::string(server.status().message()));
  return Exchange(*server, notes).run();
}

std::uint64_t answered_in_all(const Notes& notes, std::size_t but = kClients) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kClients; ++i) {
    if (i != but) sum += notes.clients[i].answered.load();
  }
  return sum;
}

// Waits until `count` reaches `wanted`.
template <typename Count>
void await_count(const Notes& notes, const Count& count, std::uint64_t wanted) {
  const Deadline hangs = kHang;
  while (count() < wanted && !hangs.has_passed()) wait_readable(-1, kNsPerMs / 5);
  INFO("the server says: " << notes.server_says.text);
  for (const ClientNotes& client : notes.clients) UNSCOPED_INFO("a client: " << client.says.text);
  REQUIRE(count() >= wanted);
}

void await_progress(const Notes& notes, std::uint64_t orders, std::size_t but = kClients) {
  const auto count = [&] { return answered_in_all(notes, but); };
  await_count(notes, count, count() + orders);
}

TEST_CASE("Clients and their server are killed and stopped at random, and no call is lost") {
  constexpr std::uint64_t kBetween = 30;     // orders between two kills
  constexpr std::uint64_t kMeanwhile = 100;  // orders of the others while a client is stopped
  const std::uint64_t kills = 3 * kills_wanted();
  const std::uint64_t seed = test_seed();
  INFO("LAPWING_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const TemporaryDirectory directory;
  const std::string path = directory.file("server.sock");
  const Shared<Notes> notes;
  const auto start_server = [&] { return ChildProcess([&] { return exchange(path, *notes); }); };
  const auto start_client = [&](std::size_t i) {
    return ChildProcess([&, i] { return trade(path, i, *notes); });
  };
  ChildProcess server = start_server();
  std::vector<ChildProcess> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(start_client(i));
  std::uint64_t of_server = 0;
  std::uint64_t of_clients = 0;
  std::uint64_t stops = 0;
  for (std::uint64_t i = 0; i < kills; ++i) {
    await_progress(*notes, 1 + random() % kBetween);
    const std::size_t which = random() % kClients;
    const auto its_orders = [&] { return notes->clients[which].answered.load(); };
    // It is connected, and does not only read answers of a dead server.
    await_count(*notes, its_orders, its_orders() + kUnderWay + 1);
    if (i % 3 == 0) {
      server.send(SIGKILL);
      REQUIRE(server.wait() == -SIGKILL);
      server = start_server();
      ++of_server;
    } else if (i % 3 == 1) {
      const std::uint64_t gone = notes->gone.load();
      clients[which].send(SIGKILL);
      REQUIRE(clients[which].wait() == -SIGKILL);
      await_count(*notes, [&] { return notes->gone.load(); }, gone + 1);
      clients[which] = start_client(which);
      ++of_clients;
    } else {
      clients[which].stop();
      await_progress(*notes, kMeanwhile, which);
      clients[which].send(SIGCONT);
      ++stops;
    }
  }
  await_progress(*notes, kBetween);
  notes->stop.store(true);
  for (std::size_t i = 0; i < kClients; ++i) {
    const int code = clients[i].wait();
    INFO("client " << i << " says: " << notes->clients[i].says.text);
    CHECK(code == 0);
  }
  const int code = server.wait();
  INFO("the server says: " << notes->server_says.text);
  CHECK(code == 0);
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  for (const ClientNotes& client : notes->clients) {
    CHECK(client.answered.load() > 0);
    // A client that has just returned at the end may not have repeated its pending calls.
    CHECK(client.filled.load() >= client.answered.load());
    CHECK(client.filled.load() <= client.answered.load() + kUnderWay);
    sent += client.breaks_sent.load();
    taken += client.breaks_taken.load();
  }
  CHECK(of_server * of_clients * stops > 0);
  CHECK(notes->blocked.load() > 0);  // a stopped client had no room
  std::printf(
      "%llu kills of a server, %llu of clients, %llu stops: %llu orders filled once each; "
      "of the calls that broke %llu were sent, %llu taken\n",
      static_cast<unsigned long long>(of_server), static_cast<unsigned long long>(of_clients),
      static_cast<unsigned long long>(stops),
      static_cast<unsigned long long>(answered_in_all(*notes)),
      static_cast<unsigned long long>(sent), static_cast<unsigned long long>(taken));
}

}  // namespace
}  // namespace lapwing

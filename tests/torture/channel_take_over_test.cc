// A listening process is replaced repeatedly while clients connect: no client fails or is lost. In
// other cases the new process, or the old one, is killed at every step.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "os/kernel.h"
#include "testing/temporary_directory.h"
#include "tests/torture/stepped_child.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHangNs = 60'000'000'000;
constexpr std::size_t kClients = 3;
constexpr std::uint32_t kSteady = 0x57ead1;  // type of the steady client's messages
constexpr int kHandedOver = 42;              // exit code of a listener that was taken over

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

ChannelOptions small_options() {
  ChannelOptions options{.capacity = 1024, .message_bytes_max = 100};
  options.wait = WaitStrategy::kPark;
  return options;
}

// Shared by all processes.
struct Notes {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> generation{0};  // number of the current listener
  std::atomic<std::uint64_t> connected{0};   // clients that sent one message each
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> steady_sent{0};
  std::atomic<std::uint64_t> steady_received{0};
  std::array<Complaint, kClients> clients_say{};
  Complaint listeners_say{};
  Complaint steady_says{};
};

// Connects, sends one message and disconnects, repeatedly. No step may ever fail.
int connect_often(const std::string& path, Notes& notes, Complaint& complaint) {
  while (!notes.stop.load()) {
    auto producer = ChannelProducer::connect(path, small_options(), hang_deadline());
    if (!producer.ok()) return complaint.say(std::string(producer.status().message()));
    Result<> sent = producer->send({}, 1, hang_deadline());
    if (sent.ok()) sent = producer->drain(hang_deadline());
    if (!sent.ok()) return complaint.say(name_of(sent.error()));
    notes.connected.fetch_add(1);
  }
  return 0;
}

// Keeps one connection, to the first listening process, for the whole time.
int send_steadily(const std::string& path, Notes& notes) {
  auto producer = ChannelProducer::connect(path, small_options(), hang_deadline());
  if (!producer.ok()) return notes.steady_says.say(std::string(producer.status().message()));
  while (!notes.stop.load()) {
    const std::uint64_t number = notes.steady_sent.load();
    const Result<> result =
        producer->send(std::as_bytes(std::span(&number, 1)), kSteady, hang_deadline());
    if (!result.ok()) return notes.steady_says.say(name_of(result.error()));
    notes.steady_sent.fetch_add(1);
    wait_readable(-1, kNsPerMs);
  }
  return producer->drain(hang_deadline()).ok() ? 0 : 1;
}

// Reads the steady client's messages. Returns false if the client has ended, or if a message is
// missing.
bool take_steady(ChannelConsumer& steady, Notes& notes) {
  for (;;) {
    const Result<Message> peek = steady.try_peek();
    if (peek.error() == Errc::kWouldBlock) return true;
    if (peek.error() == Errc::kClosed) return false;
    std::uint64_t number = 0;
    if (peek.ok() && peek->payload.size() == sizeof number) {
      std::memcpy(&number, peek->payload.data(), sizeof number);
    }
    if (!peek.ok() || number != notes.steady_received.load()) {
      notes.listeners_say.say(std::string("the steady client: ") + name_of(peek.error()));
      return false;
    }
    notes.steady_received.fetch_add(1);
    if (const Result<> released = steady.release(); !released.ok()) {
      notes.listeners_say.say(std::string("the steady client: ") + name_of(released.error()));
      return false;
    }
  }
}

// Serves each client with one message, until the socket has been handed over. The first listener
// keeps the steady client afterwards.
int serve(ChannelListener listener, Notes& notes) {
  std::optional<ChannelConsumer> steady;
  bool steady_is_over = false;
  for (;;) {
    auto consumer =
        ChannelConsumer::accept(listener, small_options(), std::chrono::milliseconds(2));
    if (steady && !steady_is_over) steady_is_over = !take_steady(*steady, notes);
    const Errc failed = errc_of(consumer.status());
    if (failed == Errc::kTimedOut) continue;
    if (failed == Errc::kClosed && listener.handed_over()) break;
    if (failed != Errc::kOk) {
      return notes.listeners_say.say(std::string(consumer.status().message()));
    }
    const Result<Message> peek = consumer->peek(hang_deadline());
    if (!peek.ok()) return notes.listeners_say.say(name_of(peek.error()));
    if (peek->type == kSteady) {
      steady.emplace(std::move(*consumer));
      continue;
    }
    notes.received.fetch_add(1);
    if (const Result<> released = consumer->release(); !released.ok()) {
      return notes.listeners_say.say(name_of(released.error()));
    }
  }
  while (steady && !steady_is_over) {
    steady_is_over = !take_steady(*steady, notes);
    wait_readable(steady->fd(), kNsPerMs);
  }
  return kHandedOver;
}

int listen_first(const std::string& path, Notes& notes) {
  auto listener = ChannelListener::listen(path);
  if (!listener.ok()) return notes.listeners_say.say(std::string(listener.status().message()));
  notes.generation.store(1);
  return serve(std::move(*listener), notes);
}

int take_over_and_serve(const std::string& path, std::uint64_t generation, Notes& notes) {
  auto listener = ChannelListener::take_over(path, hang_deadline());
  if (!listener.ok()) return notes.listeners_say.say(std::string(listener.status().message()));
  notes.generation.store(generation);
  return serve(std::move(*listener), notes);
}

bool await(const std::atomic<std::uint64_t>& word, std::uint64_t value) {
  const Deadline deadline = hang_deadline();
  while (word.load() < value && !deadline.has_passed()) wait_readable(-1, kNsPerMs / 5);
  return word.load() >= value;
}

}  // namespace

TEST_CASE("No connect fails while the listening process is replaced, and nobody is lost") {
  const std::uint64_t replacements =
      std::max<std::uint64_t>(50, 5 * count_from("LAPWING_KILLS", 10));
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess first([&] { return listen_first(path, *notes); });
  REQUIRE(await(notes->generation, 1));
  ChildProcess steady([&] { return send_steadily(path, *notes); });
  REQUIRE(await(notes->steady_received, 1));
  std::vector<ChildProcess> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&] { return connect_often(path, *notes, notes->clients_say[i]); });
  }
  ChildProcess listening;
  for (std::uint64_t i = 0; i < replacements; ++i) {
    INFO("replacement " << i << "; the listeners say: " << notes->listeners_say.text);
    REQUIRE(await(notes->connected, 5 * i));  // some between each pair
    ChildProcess next([&] { return take_over_and_serve(path, i + 2, *notes); });
    REQUIRE(await(notes->generation, i + 2));
    if (listening.pid() > 0) CHECK(listening.wait() == kHandedOver);
    listening = std::move(next);
  }
  notes->stop.store(true);
  for (std::size_t i = 0; i < kClients; ++i) {
    const int code = clients[i].wait();
    INFO("client " << i << " says: " << notes->clients_say[i].text);
    CHECK(code == 0);
  }
  CHECK(steady.wait() == 0);
  CHECK(first.wait() == kHandedOver);
  INFO("the steady client says: " << notes->steady_says.text);
  INFO("the listeners say: " << notes->listeners_say.text);
  CHECK(notes->received.load() == notes->connected.load());
  CHECK(notes->steady_received.load() == notes->steady_sent.load());
  CHECK(notes->steady_sent.load() > 0);
  CHECK(std::string(notes->listeners_say.text).empty());
  std::printf(
      "%llu replacements: %llu connected and were served; %llu messages of a peer of the "
      "first process\n",
      static_cast<unsigned long long>(replacements),
      static_cast<unsigned long long>(notes->connected.load()),
      static_cast<unsigned long long>(notes->steady_sent.load()));
}

namespace {

// A client that waits during a failed take-over. Returns 0 if it was served.
int connect_once(const std::string& path, Notes& notes) {
  auto producer = ChannelProducer::connect(path, small_options(), hang_deadline());
  if (!producer.ok()) {
    notes.clients_say[0].say(std::string(producer.status().message()));
    return static_cast<int>(errc_of(producer.status()));
  }
  return producer->send({}, 1, hang_deadline()).ok() && producer->drain(hang_deadline()).ok() ? 0
                                                                                              : 1;
}

int serve_one(ChannelListener& listener, Notes& notes) {
  auto consumer = ChannelConsumer::accept(listener, small_options(), hang_deadline());
  // It may have handed over in its last iteration before `stop`.
  if (!consumer.ok() && listener.handed_over()) return kHandedOver;
  if (!consumer.ok()) return notes.listeners_say.say(std::string(consumer.status().message()));
  const Errc result = consumer->peek(hang_deadline()).error();
  if (result != Errc::kOk) return notes.listeners_say.say(name_of(result));
  return consumer->release().ok() ? 0 : 1;
}

// Lets successors try until `stop`, then serves the waiting client.
int tend_and_serve_one(const std::string& path, Notes& notes) {
  auto listener = ChannelListener::listen(path);
  if (!listener.ok()) return notes.listeners_say.say(std::string(listener.status().message()));
  notes.generation.store(1);
  while (!notes.stop.load()) {
    if (!listener->tend().ok()) return listener->handed_over() ? kHandedOver : 1;
    wait_readable(-1, kNsPerMs / 10);
  }
  return serve_one(*listener, notes);
}

enum class Outcome { kOldWentOn, kSuccessorListened };

Outcome kill_successor(std::uint64_t stops, bool& over) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess old([&] { return tend_and_serve_one(path, *notes); });
  REQUIRE(await(notes->generation, 1));
  ChildProcess client([&] { return connect_once(path, *notes); });
  SteppedChild successor([&](SteppedChild::Marks& marks) {
    marks.begin();
    auto listener = ChannelListener::take_over(path, hang_deadline());
    marks.end();
    return listener.ok() ? 0 : 1;
  });
  REQUIRE(successor.reaches_begin());
  over = successor.step(SteppedChild::By::kSystemCall, stops);
  successor.kill();
  notes->stop.store(true);
  const int old_code = old.wait();
  const int client_code = client.wait();
  INFO("the old one says: " << notes->listeners_say.text);
  INFO("the client says: " << notes->clients_say[0].text);
  if (old_code == kHandedOver) {
    // It was the listener when it was killed, so waiting clients detect it.
    CHECK(client_code == static_cast<int>(Errc::kPeerGone));
    return Outcome::kSuccessorListened;
  }
  CHECK(old_code == 0);
  CHECK(client_code == 0);
  return Outcome::kOldWentOn;
}

// Takes over, or listens itself if there is no longer a listener, then serves the client.
int succeed_and_serve_one(const std::string& path, Notes& notes) {
  auto listener = ChannelListener::take_over(path, hang_deadline());
  if (listener.ok()) {
    notes.generation.store(2);
    return serve_one(*listener, notes);
  }
  const Errc failed = errc_of(listener.status());
  if (failed != Errc::kPeerGone && failed != Errc::kNoBus) {
    return notes.listeners_say.say(std::string(listener.status().message()));
  }
  auto own = ChannelListener::listen(path);
  if (!own.ok()) return notes.listeners_say.say(std::string(own.status().message()));
  return serve_one(*own, notes);
}

// Retries if the listener died meanwhile.
int connect_until_served(const std::string& path, Notes& notes) {
  const Deadline deadline = hang_deadline();
  int code = 1;
  while (code != 0 && !deadline.has_passed()) {
    code = connect_once(path, notes);
    const bool died = code == static_cast<int>(Errc::kPeerGone) ||
                      code == static_cast<int>(Errc::kNoBus) || code == 0;
    if (!died) break;
    if (code != 0) wait_readable(-1, kNsPerMs);
  }
  return code;
}

Outcome kill_old(std::uint64_t stops, bool& over) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  SteppedChild old([&](SteppedChild::Marks& marks) {
    auto listener = ChannelListener::listen(path);
    if (!listener.ok()) return 1;
    notes->generation.store(1);
    wait_readable(listener->fd(), kHangNs);  // waits for the successor
    marks.begin();
    while (listener->tend().ok()) wait_readable(listener->fd(), kHangNs);
    marks.end();
    return 0;
  });
  // It runs freely until tracing starts. The other two wait for its socket.
  ChildProcess successor(
      [&] { return await(notes->generation, 1) ? succeed_and_serve_one(path, *notes) : 1; });
  REQUIRE(old.reaches_begin());
  ChildProcess client([&] { return connect_until_served(path, *notes); });
  over = old.step(SteppedChild::By::kSystemCall, stops);
  old.kill();
  const int successor_code = successor.wait();
  const int client_code = client.wait();
  INFO("the successor says: " << notes->listeners_say.text);
  INFO("the client says: " << notes->clients_say[0].text);
  CHECK(successor_code == 0);
  CHECK(client_code == 0);
  return notes->generation.load() == 2 ? Outcome::kSuccessorListened : Outcome::kOldWentOn;
}

template <typename Kill>
void kill_at_each_stop(const char* what, const Kill& kill) {
  std::uint64_t kills = 0;
  std::uint64_t handed_over = 0;
  for (bool over = false; !over; ++kills) {
    INFO(what << " is killed after " << kills << " stops at system calls");
    if (kill(kills, over) == Outcome::kSuccessorListened) ++handed_over;
  }
  std::printf(
      "%s killed at each of %llu stops at system calls; in %llu the successor had the "
      "socket\n",
      what, static_cast<unsigned long long>(kills), static_cast<unsigned long long>(handed_over));
  CHECK(kills > 10);
  CHECK(handed_over > 0);
  CHECK(handed_over < kills);
}

}  // namespace

TEST_CASE("A successor killed in the middle of taking over leaves the old one listening") {
  kill_at_each_stop("the successor", kill_successor);
}

TEST_CASE("A listener killed in the middle of handing over leaves a successor that serves") {
  kill_at_each_stop("the old one", kill_old);
}

}  // namespace lapwing

// One side of a channel is killed at every instruction of each of its operations, at every system
// call in its handshake, and while it sleeps. The other side detects this, has exactly the
// committed messages, never hangs, and gets a new connection from the next peer.
//
// There are three processes. The test is the tracer: it steps the victim to its end and checks the
// survivor's results.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "testing/listening_child.h"
#include "testing/temporary_directory.h"
#include "tests/torture/stepped_child.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHangNs = 60'000'000'000;
constexpr std::uint64_t kCapacity = 2048;
constexpr std::size_t kSmall = 40;         // bytes; a frame of 64
constexpr std::size_t kLarge = 400;        // bytes; a frame of 448
constexpr std::uint64_t kReadBefore = 24;  // small messages read before the operation
constexpr std::uint64_t kUnread = 2;       // small messages that may still be unread
constexpr ChannelPosition kOperationAt = (kReadBefore + kUnread) * 64;
constexpr std::uint64_t kRingful = kCapacity / 64;
constexpr std::uint32_t kNextConnection =
    0xfeed;  // type of the message that a new connection brings

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

// The survivor's activity until the kill.
enum class Survivor { kSpinning, kBackingOff, kParked, kElsewhere };
constexpr std::array kSurvivors = {Survivor::kSpinning, Survivor::kBackingOff, Survivor::kParked,
                                   Survivor::kElsewhere};

const char* name_of(Survivor survivor) {
  constexpr const char* kNames[] = {"spinning", "backing off", "parked", "elsewhere"};
  return kNames[static_cast<std::size_t>(survivor)];
}

ChannelOptions options_of(Survivor survivor) {
  ChannelOptions options{.capacity = kCapacity, .message_bytes_max = 900};
  options.wait = survivor == Survivor::kSpinning     ? WaitStrategy::kBusy
                 : survivor == Survivor::kBackingOff ? WaitStrategy::kBackoff
                                                     : WaitStrategy::kPark;
  return options;
}

// Shared by the three processes.
struct Notes {
  std::atomic<bool> waiting{false};         // the survivor is waiting, or is elsewhere
  std::atomic<std::uint64_t> killed_ns{0};  // time of the victim's death
  std::atomic<bool> served{false};          // the survivor holds a connection
  std::uint64_t head_address = 0;           // in the victim: head of the operation's first frame
  std::uint64_t messages = 0;               // received or sent by the survivor
  std::uint64_t released = 0;               // of those that it sent
  Errc end = Errc::kOk;                     // end of the channel for the survivor
  std::uint64_t learned_ns = 0;
  Complaint complaint{};
};

void fill(std::span<std::byte> payload, std::uint64_t index) {
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(index * 131 + i * 7 + i / 251);
  }
}

bool is_message(const Message& message, std::uint64_t index, std::size_t size) {
  std::array<std::byte, 1024> expected;
  const std::span payload = std::span(expected).first(size);
  fill(payload, index);
  return message.type == index && message.payload.size() == size &&
         std::memcmp(message.payload.data(), payload.data(), size) == 0;
}

// A producer's operation: the messages that it sends, and how.
struct Sending {
  const char* name;
  std::vector<std::size_t> sizes;  // one stamp makes all of them visible
  void (*act)(ChannelProducer&, std::span<const Outgoing>);
};

const Sending kSendings[] = {
    {"claim and commit",
     {kSmall},
     [](ChannelProducer& producer, std::span<const Outgoing> messages) {
       const auto claim = producer.claim(messages[0].payload.size() + 9);
       std::memcpy(claim->data(), messages[0].payload.data(), messages[0].payload.size());
       (void)producer.commit(messages[0].payload.size(), messages[0].type);
     }},
    {"send",
     {kSmall},
     [](ChannelProducer& producer, std::span<const Outgoing> messages) {
       (void)producer.try_send(messages[0].payload, messages[0].type);
     }},
    {"stage three and commit",
     {kSmall, 0, kSmall},
     [](ChannelProducer& producer, std::span<const Outgoing> messages) {
       for (const Outgoing& message : messages) {
         const auto claim = producer.claim(message.payload.size());
         std::memcpy(claim->data(), message.payload.data(), message.payload.size());
         (void)producer.stage(message.payload.size(), message.type);
       }
       (void)producer.commit_staged();
     }},
    {"send over the end of the ring",
     {kLarge},
     [](ChannelProducer& producer, std::span<const Outgoing> messages) {
       (void)producer.send(messages[0].payload, messages[0].type);
     }},
    {"send a batch over the end of the ring",
     {kSmall, kLarge, kSmall},
     [](ChannelProducer& producer, std::span<const Outgoing> messages) {
       (void)producer.send_batch(messages);
     }},
    {"claim and give up",
     {},
     [](ChannelProducer& producer, std::span<const Outgoing>) {
       (void)producer.claim(kLarge);
       (void)producer.abort();
     }},
    {"close", {}, [](ChannelProducer& producer, std::span<const Outgoing>) { producer.close(); }},
};

std::size_t size_at(const Sending& sending, std::uint64_t index) {
  return index < kReadBefore + kUnread ? kSmall : sending.sizes.at(index - kReadBefore - kUnread);
}

int send_as_victim(SteppedChild::Marks& marks, const std::string& path, const Sending& sending,
                   Notes& notes) {
  auto producer = ChannelProducer::connect(path, options_of(Survivor::kSpinning), hang_deadline());
  if (!producer.ok()) return 2;
  const std::uint64_t total = kReadBefore + kUnread + sending.sizes.size();
  std::vector<std::vector<std::byte>> payloads;
  std::vector<Outgoing> messages;
  for (std::uint64_t i = 0; i < total; ++i) {
    payloads.emplace_back(size_at(sending, i));
    fill(payloads.back(), i);
  }
  for (std::uint64_t i = 0; i < total; ++i) {
    messages.push_back({payloads[i], static_cast<std::uint32_t>(i)});
  }
  const auto first = producer->claim(kLarge);  // long, because short ones are not in the ring
  notes.head_address = reinterpret_cast<std::uint64_t>(first->data()) - kPayloadOffsetPacked +
                       kOperationAt % kCapacity;
  for (std::uint64_t i = 0; i < kReadBefore + kUnread; ++i) {
    if (i == kReadBefore && !producer->drain(hang_deadline()).ok()) return 3;
    if (!producer->send(messages[i].payload, messages[i].type, hang_deadline()).ok()) {
      return 3;
    }
  }
  marks.begin();
  sending.act(*producer, std::span(messages).subspan(kReadBefore + kUnread));
  marks.end();
  return 0;
}

void await_kill(const Notes& notes) {
  while (notes.killed_ns.load() == 0) std::this_thread::yield();
}

// After the end, the next peer has its own connection, in which everything is correct.
template <typename Accepted>
int check_next_connection(ChannelListener& listener, Survivor survivor, const Id128& before,
                          Notes& notes) {
  auto next = Accepted::accept(listener, options_of(survivor), hang_deadline());
  if (!next.ok()) return notes.complaint.say(std::string(next.status().message()));
  if (next->connection_id() == before) return notes.complaint.say("the same connection again");
  if constexpr (std::is_same_v<Accepted, ChannelConsumer>) {
    const Result<Message> peek = next->peek(hang_deadline());
    if (peek->type != kNextConnection) return notes.complaint.say("nothing from the next peer");
  } else {
    if (!next->send({}, kNextConnection, hang_deadline()).ok() ||
        !next->drain(hang_deadline()).ok()) {
      return notes.complaint.say("the next peer takes nothing");
    }
  }
  return 0;
}

int survive_as_consumer(ChannelListener& listener, Survivor survivor, const Sending& sending,
                        Notes& notes) {
  auto consumer = ChannelConsumer::accept(listener, options_of(survivor), hang_deadline());
  if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
  const std::uint64_t before =
      survivor == Survivor::kElsewhere ? kReadBefore : kReadBefore + kUnread;
  for (;;) {
    if (notes.messages == before) {
      notes.waiting.store(true);
      if (survivor == Survivor::kElsewhere) await_kill(notes);
    }
    const Result<Message> peek = consumer->peek(hang_deadline());
    if (!peek.ok()) {
      notes.learned_ns = monotonic_ns();
      notes.end = peek.error();
      break;
    }
    if (!is_message(*peek, notes.messages, size_at(sending, notes.messages))) {
      return notes.complaint.say("a message that was never sent");
    }
    ++notes.messages;
    const Result<> released = consumer->release();
    if (!released.ok()) return notes.complaint.say(name_of(released.error()));
  }
  if (consumer->try_peek().error() != notes.end) return notes.complaint.say("another end");
  return check_next_connection<ChannelConsumer>(listener, survivor, consumer->connection_id(),
                                                notes);
}

// A consumer's operation, before which the ring is full and `borrow` messages are borrowed.
struct Taking {
  const char* name;
  std::size_t borrow;
  std::uint64_t released_max;
  void (*act)(ChannelConsumer&, std::span<const Message>);
};

const Taking kTakings[] = {
    {"peek", 0, 0,
     [](ChannelConsumer& consumer, std::span<const Message>) { (void)consumer.try_peek(); }},
    {"release", 1, 1,
     [](ChannelConsumer& consumer, std::span<const Message>) { (void)consumer.release(); }},
    {"release a part of a batch", 5, 3,
     [](ChannelConsumer& consumer, std::span<const Message> batch) {
       (void)consumer.release(batch, 3);
     }},
    {"receive", 0, 1,
     [](ChannelConsumer& consumer, std::span<const Message>) {
       std::array<std::byte, kSmall> buffer;
       (void)consumer.try_receive(buffer);
     }},
    {"close", 0, 0, [](ChannelConsumer& consumer, std::span<const Message>) { consumer.close(); }},
};

int take_as_victim(SteppedChild::Marks& marks, const std::string& path, const Taking& taking,
                   Notes& notes) {
  auto consumer = ChannelConsumer::connect(path, options_of(Survivor::kSpinning), hang_deadline());
  if (!consumer.ok()) return 2;
  while (!notes.waiting.load()) std::this_thread::yield();
  std::array<Message, 8> batch;
  if (taking.borrow != 0) {
    const Result<std::size_t> borrowed =
        consumer->peek_batch(std::span(batch).first(taking.borrow));
    if (*borrowed != taking.borrow) return 3;
  }
  marks.begin();
  taking.act(*consumer, batch);
  marks.end();
  return 0;
}

int survive_as_producer(ChannelListener& listener, Survivor survivor, Notes& notes) {
  auto producer = ChannelProducer::accept(listener, options_of(survivor), hang_deadline());
  if (!producer.ok()) return notes.complaint.say(std::string(producer.status().message()));
  std::array<std::byte, kSmall> payload{};
  while (producer->try_send(payload, 0).ok()) ++notes.messages;
  if (notes.messages != kRingful) return notes.complaint.say("not a ringful");
  notes.waiting.store(true);
  if (survivor == Survivor::kElsewhere) await_kill(notes);
  for (;;) {
    notes.end = producer->send(payload, 0, hang_deadline()).error();
    if (notes.end != Errc::kOk) break;
    ++notes.messages;
  }
  notes.learned_ns = monotonic_ns();
  notes.released = producer->counters().messages_released;
  if (producer->drain(hang_deadline()) != notes.end) return notes.complaint.say("another end");
  return check_next_connection<ChannelProducer>(listener, survivor, producer->connection_id(),
                                                notes);
}

// How long survivors took to detect a death.
class Delays {
 public:
  void add(Survivor survivor, const Notes& notes) {
    const std::uint64_t killed_ns = notes.killed_ns.load();
    const std::uint64_t ns = notes.learned_ns > killed_ns ? notes.learned_ns - killed_ns : 0;
    ns_[static_cast<std::size_t>(survivor)].push_back(ns);
  }
  void print(const char* what) {
    for (const Survivor survivor : kSurvivors) {
      auto& ns = ns_[static_cast<std::size_t>(survivor)];
      if (ns.empty()) continue;
      std::sort(ns.begin(), ns.end());
      std::printf("%-32s %-12s %5zu kills, learned after: median %6.1f us, worst %8.1f us\n", what,
                  name_of(survivor), ns.size(), static_cast<double>(ns[ns.size() / 2]) / 1000,
                  static_cast<double>(ns.back()) / 1000);
    }
  }

 private:
  std::array<std::vector<std::uint64_t>, kSurvivors.size()> ns_;
};

bool is_asleep(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
}

// Returns when the survivor is in the required state for the victim's death.
void await_waiting(const Notes& notes, Survivor survivor, pid_t pid) {
  const Deadline deadline = hang_deadline();
  while (!notes.waiting.load() && !deadline.has_passed()) std::this_thread::yield();
  const bool sleeps = survivor == Survivor::kParked || survivor == Survivor::kBackingOff;
  while (sleeps && !is_asleep(pid) && !deadline.has_passed()) std::this_thread::yield();
  INFO("the survivor never came to wait; it says: " << notes.complaint.text);
  REQUIRE_FALSE(deadline.has_passed());
}

// Ends the survivor's wait for the next peer by being that peer.
template <typename End>
void be_next_peer(const std::string& path) {
  auto end = End::connect(path, options_of(Survivor::kParked), hang_deadline());
  INFO(end.status());
  REQUIRE(end.ok());
  if constexpr (std::is_same_v<End, ChannelProducer>) {
    CHECK(end->send({}, kNextConnection, hang_deadline()) == Errc::kOk);
    CHECK(end->drain(hang_deadline()) != Errc::kTimedOut);
  } else {
    CHECK(end->peek(hang_deadline())->type == kNextConnection);
    CHECK(end->release() == Errc::kOk);
    CHECK(end->peek(hang_deadline()).error() == Errc::kClosed);
  }
}

// The numbers of steps after which victims are killed: all of them if enough kills are wanted,
// otherwise a few, with a different start in each run. With a sleeping survivor, most errors are
// possible.
struct Steps {
  std::uint64_t first;
  std::uint64_t stride;
};
Steps steps_for(Survivor survivor, const std::string& operation) {
  const std::uint64_t kills = std::max<std::uint64_t>(1, count_from("LAPWING_KILLS", 100));
  const bool dense = survivor == Survivor::kParked && operation != "close";  // which is long
  const std::uint64_t wide = dense ? 1 : 8;
  const std::uint64_t stride = wide * std::max<std::uint64_t>(1, 200 / kills);
  return {static_cast<std::uint64_t>(getpid()) % stride, stride};
}

// Kills after increasing numbers of steps, starting with none, until the operation is over before
// the kill. `kill` returns whether that was so.
template <typename Kill>
void kill_after_each(const Steps& steps, const Kill& kill) {
  bool over = kill(0);
  for (std::uint64_t n = std::max<std::uint64_t>(1, steps.first); !over; n += steps.stride) {
    over = kill(n);
  }
}

struct Outcome {
  bool over;     // the operation was over before the kill
  bool visible;  // its first stamp was stored
};

Outcome kill_sender(const Sending& sending, Survivor survivor, std::uint64_t steps,
                    Delays& delays) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess living = listening_child(path, [&](ChannelListener& listener) {
    return survive_as_consumer(listener, survivor, sending, *notes);
  });
  SteppedChild victim(
      [&](SteppedChild::Marks& marks) { return send_as_victim(marks, path, sending, *notes); });
  REQUIRE(victim.reaches_begin());
  await_waiting(*notes, survivor, living.pid());
  Outcome outcome{};
  outcome.over = victim.step(SteppedChild::By::kInstruction, steps);
  outcome.visible = !sending.sizes.empty() &&
                    FrameHeads(kCapacity).is_at(victim.word_at(notes->head_address), kOperationAt);
  notes->killed_ns.store(victim.kill());
  be_next_peer<ChannelProducer>(path);
  const int code = living.wait();
  INFO("the survivor says: " << notes->complaint.text);
  REQUIRE(code == 0);
  CHECK(notes->messages == kReadBefore + kUnread + (outcome.visible ? sending.sizes.size() : 0));
  const bool closes = std::string(sending.name) == "close";
  if (!closes) CHECK(notes->end == Errc::kPeerGone);
  if (closes && steps == 0) CHECK(notes->end == Errc::kPeerGone);
  if (closes && outcome.over) CHECK(notes->end == Errc::kClosed);
  CHECK((notes->end == Errc::kPeerGone || notes->end == Errc::kClosed));
  if (!closes) delays.add(survivor, *notes);
  return outcome;
}

bool kill_taker(const Taking& taking, Survivor survivor, std::uint64_t steps, Delays& delays) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess living = listening_child(path, [&](ChannelListener& listener) {
    return survive_as_producer(listener, survivor, *notes);
  });
  SteppedChild victim(
      [&](SteppedChild::Marks& marks) { return take_as_victim(marks, path, taking, *notes); });
  REQUIRE(victim.reaches_begin());
  await_waiting(*notes, survivor, living.pid());
  const bool over = victim.step(SteppedChild::By::kInstruction, steps);
  notes->killed_ns.store(victim.kill());
  be_next_peer<ChannelConsumer>(path);
  const int code = living.wait();
  INFO("the survivor says: " << notes->complaint.text);
  REQUIRE(code == 0);
  const bool closes = std::string(taking.name) == "close";
  const bool closed = notes->end == Errc::kClosed;
  CHECK((notes->end == Errc::kPeerGone || (closes && closed)));
  if (closes && over) CHECK(closed);
  CHECK((notes->released == 0 || notes->released == taking.released_max));
  if (steps == 0) CHECK(notes->released == 0);
  if (over) CHECK(notes->released == taking.released_max);
  CHECK(notes->messages <= kRingful + notes->released);
  if (!closes) delays.add(survivor, *notes);
  return over;
}

}  // namespace

TEST_CASE("A producer killed at any instruction leaves exactly what it had committed") {
  Delays delays;
  for (const Sending& sending : kSendings) {
    std::uint64_t invisible = 0;
    std::uint64_t visible = 0;
    for (const Survivor survivor : kSurvivors) {
      kill_after_each(steps_for(survivor, sending.name), [&](std::uint64_t steps) {
        INFO(sending.name << ", " << steps << " instructions, the survivor is "
                          << name_of(survivor));
        const Outcome outcome = kill_sender(sending, survivor, steps, delays);
        ++(outcome.visible ? visible : invisible);
        return outcome.over;
      });
    }
    std::printf("%-38s %4llu kills before it was visible, %4llu after\n", sending.name,
                static_cast<unsigned long long>(invisible),
                static_cast<unsigned long long>(visible));
    CHECK(invisible > 2 * kSurvivors.size());
    if (!sending.sizes.empty()) CHECK(visible >= kSurvivors.size());
  }
  delays.print("a producer's death:");
}

TEST_CASE("A consumer killed at any instruction lets its producer go") {
  Delays delays;
  for (const Taking& taking : kTakings) {
    std::uint64_t kills = 0;
    for (const Survivor survivor : kSurvivors) {
      kill_after_each(steps_for(survivor, taking.name), [&](std::uint64_t steps) {
        INFO(taking.name << ", " << steps << " instructions, the survivor is "
                         << name_of(survivor));
        ++kills;
        return kill_taker(taking, survivor, steps, delays);
      });
    }
    std::printf("%-38s %4llu kills\n", taking.name, static_cast<unsigned long long>(kills));
    CHECK(kills > 2 * kSurvivors.size());
  }
  delays.print("a consumer's death:");
}

namespace {

// How a sleeping victim is killed, and what its survivor does then.
struct Sleeper {
  const char* name;
  int (*sleep)(const std::string& path, Notes& notes);
  int (*survive)(ChannelListener& listener, Notes& notes);
};

int sleep_as_consumer(const std::string& path, Notes&) {
  auto consumer = ChannelConsumer::connect(path, options_of(Survivor::kParked), hang_deadline());
  return consumer.ok() && consumer->peek(hang_deadline()).error() == Errc::kOk ? 0 : 1;
}

// Sends occasionally to a consumer that slept when it died, until the death is detected.
int survive_sleeping_consumer(ChannelListener& listener, Notes& notes) {
  auto producer = ChannelProducer::accept(listener, options_of(Survivor::kParked), hang_deadline());
  if (!producer.ok()) return notes.complaint.say(std::string(producer.status().message()));
  notes.waiting.store(true);
  await_kill(notes);
  // The first message finds the sleeper's ticket, and its socket closed; a full ring also suffices.
  do {
    notes.end = producer->send({}, 0, hang_deadline()).error();
    ++notes.messages;
  } while (notes.end == Errc::kOk);
  notes.learned_ns = monotonic_ns();
  return notes.messages <= kRingful + 1 ? 0 : notes.complaint.say("it sent more than a ringful");
}

int sleep_as_producer(const std::string& path, Notes& notes) {
  auto producer = ChannelProducer::connect(path, options_of(Survivor::kParked), hang_deadline());
  if (!producer.ok()) return 2;
  for (;;) {
    if (notes.messages == kRingful) notes.waiting.store(true);
    if (!producer->send({}, 0, hang_deadline()).ok()) return 1;
    ++notes.messages;
  }
}

int survive_sleeping_producer(ChannelListener& listener, Notes& notes) {
  auto consumer = ChannelConsumer::accept(listener, options_of(Survivor::kParked), hang_deadline());
  if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
  await_kill(notes);
  std::uint64_t got = 0;
  for (;;) {
    notes.end = consumer->peek(hang_deadline()).error();
    if (notes.end != Errc::kOk) break;
    ++got;
    if (!consumer->release().ok()) return notes.complaint.say("no release");
  }
  notes.learned_ns = monotonic_ns();
  return got == kRingful ? 0 : notes.complaint.say("it got " + std::to_string(got));
}

constexpr Sleeper kSleepers[] = {
    {"a consumer that sleeps", sleep_as_consumer, survive_sleeping_consumer},
    {"a producer that sleeps", sleep_as_producer, survive_sleeping_producer},
};

}  // namespace

TEST_CASE("An end that is killed in its sleep leaves what is there, and is known to be gone") {
  for (const Sleeper& sleeper : kSleepers) {
    Delays delays;
    for (int i = 0; i < 50; ++i) {
      INFO(sleeper.name << ", kill " << i);
      const TemporaryDirectory directory;
      const std::string path = directory.file("channel.sock");
      const Shared<Notes> notes;
      ChildProcess living = listening_child(
          path, [&](ChannelListener& listener) { return sleeper.survive(listener, *notes); });
      ChildProcess victim([&] { return sleeper.sleep(path, *notes); });
      await_waiting(*notes, Survivor::kParked, victim.pid());
      const std::uint64_t now = monotonic_ns();
      victim.send(SIGKILL);
      CHECK(victim.wait() == -SIGKILL);
      notes->killed_ns.store(now);
      const int code = living.wait();
      INFO("the survivor says: " << notes->complaint.text);
      CHECK(code == 0);
      CHECK(notes->end == Errc::kPeerGone);
      delays.add(Survivor::kElsewhere, *notes);
    }
    delays.print(sleeper.name);
  }
}

namespace {

// Serves one peer after another, regardless of their fate, until one sends the next peer's message.
int serve_until_next(ChannelListener& listener, Notes& notes) {
  for (;;) {
    auto consumer =
        ChannelConsumer::accept(listener, options_of(Survivor::kParked), hang_deadline());
    if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
    const Result<Message> peek = consumer->peek(hang_deadline());
    if (peek.ok()) return peek->type == kNextConnection ? 0 : 1;
    notes.end = peek.error();
    notes.learned_ns = monotonic_ns();
    ++notes.messages;
    if (peek.error() != Errc::kPeerGone) return notes.complaint.say(name_of(peek.error()));
  }
}

int connect_as_victim(SteppedChild::Marks& marks, const std::string& path) {
  marks.begin();
  const auto producer =
      ChannelProducer::connect(path, options_of(Survivor::kSpinning), hang_deadline());
  marks.end();
  return producer.ok() ? 0 : 1;
}

// Returns true if it had connected before it was killed.
bool kill_connecting(SteppedChild::By by, std::uint64_t steps, Notes& notes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  ChildProcess living = listening_child(
      path, [&](ChannelListener& listener) { return serve_until_next(listener, notes); });
  SteppedChild victim([&](SteppedChild::Marks& marks) { return connect_as_victim(marks, path); });
  REQUIRE(victim.reaches_begin());
  const bool over = victim.step(by, steps);
  notes.killed_ns.store(victim.kill());
  be_next_peer<ChannelProducer>(path);
  const int code = living.wait();
  INFO("the survivor says: " << notes.complaint.text);
  REQUIRE(code == 0);
  return over;
}

// Connects until it receives the next listener's message. Every other result must be the end of the
// killed listener.
int connect_until_next(const std::string& path, Notes& notes) {
  const Deadline deadline = hang_deadline();
  for (;;) {
    auto consumer = ChannelConsumer::connect(path, options_of(Survivor::kParked), hang_deadline());
    const Errc failed = errc_of(consumer.status());
    if (failed != Errc::kOk && failed != Errc::kNoBus && failed != Errc::kPeerGone) {
      return notes.complaint.say(std::string(consumer.status().message()));
    }
    if (consumer.ok()) {
      const Result<Message> peek = consumer->peek(hang_deadline());
      if (peek.ok() && peek->type == kNextConnection) {
        return consumer->release().ok() ? 0 : 1;
      }
      notes.end = peek.error();
      ++notes.messages;
      if (peek.error() != Errc::kPeerGone) return notes.complaint.say(name_of(peek.error()));
    }
    if (deadline.has_passed()) return notes.complaint.say("nobody listens any more");
    wait_readable(-1, 1'000'000);
  }
}

int listen_as_victim(SteppedChild::Marks& marks, const std::string& path) {
  marks.begin();
  auto listener = ChannelListener::listen(path);
  const auto producer =
      ChannelProducer::accept(*listener, options_of(Survivor::kSpinning), hang_deadline());
  marks.end();
  return producer.ok() ? 0 : 1;
}

bool kill_listening(SteppedChild::By by, std::uint64_t steps, Notes& notes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  ChildProcess living([&] { return connect_until_next(path, notes); });
  SteppedChild victim([&](SteppedChild::Marks& marks) { return listen_as_victim(marks, path); });
  REQUIRE(victim.reaches_begin());
  const bool over = victim.step(by, steps);
  victim.kill();
  auto listener = ChannelListener::listen(path);
  INFO(listener.status());
  REQUIRE(listener.ok());
  auto next = ChannelProducer::accept(*listener, options_of(Survivor::kParked), hang_deadline());
  REQUIRE(next.ok());
  CHECK(next->send({}, kNextConnection, hang_deadline()) == Errc::kOk);
  CHECK(next->drain(hang_deadline()) == Errc::kOk);
  const int code = living.wait();
  INFO("the survivor says: " << notes.complaint.text);
  REQUIRE(code == 0);
  return over;
}

// Kills at every system call, and at some instructions between them.
template <typename Kill>
void kill_during_handshake(const char* what, const Kill& kill) {
  std::uint64_t kills = 0;
  std::uint64_t connections = 0;
  const auto kill_after = [&](SteppedChild::By by, std::uint64_t steps) {
    INFO(what << ", after " << steps
              << (by == SteppedChild::By::kInstruction ? " instructions"
                                                       : " stops at system calls"));
    const Shared<Notes> notes;
    const bool over = kill(by, steps, *notes);
    ++kills;
    connections += notes->messages;
    return over;
  };
  kill_after_each({1, 1}, [&](std::uint64_t steps) {
    return kill_after(SteppedChild::By::kSystemCall, steps);
  });
  constexpr std::uint64_t kInstructions = 997;  // step width in instructions
  const std::uint64_t wide =
      kInstructions * std::max<std::uint64_t>(1, 100 / count_from("LAPWING_KILLS", 100));
  kill_after_each({static_cast<std::uint64_t>(getpid()) % wide, wide}, [&](std::uint64_t steps) {
    return kill_after(SteppedChild::By::kInstruction, steps);
  });
  std::printf("%-38s %4llu kills, in %llu of them the survivor had a channel\n", what,
              static_cast<unsigned long long>(kills), static_cast<unsigned long long>(connections));
  CHECK(kills > 40);
  CHECK(connections > 0);
  CHECK(connections < kills);
}

}  // namespace

TEST_CASE("Who is killed while it connects holds up nobody") {
  kill_during_handshake("killed while it connects", kill_connecting);
}

TEST_CASE("A listener killed at any step leaves a path that the next one can listen on") {
  kill_during_handshake("killed while it listens and accepts", kill_listening);
}

}  // namespace lapwing

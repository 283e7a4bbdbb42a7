// A peer in another process passes its sealed memory file correctly, then writes arbitrary data
// into it while this side reads: words, heads, stamps, sizes, payloads, at any moment. This side
// must only return messages within their bounds, or report that the peer is corrupt or gone: no
// crash, no hang, no access beyond its mappings.
//
// LAPWING_SCRIBBLE_SECONDS: duration of the test with each of the two kinds of peer.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "channel/handshake.h"
#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/hostile_channel.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kHangNs = 60 * kNsPerSecond;
constexpr std::uint64_t kStepsPerChannel = 20'000;  // of the honest side
constexpr std::uint64_t kWaitNsMax = 100'000;
constexpr std::size_t kBatchMax = 16;

std::uint64_t scribble_ns() {
  return count_from("LAPWING_SCRIBBLE_SECONDS", 3) * kNsPerSecond;
}

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

// What the child has done: a run without actions is void.
struct Notes {
  std::atomic<std::uint64_t> scribbles{0};
  std::atomic<std::uint64_t> honest{0};    // messages sent or released correctly
  std::atomic<std::uint64_t> channels{0};  // opened
  std::atomic<bool> stop{false};
  Complaint complaint{};
};

// Writes to any byte of its own mapping, at any moment.
class Scribbler {
 public:
  Scribbler(const OwnMemory& memory, Random& random, Notes& notes)
      : random_(random),
        notes_(notes),
        capacity_(memory.header().capacity),
        file_(reinterpret_cast<std::byte*>(&memory.words()) - kPageBytes,
              kChannelHeaderBytes + capacity_) {}

  // `position`: the honest side's next position, as far as it is known.
  void act(ChannelPosition position) {
    notes_.scribbles.fetch_add(1, std::memory_order_relaxed);
    switch (random_.below(8)) {
      case 0:
        return write(random_.below(kPageBytes / 8) * 8, random_.next());  // the header
      case 1:
        return spoil_word(position);
      case 2:
        return write(random_.below(file_.size() / 8) * 8, random_.next());
      case 3:
        if (capacity_ != 0) spoil_payload();
        return;
      default:
        if (capacity_ == 0) return spoil_word(position);
        return spoil_head(position);
    }
  }

 private:
  // Positions, ticket, state, counts: near the correct value, or arbitrary.
  void spoil_word(ChannelPosition position) {
    static constexpr std::size_t kOffsets[] = {0, 8, 128, 136, 256, 384, 512, 640, 896, 1024};
    const std::size_t offset = kOffsets[random_.below(std::size(kOffsets))];
    write(kPageBytes + offset, spoilt(random_, position, std::max<std::uint64_t>(capacity_, 1024)));
  }
  // The next frame to be read, or one close to it: its head, or the size of a long message.
  void spoil_head(ChannelPosition position) {
    const ChannelPosition at = position + kFrameAlign * random_.below(4);
    const std::size_t frame = kChannelHeaderBytes + at % capacity_;
    static constexpr std::uint32_t kSizes[] = {
        0, 1, 48, 64, 1 << 20, kPaddingFrame, kPaddingFrame - 1, 0x80000000};
    const std::uint32_t size = random_.one_in(4) ? static_cast<std::uint32_t>(random_.next())
                                                 : kSizes[random_.below(std::size(kSizes))];
    const auto type = static_cast<std::uint32_t>(random_.next());
    const FrameWords words =
        frame_words(FrameHeads(capacity_), at, size, type, kPayloadOffsetPacked);
    if (random_.one_in(2)) return write(frame, spoilt(random_, words.head, capacity_));
    write(frame + 8, words.second);
  }
  void spoil_payload() {
    const std::size_t at = kChannelHeaderBytes + random_.below(capacity_ / 8) * 8;
    for (std::size_t i = 0; i < 8 && at + 8 * i < file_.size(); ++i) {
      write(at + 8 * i, random_.next());
    }
  }
  // One store that the compiler cannot omit, as another process would see it.
  void write(std::size_t offset, std::uint64_t value) {
    std::byte* const at = file_.data() + offset;
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at))
        .store(value, std::memory_order_relaxed);
  }

  Random& random_;
  Notes& notes_;
  std::uint64_t capacity_;
  std::span<std::byte> file_;
};

// --- The child: opens one channel after another, mostly follows the rules, and scribbles

template <ChannelRole role>
class HostileSide {
 public:
  HostileSide(std::unique_ptr<ChannelSide> side, Random& random, Notes& notes)
      : side_(std::move(side)),
        random_(random),
        notes_(notes),
        scribbler_(side_->own(), random, notes),
        every_(2 + (std::uint64_t{1} << random.below(12))) {
    const OwnMemory& own = side_->own();
    const PeerMemory& peer = side_->peer();
    if (role == ChannelRole::kProducer) {
      writer_ = FrameWriter(own.data(), own.header(), own.words(), peer.words());
    } else {
      reader_ = FrameReader(peer.data(), peer.header(), own.words());
    }
  }

  // Runs until the honest side has closed it, or for a limited number of steps.
  void run() {
    const bool leaves = random_.one_in(4);
    for (std::uint64_t i = 0; i < kStepsPerChannel && !notes_.stop.load(); ++i) {
      if (load_channel_state(side_->peer().words()) != ChannelState::kOpen) return;
      play_by_the_rules();
      if (random_.one_in(every_)) scribbler_.act(position());
      if (random_.one_in(64)) side_->wake_peer();
      if (random_.one_in(20'000)) send(side_->fd(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (leaves && random_.one_in(kStepsPerChannel / 4)) return;
    }
  }

 private:
  // The honest side's next position, or how far it has sent.
  ChannelPosition position() const {
    const ChannelWords& words = side_->peer().words();
    const PaddedWord* const all = reinterpret_cast<const PaddedWord*>(&words);
    return load_tally(all[role == ChannelRole::kProducer ? 1 : 0].value);
  }

  void play_by_the_rules() {
    if (role == ChannelRole::kProducer) {
      const auto size =
          static_cast<std::uint32_t>(random_.below(writer_.message_bytes_max() + 1ULL));
      if (writer_.claim(size) != FrameWriter::Room::kYes) return;
      std::memset(writer_.payload().data(), 0x5a, size);
      writer_.stage(size, 1);
      writer_.publish();
    } else {
      Message message;
      if (reader_.look(reader_.position(), message) != FrameReader::Look::kMessage) return;
      reader_.release(message.end, 1);
    }
    notes_.honest.fetch_add(1, std::memory_order_relaxed);
    side_->wake_peer();
  }

  std::unique_ptr<ChannelSide> side_;
  Random& random_;
  Notes& notes_;
  Scribbler scribbler_;
  std::uint64_t every_;
  FrameWriter writer_;
  FrameReader reader_;
};

ChannelOptions any_options(Random& random) {
  constexpr WaitStrategy kStrategies[] = {WaitStrategy::kBusy, WaitStrategy::kBackoff,
                                          WaitStrategy::kPark};
  ChannelOptions options;
  options.capacity = kChannelCapacityMin << random.below(6);
  options.aligned_payloads = random.one_in(3);
  const std::uint32_t offset =
      options.aligned_payloads ? kPayloadOffsetAligned : kPayloadOffsetPacked;
  const std::uint32_t largest = largest_message(options.capacity, offset);
  options.message_bytes_max =
      random.one_in(2) ? largest : static_cast<std::uint32_t>(random.below(largest));
  options.wait = kStrategies[random.below(std::size(kStrategies))];
  options.membarrier = random.one_in(2);
  return options;
}

template <ChannelRole role>
int scribble(const std::string& path, std::uint64_t seed, Notes& notes) {
  Random random(seed);
  while (!notes.stop.load()) {
    auto side = connect_channel(path, role, any_options(random), hang_deadline().monotonic_ns());
    const Errc error = errc_of(side.status());
    if (error == Errc::kNoBus || error == Errc::kPeerGone) {  // not yet, or no longer
      wait_readable(-1, kWaitNsMax);
      continue;
    }
    if (!side.ok()) return notes.complaint.say(std::string(side.status().message()));
    notes.channels.fetch_add(1);
    HostileSide<role>(std::move(*side), random, notes).run();
  }
  return 0;
}

// --- This process: acts like an application, and checks each answer

using Results = std::map<Errc, std::uint64_t>;

bool has_ended(Errc result) {
  return result == Errc::kClosed || result == Errc::kPeerGone || result == Errc::kCorrupt;
}

bool may_be(Errc result) {
  return result == Errc::kOk || result == Errc::kWouldBlock || result == Errc::kTimedOut ||
         result == Errc::kMisuse;
}

Deadline a_deadline(Random& random) {
  return std::chrono::nanoseconds(random.below(kWaitNsMax));
}

struct HonestConsumer {
  static constexpr ChannelRole kPeerRole = ChannelRole::kProducer;
  using End = ChannelConsumer;

  explicit HonestConsumer(ChannelConsumer opened)
      : end(std::move(opened)), buffer(end.message_bytes_max()) {}

  Errc step(Random& random) {
    switch (random.below(8)) {
      case 0:
        return read(end.try_peek());
      case 1:
      case 2:
        return read(end.peek(a_deadline(random)));
      case 3: {
        const Result<std::size_t> peeked = end.peek_batch(batch, a_deadline(random));
        for (std::size_t i = 0; i < *peeked; ++i) read(batch[i]);
        return peeked.error();
      }
      case 4: {
        const Result<Received> received = end.receive(buffer, a_deadline(random));
        if (received.ok() && received->size > buffer.size()) bad = true;
        return received.error();
      }
      case 5:
        return end.arm() ? Errc::kWouldBlock : Errc::kOk;
      default:
        return end.release().error();
    }
  }
  Errc try_again() { return end.try_peek().error(); }

  Errc read(const Result<Message>& peek) {
    if (peek.ok()) read(*peek);
    return peek.error();
  }
  void read(const Message& message) {
    if (message.payload.size() > end.message_bytes_max()) bad = true;
    for (const std::byte byte : message.payload) sum += static_cast<std::uint64_t>(byte);
    messages += 1;
  }

  ChannelConsumer end;
  std::vector<std::byte> buffer;
  std::array<Message, kBatchMax> batch{};
  std::uint64_t sum = 0;
  std::uint64_t messages = 0;
  bool bad = false;
};

struct HonestProducer {
  static constexpr ChannelRole kPeerRole = ChannelRole::kConsumer;
  using End = ChannelProducer;

  explicit HonestProducer(ChannelProducer opened)
      : end(std::move(opened)), payload(end.message_bytes_max()) {}

  Errc step(Random& random) {
    const std::size_t size = random.below(payload.size() + 1);
    switch (random.below(8)) {
      case 0:
        return write(end.try_claim(size));
      case 1:
      case 2:
        return write(end.claim(size, a_deadline(random)));
      case 3:
        return note(end.commit(random.below(size + 1), 1));
      case 4:
        return note(end.stage(random.below(size + 1), 2));
      case 5:
        return note(end.send(std::span(payload).first(size), 3, a_deadline(random)));
      case 6:
        return end.drain(a_deadline(random)).error();
      default:
        return end.arm(size) ? Errc::kWouldBlock : Errc::kOk;
    }
  }
  Errc try_again() { return end.try_claim(0).error(); }

  Errc write(const Result<std::span<std::byte>>& claim) {
    if (claim->size() > payload.size()) bad = true;
    if (!claim->empty()) std::memset(claim->data(), 0x5a, claim->size());
    return claim.error();
  }
  Errc note(Result<> result) {
    messages += result.ok();
    return result.error();
  }

  ChannelProducer end;
  std::vector<std::byte> payload;
  std::uint64_t messages = 0;
  bool bad = false;
};

template <typename Honest>
void serve(Honest& honest, Random& random, Results& results) {
  for (;;) {
    const std::uint64_t before_ns = monotonic_ns();
    const Errc result = honest.step(random);
    if (monotonic_ns() - before_ns > kHangNs) FAIL("a call did not come back in time");
    REQUIRE((may_be(result) || has_ended(result)));
    REQUIRE_FALSE(honest.bad);
    ++results[result];
    if (!has_ended(result)) continue;
    if (result == Errc::kCorrupt) CHECK(errc_of(honest.end.status()) == Errc::kCorrupt);
    const Errc again = honest.try_again();
    // A peer that ended may have left messages, which can still be read.
    CHECK((again == result || (result != Errc::kCorrupt && again == Errc::kOk)));
    return;
  }
}

template <typename Honest>
void withstand(const char* what, std::uint64_t seed) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess child([&] {  // before the listener exists, of which the child would hold a copy
    run_on_processor(1);
    return scribble<Honest::kPeerRole>(path, seed, *notes);
  });
  std::optional<ChannelListener> listener = *ChannelListener::listen(path);
  Random random(seed + 1);
  Results results;
  std::uint64_t messages = 0;
  std::uint64_t channels = 0;
  const std::uint64_t& corrupt = results[Errc::kCorrupt];
  const auto has_seen_enough = [&] {
    return channels > 3 && messages > 1000 && corrupt > 0 && notes->scribbles.load() > 1000;
  };
  const std::uint64_t until_ns = monotonic_ns() + scribble_ns();
  const std::uint64_t hang_ns = until_ns + kHangNs;
  while (monotonic_ns() < until_ns || (!has_seen_enough() && monotonic_ns() < hang_ns)) {
    auto end = Honest::End::accept(*listener, any_options(random), hang_deadline());
    INFO(end.status() << ' ' << notes->complaint.text);
    REQUIRE(end.ok());
    Honest honest(std::move(*end));
    serve(honest, random, results);
    messages += honest.messages;
    ++channels;
  }
  notes->stop.store(true);
  listener.reset();  // otherwise the child would wait to be served
  const int code = child.wait();
  INFO(notes->complaint.text);
  CHECK(code == 0);
  std::printf(
      "%s: %llu scribbles beside %llu steps by the rules; %llu messages over %llu channels, of "
      "which %llu ended as corrupt\n",
      what, static_cast<unsigned long long>(notes->scribbles.load()),
      static_cast<unsigned long long>(notes->honest.load()),
      static_cast<unsigned long long>(messages), static_cast<unsigned long long>(channels),
      static_cast<unsigned long long>(corrupt));
  CHECK(has_seen_enough());
}

}  // namespace

TEST_CASE("A consumer withstands a producer that scribbles over its own memory meanwhile") {
  withstand<HonestConsumer>("a producer", 31);
}

TEST_CASE("A producer withstands a consumer that scribbles over its own memory meanwhile") {
  withstand<HonestProducer>("a consumer", 32);
}

}  // namespace lapwing

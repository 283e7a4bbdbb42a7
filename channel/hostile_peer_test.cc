// A hostile peer at the other end of an open channel: it writes arbitrary data into its own memory,
// and sends arbitrary data over the socket. Every call by the victim returns a permitted result,
// and after `corrupt` the channel stays closed.
//
// LAPWING_CHANNEL_OPERATIONS: twenty times the number of variants.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "channel/descriptors.h"
#include "lapwing/duplex.h"
#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"
#include "testing/hostile_channel.h"
#include "testing/open_descriptors.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kVariantsPerChannel = 100;
constexpr std::uint64_t kWaitNsMax = 200'000;
constexpr std::size_t kBatchMax = 16;
constexpr std::uint32_t kWindow = 4;  // of calls

std::uint64_t variants() {
  return channel_operations() / 20;
}

// The other end, simulated: it has a normal memory file, but violates the protocol.
class HostilePeer {
 public:
  // Connects as `role` and sends a hello. The victim must then accept.
  HostilePeer(const std::string& path, ChannelRole role, const FrameGeometry& geometry,
              Random& random)
      : random_(random),
        geometry_(geometry),
        memory_(make_memory(role, geometry)),
        fd_(*connect_local(path, soon().monotonic_ns(), kChannelSocket)) {
    auto hello = make_frame<ChannelHelloFrame>(FrameType::kChannelHello);
    hello.abi_version = kChannelAbiVersion;
    hello.role = role;
    hello.has_membarrier = random.one_in(2);
    hello.connection_id = memory_.header().connection_id;
    const int descriptor = memory_.fd();
    REQUIRE(send_with_descriptors(fd_.get(), std::as_bytes(std::span(&hello, 1)),
                                  std::span(&descriptor, 1)) == SendOutcome::kSent);
  }

  // Call it after the victim has accepted. Maps the victim's memory, to observe its progress.
  void look_at_victim() {
    Packet packet;
    std::vector<UniqueFd> descriptors;
    REQUIRE(receive_with_descriptors(fd_.get(), packet, descriptors) == ReceiveOutcome::kFrame);
    REQUIRE(descriptors.size() == 1);
    victim_.emplace(*PeerMemory::map(std::move(descriptors.front()), "the victim"));
    victims_messages_ = FrameReader(victim_->data(), victim_->header(), honest_words_);
  }
  ChannelState victim_state() const { return load_channel_state(victim_->words()); }

  // Whether its position is possible. If not, the victim does not wait for it.
  bool says_what_may_be() const {
    const ChannelPosition received = memory_.words().received.position;
    return received % kFrameAlign == 0 && received <= victim_->words().sent.position;
  }

  void act() {
    spoil_words();
    if (memory_.header().role == ChannelRole::kProducer && !random_.one_in(8)) forge();
    if (memory_.header().role == ChannelRole::kDuplex) play_duplex();
    if (random_.one_in(32)) flood();
    if (random_.one_in(300)) send_garbage();
    if (random_.one_in(100)) fd_.reset();
  }
  // Repeatedly changes the same words, from another thread.
  void flip() {
    const Word received = victim_->words().sent.position;
    for (const Word word : {received, Word{0}, ~Word{0}, received + 64, received, received - 64}) {
      store_received(memory_.words(), word, word);
      store_ticket(memory_.words(), word + 1);
      store_channel_state(memory_.words(), static_cast<ChannelState>(word));
    }
  }

 private:
  static OwnMemory make_memory(ChannelRole role, const FrameGeometry& geometry) {
    ChannelHeader header =
        frame_header(geometry.capacity, geometry.maximum, geometry.payload_offset);
    if (role == ChannelRole::kConsumer) header = {};
    if (role == ChannelRole::kDuplex) header.call_window = kWindow;
    header.role = role;
    header.connection_id = *random_id();
    absl::StatusOr<OwnMemory> memory = OwnMemory::create(header, false, std::nullopt);
    REQUIRE(memory.ok());
    return std::move(*memory);
  }

  void spoil_words() {
    ChannelWords& words = memory_.words();
    const ChannelWords& victims = victim_->words();
    const Word right = victims.sent.position;
    if (memory_.header().role == ChannelRole::kProducer) {
      words.received.position = 0;
    } else if (random_.one_in(8)) {
      words.received.position = spoilt(random_, right, kChannelCapacityMin);
    } else if (random_.one_in(8)) {
      words.received.position = right;
    }
    words.received.messages = random_.next();
    words.sent.position = random_.next();
    words.sent.messages = random_.next();
    if (random_.one_in(4)) words.ticket.value = random_.next();
    if (random_.one_in(4))
      words.state.value = random_.one_in(2) ? random_.below(5) : random_.next();
    words.taken.value = random_.next();
    words.wakes.value = random_.next();
  }
  void forge() {
    FrameForger forger({memory_.data(), memory_.header().capacity}, geometry_, random_);
    forger.forge(victim_->words().received.position);
    if (random_.one_in(16)) forger.scatter_noise();
  }
  // Mostly obeys the rules of frames, so that the rules of calls are tested.
  void play_duplex() {
    if (random_.one_in(16)) return forge();
    listen();
    FrameForger forger({memory_.data(), memory_.header().capacity}, geometry_, random_);
    const CallHead call{random_.one_in(16) ? random_.next() : kWindow + random_.below(30),
                        static_cast<CallKind>(random_.below(7)), 0};
    const CallHead reply{last_call_, random_.one_in(2) ? CallKind::kReply : CallKind::kErrorReply,
                         9};
    const bool replies = last_call_ != 0 && random_.one_in(2);
    if (replies) last_call_ = 0;
    if (replies || random_.one_in(4)) {
      forger.write_message(victim_->words().received.position, 0, replies ? reply : call);
    }
  }
  // Reads the victim's calls. Data that is overwritten in the meantime does not matter.
  void listen() {
    Message message;
    while (victims_messages_.look(victims_messages_.position(), message) ==
           FrameReader::Look::kMessage) {
      CallHead head;
      std::memcpy(&head, victims_messages_.call_head(message), sizeof head);
      if (head.kind == CallKind::kCall) last_call_ = head.call;
      victims_messages_.release(message.end, 1);
    }
  }
  void flood() {
    const auto wake = make_frame<WakeFrame>(FrameType::kWake);
    for (std::uint64_t i = random_.below(300); i > 0 && fd_.valid(); --i) {
      send_frame(fd_.get(), wake);
    }
  }
  void send_garbage() {
    std::array<std::byte, 64> garbage;
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random_.next());
    if (fd_.valid()) send_frame(fd_.get(), std::span(garbage).first(1 + random_.below(64)));
  }

  Random& random_;
  FrameGeometry geometry_;
  OwnMemory memory_;
  UniqueFd fd_;
  std::optional<PeerMemory> victim_;
  ChannelWords honest_words_{};  // not visible to the victim
  FrameReader victims_messages_;
  CallId last_call_ = 0;  // a call by the victim that has no reply yet
};

// --- The victims: each performs an operation, and returns its result

using Results = std::map<Errc, std::uint64_t>;

Deadline a_deadline(Random& random) {
  return std::chrono::nanoseconds(random.below(kWaitNsMax));
}

class ConsumerVictim {
 public:
  static constexpr ChannelRole kPeerRole = ChannelRole::kProducer;
  static constexpr bool kWaitsForRoomAlone = false;
  ConsumerVictim(ChannelListener& listener, const ChannelOptions& options,
                 const FrameGeometry& geometry)
      : maximum_(geometry.maximum),
        consumer_(*ChannelConsumer::accept(listener, options, soon())) {}

  Errc step(Random& random) {
    switch (random.below(10)) {
      case 0:
        return read(consumer_.try_peek());
      case 1:
      case 2:
        return read(consumer_.peek(a_deadline(random)));
      case 3:
        return read(consumer_.try_peek_batch(batch_));
      case 4:
        return read(consumer_.peek_batch(batch_, a_deadline(random)));
      case 5:
      case 6:
        return consumer_.release().error();
      case 7:
        return consumer_.release(batch_, random.below(kBatchMax)).error();
      case 8: {
        std::vector<std::byte> buffer(maximum_);
        return consumer_.receive(buffer, a_deadline(random)).error();
      }
      default:
        return consumer_.arm() ? Errc::kWouldBlock : Errc::kOk;
    }
  }
  Errc try_again() { return consumer_.try_peek().error(); }
  const absl::Status& status() const { return consumer_.status(); }

 private:
  Errc read(const Result<Message>& peek) {
    if (peek.ok()) read(*peek);
    return peek.error();
  }
  Errc read(const Result<std::size_t>& peeked) {
    for (std::size_t i = 0; i < *peeked; ++i) read(batch_[i]);
    return peeked.error();
  }
  void read(const Message& message) {
    REQUIRE(message.payload.size() <= maximum_);
    for (const std::byte byte : message.payload) sum_ += static_cast<std::uint64_t>(byte);
  }

  std::uint32_t maximum_;
  ChannelConsumer consumer_;
  std::array<Message, kBatchMax> batch_{};
  std::uint64_t sum_ = 0;
};

class ProducerVictim {
 public:
  static constexpr ChannelRole kPeerRole = ChannelRole::kConsumer;
  static constexpr bool kWaitsForRoomAlone = true;
  ProducerVictim(ChannelListener& listener, const ChannelOptions& options,
                 const FrameGeometry& geometry)
      : maximum_(geometry.maximum),
        producer_(*ChannelProducer::accept(listener, options, soon())) {}

  Errc step(Random& random) {
    const std::size_t size = random.below(maximum_ + 1ULL);
    switch (random.below(10)) {
      case 0:
        return write(producer_.try_claim(size));
      case 1:
      case 2:
        return write(producer_.claim(size, a_deadline(random)));
      case 3:
        return producer_.commit(random.below(size + 1), 1).error();
      case 4:
        return producer_.stage(random.below(size + 1), 2).error();
      case 5:
        return producer_.commit_staged().error();
      case 6:
        return producer_.send(std::vector<std::byte>(size), 3, a_deadline(random)).error();
      case 7: {
        const std::vector<std::byte> payload(size);
        const std::vector<Outgoing> batch(kBatchMax, Outgoing{payload, 4});
        return producer_.send_batch(batch, a_deadline(random)).error();
      }
      case 8:
        return producer_.drain(a_deadline(random)).error();
      default:
        return producer_.arm(size) ? Errc::kWouldBlock : Errc::kOk;
    }
  }
  Errc try_again() { return producer_.try_claim(0).error(); }
  const absl::Status& status() const { return producer_.status(); }

 private:
  static Errc write(const Result<std::span<std::byte>>& claim) {
    if (!claim->empty()) std::memset(claim->data(), 0x5a, claim->size());
    return claim.error();
  }

  std::uint32_t maximum_;
  ChannelProducer producer_;
};

class DuplexVictim {
 public:
  static constexpr ChannelRole kPeerRole = ChannelRole::kDuplex;
  static constexpr bool kWaitsForRoomAlone = false;
  DuplexVictim(ChannelListener& listener, const ChannelOptions& options,
               const FrameGeometry& geometry)
      : maximum_(geometry.maximum), duplex_(*Duplex::accept(listener, options, soon())) {}

  Errc step(Random& random) {
    const std::vector<std::byte> payload(random.below(maximum_ + 1ULL));
    switch (random.below(14)) {
      case 0:
        return read(duplex_.call(payload, 1, a_deadline(random)));
      case 1:
        return note(duplex_.try_start(payload, 2, a_deadline(random)));
      case 2:
        return note(duplex_.start(payload, 3, a_deadline(random)));
      case 3:
        return read(duplex_.finish(started_));
      case 4:
        return read(duplex_.try_finish_any());
      case 5:
        return read(duplex_.finish_any(a_deadline(random)));
      case 6:
        return duplex_.cancel(started_).error();
      case 7:
        return read(duplex_.try_next());
      case 8:
        return read(duplex_.next(a_deadline(random)));
      case 9:
        return duplex_.reply(taken_, payload, 4, a_deadline(random)).error();
      case 10:
        return duplex_.reply_error(taken_, 5, "no", a_deadline(random)).error();
      case 11:
        return duplex_.try_send(payload, 6).error();
      case 12:
        return duplex_.send(payload, 7, a_deadline(random)).error();
      default:
        return duplex_.arm() ? Errc::kWouldBlock : Errc::kOk;
    }
  }
  Errc try_again() { return duplex_.try_next().error(); }
  const absl::Status& status() const { return duplex_.status(); }

  // Forged replies and messages that were accepted, over all victims.
  static inline std::uint64_t replies = 0;
  static inline std::uint64_t incomings = 0;

 private:
  Errc read(const Result<Reply>& reply) {
    REQUIRE(reply->payload.size() <= maximum_);
    replies += reply.ok();
    return reply.error();
  }
  Errc read(const Result<Incoming>& incoming) {
    REQUIRE(incoming->payload.size() <= maximum_);
    incomings += incoming.ok();
    if (incoming.ok()) taken_ = incoming->call;
    return incoming.error();
  }
  Errc note(const Result<CallId>& started) {
    if (started.ok()) started_ = *started;
    return started.error();
  }

  std::uint32_t maximum_;
  Duplex duplex_;
  CallId started_ = 0;
  CallId taken_ = 0;
};

ChannelOptions any_options(const FrameGeometry& geometry, Random& random) {
  constexpr WaitStrategy kStrategies[] = {WaitStrategy::kBusy, WaitStrategy::kBackoff,
                                          WaitStrategy::kPark};
  return {.capacity = geometry.capacity,
          .message_bytes_max = geometry.maximum,
          .aligned_payloads = geometry.payload_offset == kPayloadOffsetAligned,
          .call_window = kWindow,
          .wait = kStrategies[random.below(3)],
          .membarrier = random.one_in(2)};
}

// Only a duplex has call heads between head and payload.
FrameGeometry any_channel_geometry(ChannelRole role, Random& random) {
  FrameGeometry geometry = any_geometry(random);
  if (geometry.payload_offset == kPayloadOffsetAligned) return geometry;
  const bool has_calls = role == ChannelRole::kDuplex;
  geometry.payload_offset = has_calls ? kPayloadOffsetCalls : kPayloadOffsetPacked;
  geometry.maximum =
      std::min(geometry.maximum, largest_message(geometry.capacity, geometry.payload_offset));
  return geometry;
}

bool has_ended(Errc result) {
  return result == Errc::kClosed || result == Errc::kPeerGone || result == Errc::kCorrupt;
}

// The end is final, and corruption is reported to a peer that can still see it.
template <typename Victim>
void check_end(Victim& victim, Errc result, const HostilePeer& peer) {
  if (result != Errc::kCorrupt) return;
  CHECK(errc_of(victim.status()) == Errc::kCorrupt);
  CHECK(victim.try_again() == Errc::kCorrupt);
  CHECK(peer.victim_state() == ChannelState::kCorrupt);
}

// Opens one channel after another, and lets the peer act before every step of the victim.
template <typename Victim>
Results torment(std::uint64_t seed, std::uint64_t variants) {
  const TemporaryDirectory directory;
  ChannelListener listener = *ChannelListener::listen(directory.file("channel.sock"));
  Random random(seed);
  Results results;
  const std::size_t descriptors = open_descriptors();
  for (std::uint64_t done = 0; done < variants;) {
    const FrameGeometry geometry = any_channel_geometry(Victim::kPeerRole, random);
    HostilePeer peer(listener.path(), Victim::kPeerRole, geometry, random);
    Victim victim(listener, any_options(geometry, random), geometry);
    peer.look_at_victim();
    for (std::uint64_t i = 0; i < kVariantsPerChannel; ++i, ++done) {
      peer.act();
      const std::uint64_t before_ns = monotonic_ns();
      const Errc result = victim.step(random);
      ++results[result];
      INFO("seed " << seed << ", variant " << done << ": " << name_of(result));
      if (monotonic_ns() - before_ns > kChannelTestNs) FAIL("a call did not come back in time");
      const bool waited = result == Errc::kWouldBlock || result == Errc::kTimedOut;
      if (Victim::kWaitsForRoomAlone && waited && !peer.says_what_may_be())
        FAIL("the victim waits for what cannot be");
      if (!has_ended(result)) continue;
      check_end(victim, result, peer);
      break;
    }
  }
  CHECK(open_descriptors() == descriptors);
  return results;
}

void check_results(const Results& results, std::uint64_t variants) {
  for (const auto& [result, count] : results) {
    INFO(name_of(result) << ": " << count);
    CHECK(result <= Errc::kMisuse);
  }
  for (const Errc expected :
       {Errc::kOk, Errc::kWouldBlock, Errc::kTimedOut, Errc::kCorrupt, Errc::kMisuse}) {
    INFO(name_of(expected));
    REQUIRE(results.contains(expected));
    CHECK(results.at(expected) > variants / 1000);
  }
  CHECK(results.contains(Errc::kPeerGone));
  // More than one in 300: these are invalid packets on the socket.
  CHECK(results.at(Errc::kCorrupt) > variants / 60);
}

TEST_CASE("A consumer with a hostile producer returns from every call, and closes if corrupt") {
  check_results(torment<ConsumerVictim>(1120, variants()), variants());
}

TEST_CASE("A producer with a hostile consumer returns from every call, and closes if corrupt") {
  check_results(torment<ProducerVictim>(2011, variants()), variants());
}

TEST_CASE("A duplex with a hostile other side returns from every call, and closes if corrupt") {
  check_results(torment<DuplexVictim>(1126, variants()), variants());
  CHECK(DuplexVictim::replies > variants() / 1000);
  CHECK(DuplexVictim::incomings > variants() / 100);
}

TEST_CASE("A producer returns from every call while its consumer's words flip") {
  const TemporaryDirectory directory;
  ChannelListener listener = *ChannelListener::listen(directory.file("channel.sock"));
  Random random(7);
  Results results;
  for (std::uint64_t done = 0; done < variants() / 4;) {
    const FrameGeometry geometry = any_channel_geometry(ChannelRole::kConsumer, random);
    HostilePeer peer(listener.path(), ChannelRole::kConsumer, geometry, random);
    ProducerVictim victim(listener, any_options(geometry, random), geometry);
    peer.look_at_victim();
    std::atomic<bool> stop{false};
    std::thread flipper([&] {
      while (!stop.load(std::memory_order_relaxed)) peer.flip();
    });
    Errc result = Errc::kOk;
    for (std::uint64_t i = 0; i < kVariantsPerChannel && !has_ended(result); ++i, ++done) {
      result = victim.step(random);
      ++results[result];
    }
    stop.store(true, std::memory_order_relaxed);
    flipper.join();
    check_end(victim, result, peer);
  }
  CHECK(results[Errc::kOk] > 0);
  CHECK(results[Errc::kCorrupt] > 0);
}

}  // namespace
}  // namespace lapwing

// Sends random packets and mutations of valid frames, from a fixed seed, to both ends. With
// sanitizers, this tests memory safety. It always checks that a good client is still served.

#include <map>
#include <random>

#include "bus/control/client.h"
#include "bus/control/server.h"
#include "os/kernel.h"
#include "testing/control_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSeed = 20'131'007;

class PacketSource {
 public:
  // Most frames are of the types that the receiver expects.
  explicit PacketSource(std::vector<FrameType> expected) : expected_(std::move(expected)) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  // Returns a frame with a valid header. Its fields are small numbers, large numbers or noise. Some
  // frames are of unknown types, and some are longer than any release sends.
  std::vector<std::uint8_t> frame() {
    const FrameType type =
        below(8) == 0 ? static_cast<FrameType>(1 + below(64)) : expected_[below(expected_.size())];
    const FrameLength length = control_frame_length(type);
    const std::size_t longer = below(2) == 0 ? below(32) : 0;
    std::vector<std::uint8_t> bytes(below(16) == 0 ? length.max : length.min + longer);
    for (std::size_t i = sizeof(FrameHeader); i < bytes.size(); i += 4) {
      const std::uint32_t values[] = {0, 1, static_cast<std::uint32_t>(below(200)), UINT32_MAX,
                                      static_cast<std::uint32_t>(random_())};
      const std::uint32_t value = values[below(5)];
      std::memcpy(bytes.data() + i, &value, std::min<std::size_t>(4, bytes.size() - i));
    }
    const FrameHeader header{kFrameMagic, kFrameVersion, type,
                             static_cast<std::uint32_t>(bytes.size()), 0};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  std::vector<std::uint8_t> packet() {
    std::vector<std::uint8_t> bytes = frame();
    switch (below(16)) {
      case 0:  // truncated or extended
        bytes.resize(below(2 * kFrameBytesMax));
        break;
      case 1:  // one bit flipped
        bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 2:  // one byte of the header
        bytes[below(sizeof(FrameHeader))] = static_cast<std::uint8_t>(random_());
        break;
      case 3:  // noise
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
        break;
      default:  // unchanged
        break;
    }
    return bytes;
  }

 private:
  std::mt19937_64 random_{kSeed};
  std::vector<FrameType> expected_;
};

// A pool of clients that connect, usually send a Hello, send packets, sometimes read, and
// disconnect.
class Mob {
 public:
  Mob(TestServer& server, PacketSource& source) : server_(server), source_(source), mob_(8) {}

  void act() {
    std::unique_ptr<BareClient>& client = mob_[source_.below(mob_.size())];
    if (client == nullptr) {
      client = std::make_unique<BareClient>(server_.path());
      if (source_.below(4) != 0) client->send(hello_frame("mob"));
    }
    const std::vector<std::uint8_t> bytes = source_.packet();
    client->send_bytes(bytes.data(), bytes.size());
    if (source_.below(16) == 0) server_.now_ns += source_.below(kNsPerSecond / 8);
    if (source_.below(4) == 0) server_.server->turn(server_.now_ns);
    if (source_.below(8) == 0) read(client);
    if (source_.below(64) == 0) client.reset();
  }

  std::uint64_t welcomes = 0;
  std::uint64_t refusals = 0;
  std::uint64_t other_answers = 0;

 private:
  void read(std::unique_ptr<BareClient>& client) {
    Packet packet;
    for (;;) {
      const ReceiveOutcome outcome = client->receive(packet);
      REQUIRE(outcome != ReceiveOutcome::kViolation);
      if (outcome == ReceiveOutcome::kClosed) return client.reset();
      if (outcome == ReceiveOutcome::kWouldBlock) return;
      const FrameType type = packet.as<FrameHeader>().type;
      ++(type == FrameType::kWelcome   ? welcomes
         : type == FrameType::kRefused ? refusals
                                       : other_answers);
    }
  }

  TestServer& server_;
  PacketSource& source_;
  std::vector<std::unique_ptr<BareClient>> mob_;
};

TEST_CASE("A hundred thousand random packets leave the server serving a good client") {
  TestServer server;
  PacketSource source(
      {FrameType::kFlush, FrameType::kReport, FrameType::kListSubscribers, FrameType::kPrune});
  BareClient good = greeted(server, hello_frame("good"));
  Mob mob(server, source);
  std::uint64_t tag = 0;
  for (int i = 0; i < 100'000; ++i) {
    mob.act();
    if (i % 100 == 0) {
      server.welcome.durable = source.below(101);
      server.server->answer_flushes(source.below(101), {JournalState::kGood, 0});
      server.server->answer_prune(source.below(100), Errc::kOk);
    }
    if (i % 1000 != 0) continue;
    server.settle();
    REQUIRE(good.send(flush_frame(++tag, 0)));
    server.settle();
    REQUIRE(good.expect<FlushedFrame>(FrameType::kFlushed).tag == tag);
  }
  CHECK(mob.welcomes > 1000);
  CHECK(mob.refusals > 1000);
  CHECK(mob.other_answers > 1000);
  CHECK(server.dropped(DropReason::kBadFrame) > 1000);
  CHECK(server.flushes_wanted.size() > 100);
  CHECK(server.prunes_wanted.size() > 100);
}

// Makes one client call with a deadline that has passed, so the call takes what has arrived
// and does not wait.
Errc call(ControlClient& client, std::uint64_t which) {
  switch (which) {
    case 0:
      return errc_of(client.flush(1, 0).status());
    case 1:
      return errc_of(client.list_subscribers(0).status());
    case 2:
      return errc_of(client.prune(1, 0).status());
    default:
      return client.publisher_gone() ? Errc::kPublisherGone : Errc::kOk;
  }
}

// Returns whether the packet is a frame of an unknown type.
bool is_skipped(const std::vector<std::uint8_t>& bytes) {
  Packet packet;
  packet.size = bytes.size();
  if (packet.size > sizeof packet.bytes) return false;
  std::memcpy(packet.bytes, bytes.data(), bytes.size());
  const absl::StatusOr<FrameType> type = check_frame(packet);
  return type.ok() && first_frame_bytes(*type) == 0;
}

TEST_CASE("Random packets from what poses as a publisher end in an answer or an error") {
  ScriptedPublisher publisher;
  PacketSource source({FrameType::kWelcome, FrameType::kRefused, FrameType::kFlushed,
                       FrameType::kSubscriberInfo, FrameType::kEndOfList, FrameType::kPruned});
  const WelcomeFrame welcome = welcome_frame();
  std::map<Errc, int> outcomes;
  for (int i = 0; i < 5'000; ++i) {
    const std::vector<std::uint8_t> first = source.packet();
    // A frame that is skipped is followed by the expected one.
    const std::span<const std::byte> after =
        is_skipped(first) ? bytes_of(welcome) : std::span<const std::byte>();
    auto client = publisher.connect_answering(std::as_bytes(std::span(first)), after);
    ++outcomes[errc_of(client.status())];
    if (!client.ok()) client = publisher.connect();
    for (int packets = 0; packets < 5; ++packets) {
      const std::vector<std::uint8_t> bytes = source.packet();
      publisher.send(std::as_bytes(std::span(bytes)));
    }
    for (int calls = 0; calls < 5; ++calls) ++outcomes[call(*client, source.below(4))];
  }
  for (const Errc expected : {Errc::kOk, Errc::kProtocol, Errc::kRefused, Errc::kPublisherGone}) {
    CHECK(outcomes[expected] > 100);
  }
}

}  // namespace
}  // namespace lapwing

// Tests which channels are found, how they are reported, and which files are not channels.

#include "monitor/channel_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "channel/memory_file.h"
#include "proto/text_field.h"
#include "testing/channel_fixture.h"
#include "testing/process_descriptors.h"

namespace lapwing {
namespace {

// Finds the channel with this connection id; the machine may have others.
std::optional<ChannelStatus> find(const Id128& connection_id) {
  absl::StatusOr<ChannelList> list = gather_channel_status();
  REQUIRE(list.ok());
  for (ChannelStatus& channel : list->channels) {
    if (channel.connection_id == connection_id) return std::move(channel);
  }
  return std::nullopt;
}

// A file like a channel's, built from `header` and `words`.
UniqueFd make_file(const ChannelHeader& header, bool sealed, const ChannelWords& words = {}) {
  UniqueFd fd(memfd_create(kChannelFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(fd.valid());
  const std::string bytes(kChannelHeaderBytes + header.capacity, '\0');
  REQUIRE(write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(pwrite(fd.get(), &header, sizeof header, 0) == sizeof header);
  REQUIRE(pwrite(fd.get(), &words, sizeof words, kPageBytes) == sizeof words);
  if (sealed) {
    REQUIRE(fcntl(fd.get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0);
  }
  return fd;
}

ChannelHeader right_header(const Id128& connection_id) {
  ChannelHeader header{};
  header.magic = kChannelMagic;
  header.abi_version = kChannelAbiVersion;
  header.header_bytes = kChannelHeaderBytes;
  header.role = ChannelRole::kConsumer;
  header.connection_id = connection_id;
  return header;
}

// The header of a side that sends.
ChannelHeader sending_header(const Id128& connection_id, ChannelRole role) {
  ChannelHeader header = right_header(connection_id);
  header.role = role;
  header.capacity = kChannelCapacityMin;
  header.payload_offset = kPayloadOffsetPacked;
  header.message_bytes_max = 100;
  return header;
}

TEST_CASE("Both sides of an open channel are found, each once, the listening one first") {
  ChannelPair pair({.name = "gateway"});
  const auto channel = find(pair.producer().connection_id());
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 2);
  const ChannelSideStatus& listening = channel->sides[0];
  const ChannelSideStatus& connected = channel->sides[1];
  CHECK(listening.listens);
  CHECK(listening.role == ChannelRole::kProducer);
  CHECK_FALSE(connected.listens);
  CHECK(connected.role == ChannelRole::kConsumer);
  for (const ChannelSideStatus& side : channel->sides) {
    CHECK(side.pid == getpid());
    CHECK(side.claimed_pid == static_cast<std::uint32_t>(getpid()));
    CHECK(side.name == "gateway");
    CHECK(side.state == ChannelState::kOpen);
    CHECK_FALSE(side.stopped);
    CHECK(side.call_window == 0);
  }
  CHECK(channel->path.starts_with('/'));
  CHECK(channel->path.ends_with("/channel.sock"));
}

TEST_CASE("A direction says its sizes, what was sent, what was received, and what is under way") {
  ChannelPair pair({.capacity = 4096, .message_bytes_max = 1000, .aligned_payloads = true});
  for (int i = 0; i < 5; ++i) REQUIRE(pair.producer().send({}, 0) == Errc::kOk);
  REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  const auto channel = find(pair.producer().connection_id());
  REQUIRE(channel);
  REQUIRE(channel->directions.size() == 1);  // a consumer sends nothing
  const ChannelDirectionStatus& direction = channel->directions[0];
  CHECK(direction.sender == getpid());
  CHECK(direction.receiver == getpid());
  CHECK(direction.capacity == 4096);
  CHECK(direction.message_bytes_max == 1000);
  CHECK(direction.aligned);
  CHECK(direction.sent.messages == 5);
  CHECK(direction.sent.frame_bytes == 5 * kFrameAlign);
  CHECK(direction.received.messages == 1);
  CHECK(direction.received.frame_bytes == kFrameAlign);
  CHECK(direction.in_flight.messages == 4);
  CHECK(direction.in_flight.frame_bytes == 4 * kFrameAlign);
}

TEST_CASE("A side that sleeps is parked, and nothing notices that it was looked at") {
  ChannelPair pair({});
  auto channel = find(pair.producer().connection_id());
  REQUIRE(channel);
  CHECK_FALSE(channel->sides[1].parked);
  REQUIRE(pair.consumer().arm());
  channel = find(pair.producer().connection_id());
  REQUIRE(channel);
  CHECK(channel->sides[1].parked);
  CHECK_FALSE(channel->sides[0].parked);
  // This would fail if anything had been written or a packet had been taken.
  REQUIRE(pair.producer().send({}, 0) == Errc::kOk);
  CHECK_FALSE(pair.consumer().arm());
}

TEST_CASE("A channel that has ended on both sides is not found") {
  Id128 connection_id;
  {
    ChannelPair pair({});
    connection_id = pair.producer().connection_id();
    REQUIRE(find(connection_id));
  }
  CHECK_FALSE(find(connection_id));
}

TEST_CASE("Each count of a side is the one that the side says") {
  const absl::StatusOr<Id128> id = random_id();
  REQUIRE(id.ok());
  ChannelHeader header = sending_header(*id, ChannelRole::kDuplex);
  header.payload_offset = kPayloadOffsetCalls;
  header.call_window = 64;
  ChannelWords words{};
  words.state.value = static_cast<std::uint64_t>(ChannelState::kCorrupt);
  words.full_waits.value = 1;
  words.empty_waits.value = 2;
  words.sleeps.value = 3;
  words.wakes.value = 4;
  const UniqueFd file = make_file(header, true, words);
  const auto channel = find(*id);
  REQUIRE(channel);
  const ChannelSideStatus& side = channel->sides[0];
  CHECK(name_of(side.role) == std::string("duplex"));
  CHECK(side.call_window == 64);
  CHECK(name_of(side.state) == std::string("corrupt"));
  CHECK(side.full_waits == 1);
  CHECK(side.empty_waits == 2);
  CHECK(side.sleeps == 3);
  CHECK(side.wakes == 4);
}

TEST_CASE("What is in flight is never less than nothing, whatever the sides say") {
  const absl::StatusOr<Id128> id = random_id();
  REQUIRE(id.ok());
  ChannelHeader header = right_header(*id);
  ChannelWords words{};
  words.received = {.position = 640, .messages = 10, .padding = {}};
  words.state.value = 77;
  const UniqueFd receiver = make_file(header, true, words);
  header = sending_header(*id, ChannelRole::kProducer);
  header.listens = 1;
  const UniqueFd sender = make_file(header, true);
  const auto channel = find(*id);
  REQUIRE(channel);
  REQUIRE(channel->directions.size() == 1);
  CHECK(channel->directions[0].received.messages == 10);
  CHECK(channel->directions[0].in_flight.messages == 0);
  CHECK(channel->directions[0].in_flight.frame_bytes == 0);
  CHECK(name_of(channel->sides[1].state) == std::string("unknown"));
}

TEST_CASE("A channel's age is counted from when its memory was made") {
  const absl::StatusOr<Id128> id = random_id();
  REQUIRE(id.ok());
  ChannelHeader header = right_header(*id);
  header.created_wall_ns = wall_ns() - 5'000'000'000;
  const UniqueFd side = make_file(header, true);
  const auto channel = find(*id);
  REQUIRE(channel);
  CHECK(channel->age_ns >= 5'000'000'000);
  CHECK(channel->age_ns <= wall_ns() - header.created_wall_ns);
}

TEST_CASE("Of a channel whose other side is gone, the direction has no receiver") {
  const absl::StatusOr<Id128> id = random_id();
  REQUIRE(id.ok());
  ChannelWords words{};
  words.sent = {.position = 64, .messages = 1, .padding = {}};
  const UniqueFd sender = make_file(sending_header(*id, ChannelRole::kProducer), true, words);
  const auto channel = find(*id);
  REQUIRE(channel);
  CHECK(channel->sides.size() == 1);
  REQUIRE(channel->directions.size() == 1);
  CHECK(channel->directions[0].sent.messages == 1);
  CHECK_FALSE(channel->directions[0].receiver.has_value());
  CHECK(channel->directions[0].in_flight.messages == 0);
}

TEST_CASE("A file that only looks like a channel's is passed over") {
  const absl::StatusOr<Id128> id = random_id();
  REQUIRE(id.ok());
  const UniqueFd right = make_file(right_header(*id), true);
  REQUIRE(find(*id));
  CHECK(find(*id)->sides.size() == 1);

  const absl::StatusOr<Id128> other = random_id();
  REQUIRE(other.ok());
  const UniqueFd unsealed = make_file(right_header(*other), false);
  ChannelHeader wrong = right_header(*other);
  wrong.magic += 1;
  const UniqueFd no_channel = make_file(wrong, true);
  wrong = right_header(*other);
  wrong.role = static_cast<ChannelRole>(77);
  const UniqueFd no_role = make_file(wrong, true);
  wrong = right_header(*other);
  wrong.role = ChannelRole::kProducer;
  wrong.capacity = 4096 + 1;
  const UniqueFd no_capacity = make_file(wrong, true);
  CHECK_FALSE(find(*other));
}

TEST_CASE("Of two processes that hold a file, the one that it names is the owner") {
  ChannelPair pair({});
  const std::vector<int> duplicates = duplicates_of(kChannelFileName);
  REQUIRE(duplicates.size() >= 2);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  REQUIRE(child > 0);
  for (const int duplicate : duplicates) close(duplicate);
  const auto channel = find(pair.producer().connection_id());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 2);
  CHECK(channel->sides[0].pid == getpid());
  CHECK(channel->sides[1].pid == getpid());
}

TEST_CASE("A stopped process is shown as one, with its channel") {
  ChannelPair pair({});
  const pid_t child = fork();
  if (child == 0) {
    ChannelHeader header = right_header(pair.producer().connection_id());
    const auto memory = OwnMemory::create(header, false, std::nullopt);
    raise(SIGSTOP);
    _exit(memory.ok() ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  const auto channel = find(pair.producer().connection_id());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 3);  // the child faked a connection
  int stopped = 0;
  for (const ChannelSideStatus& side : channel->sides) {
    if (side.pid == child && side.stopped) ++stopped;
  }
  CHECK(stopped == 1);
}

}  // namespace
}  // namespace lapwing

// What the census finds, and what it must not be taken in by.

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

namespace lapwing {
namespace {

// The channel of this session; the machine may have others.
std::optional<CensusChannel> find(const Id128& session_id) {
  absl::StatusOr<ChannelCensus> census = take_channel_census();
  REQUIRE(census.ok());
  for (CensusChannel& channel : census->channels) {
    if (channel.session_id == session_id) return std::move(channel);
  }
  return std::nullopt;
}

// A file such as a channel's, of `header`.
UniqueFd make_file(const ChannelHeader& header, bool sealed) {
  UniqueFd fd(memfd_create(kChannelFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(fd.valid());
  const std::string bytes(kChannelHeaderBytes + header.capacity, '\0');
  REQUIRE(write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(pwrite(fd.get(), &header, sizeof header, 0) == sizeof header);
  if (sealed) {
    REQUIRE(fcntl(fd.get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0);
  }
  return fd;
}

ChannelHeader right_header(const Id128& session_id) {
  ChannelHeader header{};
  header.magic = kChannelMagic;
  header.abi_version = kAbiVersion;
  header.header_bytes = kChannelHeaderBytes;
  header.role = ChannelRole::kConsumer;
  header.session_id = session_id;
  return header;
}

TEST_CASE("Both sides of an open channel are found, each once, the listening one first") {
  ChannelPair pair({.name = "gateway"});
  const auto channel = find(pair.producer().session_id());
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 2);
  const ChannelSide& listening = channel->sides[0];
  const ChannelSide& connected = channel->sides[1];
  CHECK(listening.header.listens == 1);
  CHECK(listening.header.role == ChannelRole::kProducer);
  CHECK(connected.header.listens == 0);
  CHECK(connected.header.role == ChannelRole::kConsumer);
  CHECK(listening.pid == getpid());
  CHECK_FALSE(listening.stopped);
  CHECK(get_text(listening.header.name) == "gateway");
  CHECK(listening.path == get_text(listening.header.path));
  CHECK(listening.path.ends_with("/channel.sock"));
}

TEST_CASE("The census says what was sent, what is under way, and who sleeps") {
  ChannelPair pair({});
  for (int i = 0; i < 5; ++i) REQUIRE(pair.producer().send({}, 0) == Errc::kOk);
  REQUIRE(pair.consumer().try_peek().result == Errc::kOk);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  auto channel = find(pair.producer().session_id());
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 2);
  CHECK(channel->sides[0].words.sent.messages == 5);
  CHECK(channel->sides[1].words.received.messages == 1);
  ChannelBacklog backlog = backlog_of(channel->sides[0], channel->sides[1]);
  CHECK(backlog.messages == 4);
  CHECK(backlog.bytes == 4 * kFrameAlign);
  backlog = backlog_of(channel->sides[1], channel->sides[0]);
  CHECK(backlog.messages == 0);
  CHECK_FALSE(channel->sides[1].sleeps());

  std::array<Message, 8> rest;
  REQUIRE(pair.consumer().try_peek_batch(rest).count == 4);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  REQUIRE(pair.consumer().arm());
  channel = find(pair.producer().session_id());
  REQUIRE(channel);
  CHECK(channel->sides[1].sleeps());
  CHECK_FALSE(channel->sides[0].sleeps());
  // Had the census written anything, or taken a packet, this would not work.
  REQUIRE(pair.producer().send({}, 0) == Errc::kOk);
  CHECK_FALSE(pair.consumer().arm());
}

TEST_CASE("A channel that has ended on both sides is not found") {
  Id128 session_id;
  {
    ChannelPair pair({});
    session_id = pair.producer().session_id();
    REQUIRE(find(session_id));
  }
  CHECK_FALSE(find(session_id));
}

TEST_CASE("A backlog is never less than nothing, whatever the sides say") {
  ChannelSide sender;
  ChannelSide receiver;
  receiver.words.received = {.position = 640, .messages = 10, .padding = {}};
  CHECK(backlog_of(sender, receiver).messages == 0);
  CHECK(backlog_of(sender, receiver).bytes == 0);
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
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  REQUIRE(child > 0);
  const auto channel = find(pair.producer().session_id());
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
    ChannelHeader header = right_header(pair.producer().session_id());
    const auto memory = OwnMemory::create(header, false, std::nullopt);
    raise(SIGSTOP);
    _exit(memory.ok() ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  const auto channel = find(pair.producer().session_id());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(channel);
  REQUIRE(channel->sides.size() == 3);  // the child lies about the session
  int stopped = 0;
  for (const ChannelSide& side : channel->sides) {
    if (side.pid == child && side.stopped) ++stopped;
  }
  CHECK(stopped == 1);
}

}  // namespace
}  // namespace lapwing

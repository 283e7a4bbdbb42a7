// For tests: a listener, and peers that perform the handshake manually. Thread safety: none.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "channel/descriptors.h"
#include "channel/handshake.h"
#include "os/frame_socket.h"
#include "os/local_socket.h"
#include "proto/channel_frames.h"
#include "proto/text_field.h"
#include "testing/channel_fixture.h"

namespace lapwing {

inline const ChannelOptions kSmall{.capacity = 1024, .message_bytes_max = 100};
inline constexpr int kRawFileSeals =
    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

inline bool says(absl::string_view message, const std::string& words) {
  return message.find(words) != absl::string_view::npos;
}

struct Listening {
  TemporaryDirectory directory;
  std::string path = directory.file("channel.sock");
  ChannelListener listener = *ChannelListener::listen(path);
};

// A peer that performs the handshake manually, with any errors that a test needs. A producer by
// default.
struct RawPeer {
  explicit RawPeer(const std::string& path)
      : fd(*connect_local(path, soon().monotonic_ns(), kChannelSocket)) {
    header.role = ChannelRole::kProducer;
    header.connection_id = *random_id();
    header.capacity = 1024;
    header.message_bytes_max = 100;
    header.payload_offset = kPayloadOffsetPacked;
    hello = make_frame<ChannelHelloFrame>(FrameType::kChannelHello);
    hello.abi_version = kChannelAbiVersion;
    hello.role = ChannelRole::kProducer;
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.connection_id = header.connection_id;
  }

  void send_bytes(const std::string& bytes) const {
    CHECK(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  void send_hello(const std::vector<int>& descriptors) const {
    CHECK(try_to_send_hello(descriptors));
  }
  // The same for threads other than the test's, which must not assert.
  bool try_to_send_hello(const std::vector<int>& descriptors) const {
    return send_with_descriptors(fd.get(), std::as_bytes(std::span(&hello, 1)), descriptors) ==
           SendOutcome::kSent;
  }
  // The reason for refusal reported by the listener.
  std::string refusal() const {
    wait_readable(fd.get(), kChannelTestNs);
    Packet packet;
    if (receive_frame(fd.get(), packet, channel_frame_length) != ReceiveOutcome::kFrame) {
      return "(no frame)";
    }
    if (packet.as<FrameHeader>().type != FrameType::kRefused) return "(a frame of another type)";
    return std::string(get_text(packet.as<RefusedFrame>().message));
  }

  UniqueFd fd;
  ChannelHelloFrame hello;
  ChannelHeader header{};
};

// A memory file as a hostile peer might create it.
struct RawFile {
  std::uint64_t bytes = kChannelHeaderBytes + 1024;
  int seals = kRawFileSeals;
  bool allocated = true;
};

// Invalid if it cannot be created. For threads other than the test's, which must not assert.
inline UniqueFd try_to_make_raw_file(const ChannelHeader& header, const RawFile& file) {
  UniqueFd fd(memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bool made = fd.valid() && ftruncate(fd.get(), static_cast<off_t>(file.bytes)) == 0;
  if (made && file.allocated) {
    const std::vector<char> zeros(file.bytes);
    made = pwrite(fd.get(), zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(file.bytes);
  }
  if (made && file.bytes >= sizeof header) {
    made = pwrite(fd.get(), &header, sizeof header, 0) == sizeof header;
  }
  if (made && file.seals != 0) made = fcntl(fd.get(), F_ADD_SEALS, file.seals) == 0;
  return made ? std::move(fd) : UniqueFd();
}

inline UniqueFd make_raw_file(const ChannelHeader& header, const RawFile& file) {
  UniqueFd fd = try_to_make_raw_file(header, file);
  REQUIRE(fd.valid());
  return fd;
}

inline ChannelHeader whole(ChannelHeader header) {
  header.magic = kChannelMagic;
  header.abi_version = kChannelAbiVersion;
  header.header_bytes = kChannelHeaderBytes;
  return header;
}

// Checks that a correct peer is served after an incorrect one.
inline void check_next_is_served(ChannelListener& listener) {
  auto connecting = std::async(std::launch::async, [&] {
    return ChannelProducer::connect(listener.path(), kSmall, soon());
  });
  auto consumer = ChannelConsumer::accept(listener, kSmall, soon());
  auto producer = connecting.get();
  INFO(consumer.status() << ' ' << producer.status());
  REQUIRE(consumer.ok());
  REQUIRE(producer.ok());
  REQUIRE(producer->send(bytes_of("served"), 1) == Errc::kOk);
  CHECK(text_of(consumer->peek(soon())->payload) == "served");
}

inline void expect_no_client(ChannelListener& listener) {
  const auto accepted = ChannelConsumer::accept(listener, kSmall, Deadline::now());
  CHECK(errc_of(accepted.status()) == Errc::kWouldBlock);
}

}  // namespace lapwing

#include "channel/handshake.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "channel/descriptors.h"
#include "os/frame_socket.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "proto/channel_frames.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRetryPauseNs = 20'000'000;  // between two attempts; see lapwing/channel.h

// Registers once: a process cannot undo it.
bool has_membarrier() {
  static const bool registered = register_membarrier_global().ok();
  return registered;
}

ChannelRole other_role(ChannelRole role) {
  switch (role) {
    case ChannelRole::kProducer:
      return ChannelRole::kConsumer;
    case ChannelRole::kConsumer:
      return ChannelRole::kProducer;
    case ChannelRole::kDuplex:
      break;
  }
  return ChannelRole::kDuplex;
}

const char* role_name(ChannelRole role) {
  switch (role) {
    case ChannelRole::kProducer:
      return "a producer";
    case ChannelRole::kConsumer:
      return "a consumer";
    case ChannelRole::kDuplex:
      return "a duplex";
  }
  return "an unknown role";
}

constexpr int kConnectsMax = 5;  // per connect_channel call

// One side of the exchange.
struct Party {
  ChannelRole role;
  const ChannelOptions& options;
  const std::string& path;
  bool listens;
};

// Makes the header of this side's memory. Errors: kInvalidArgument if the options do not allow one.
absl::StatusOr<ChannelHeader> make_header(const Party& party, const Id128& connection_id) {
  const ChannelOptions& options = party.options;
  const bool is_duplex = party.role == ChannelRole::kDuplex;
  if (is_duplex && (options.call_window == 0 || options.call_window > kCallWindowMax)) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("call_window is ", options.call_window,
                                                           "; it must be 1 to ", kCallWindowMax));
  }
  ChannelHeader header{};
  header.role = party.role;
  header.listens = party.listens ? 1 : 0;
  header.connection_id = connection_id;
  set_text(header.name, options.name);
  set_text(header.path, party.path);
  header.call_window = is_duplex ? options.call_window : 0;
  if (party.role == ChannelRole::kConsumer) return header;
  if (options.capacity == 0) {
    return make_error(Errc::kInvalidArgument, "a channel that sends needs a capacity");
  }
  header.capacity = options.capacity;
  header.message_bytes_max = options.message_bytes_max;
  header.payload_offset = options.aligned_payloads ? kPayloadOffsetAligned
                          : is_duplex              ? kPayloadOffsetCalls
                                                   : kPayloadOffsetPacked;
  const absl::Status fits =
      check_channel_geometry(header.capacity, header.message_bytes_max, header.payload_offset);
  if (!fits.ok()) return fits;
  return header;
}

absl::Status check_interrupted(const ChannelOptions& options) {
  if (!options.is_interrupted || !options.is_interrupted()) return absl::OkStatus();
  return make_error(Errc::kInterrupted,
                    "interrupted before the channel was open; nothing was opened");
}

ChannelHelloFrame hello_of(FrameType type, const Party& party, const Id128& connection_id) {
  auto hello = make_frame<ChannelHelloFrame>(type);
  hello.abi_version = kChannelAbiVersion;
  hello.role = party.role;
  hello.has_membarrier = party.options.membarrier && has_membarrier() ? 1 : 0;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.connection_id = connection_id;
  return hello;
}

absl::Status send_hello(int fd, const ChannelHelloFrame& hello, const OwnMemory& memory) {
  const int descriptor = memory.fd();
  const auto sent =
      send_with_descriptors(fd, std::as_bytes(std::span(&hello, 1)), std::span(&descriptor, 1));
  if (sent == SendOutcome::kSent) return absl::OkStatus();
  return make_error(Errc::kPeerGone,
                    "the other side disconnected during the handshake of a channel");
}

absl::Status violation(const std::string& peer, const std::string& what) {
  return make_error(Errc::kProtocol, absl::StrCat(peer, " ", what, "; the channel was not opened"));
}

absl::Status refusal(const RefusedFrame& refused, const std::string& peer) {
  const std::string reason = printable(get_text(refused.message));
  const Errc code =
      static_cast<Errc>(refused.error) == Errc::kAbiMismatch ? Errc::kAbiMismatch : Errc::kRefused;
  return make_error(code, absl::StrCat(peer, " refused the channel: ", reason));
}

// A received hello, and the descriptor that it carried.
struct Greeting {
  ChannelHelloFrame hello;
  UniqueFd memory;
};

// kTimedOut: nothing has arrived by then. `was_too_slow`: the peer refused because this side had
// been silent for too long.
absl::StatusOr<Greeting> await_hello(int fd, FrameType type, const std::string& peer,
                                     std::uint64_t deadline_ns, bool& was_too_slow) {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  switch (await_with_descriptors(fd, packet, descriptors, deadline_ns)) {
    case ReceiveOutcome::kWouldBlock:
      return make_error(
          Errc::kTimedOut,
          absl::StrCat(peer,
                       " did not answer in time; it may be serving another peer, or be stopped"));
    case ReceiveOutcome::kClosed:
      return make_error(Errc::kPeerGone, absl::StrCat(peer, " disconnected during the handshake"));
    case ReceiveOutcome::kViolation:
      return violation(peer, "sent a packet that is not a channel frame");
    case ReceiveOutcome::kFrame:
      break;
  }
  const FrameType got = packet.as<FrameHeader>().type;
  if (got == FrameType::kRefused) {
    const auto refused = packet.as<RefusedFrame>();
    was_too_slow = static_cast<Errc>(refused.error) == Errc::kTimedOut;
    return refusal(refused, peer);
  }
  if (got != type || descriptors.size() != 1) {
    return violation(peer, "did not keep to the handshake");
  }
  return Greeting{packet.as<ChannelHelloFrame>(), std::move(descriptors.front())};
}

absl::Status check_hello(const ChannelHelloFrame& hello, const Party& party,
                         const std::string& peer) {
  if (hello.abi_version != kChannelAbiVersion) {
    return make_error(
        Errc::kAbiMismatch,
        absl::StrCat(peer, " uses channel ABI version ", hello.abi_version, ", this process uses ",
                     kChannelAbiVersion, "; install the same release for both"));
  }
  if (hello.role == other_role(party.role)) return absl::OkStatus();
  return make_error(Errc::kRefused,
                    absl::StrCat(peer, " is ", role_name(hello.role), " and ", party.path, " has ",
                                 role_name(party.role), " on this side, so the other side must be ",
                                 role_name(other_role(party.role))));
}

// Maps the peer's file, which must match its hello.
absl::StatusOr<PeerMemory> map_memory(Greeting& greeting, const Id128& connection_id,
                                      const std::string& peer) {
  absl::StatusOr<PeerMemory> memory = PeerMemory::map(std::move(greeting.memory), peer);
  if (!memory.ok()) return memory;
  const ChannelHeader& header = memory->header();
  if (header.role != greeting.hello.role || header.connection_id != connection_id ||
      greeting.hello.connection_id != connection_id) {
    return violation(peer, "has a memory file of another channel");
  }
  return memory;
}

std::unique_ptr<ChannelSide> make_side(ForeignSocket fd, OwnMemory own, PeerMemory peer,
                                       const ChannelHelloFrame& own_hello,
                                       const ChannelHelloFrame& peer_hello,
                                       const ChannelOptions& options, std::string peer_name) {
  const bool both = own_hello.has_membarrier == 1 && peer_hello.has_membarrier == 1;
  return std::make_unique<ChannelSide>(Link(std::move(fd)), std::move(own), std::move(peer),
                                       both ? ChannelBarrier::kMembarrier : ChannelBarrier::kFences,
                                       options, std::move(peer_name));
}

absl::Status check_listener(int fd, const std::string& path, const ChannelOptions& options) {
  const absl::StatusOr<PeerCredentials> listener = peer_credentials(fd);
  if (!listener.ok()) return listener.status();
  if (is_expected_user(listener->uid, options.expected_peer_uid)) return absl::OkStatus();
  return make_error(
      Errc::kNotPermitted,
      absl::StrCat("user ", listener->uid, " listens on ", path, ", but ",
                   options.expected_peer_uid
                       ? absl::StrCat("user ", *options.expected_peer_uid, " is expected")
                       : "only this process's own user or root is expected",
                   "; set expected_peer_uid to the user that you mean, or choose another path"));
}

// The connecting side. A listener drops silent peers. So if creating this side's memory takes
// longer, it disconnects in the meantime, and reconnects to send its hello.
class Connecting {
 public:
  Connecting(const Party& party, std::uint64_t deadline_ns)
      : party_(party), deadline_ns_(deadline_ns) {}

  absl::StatusOr<std::unique_ptr<ChannelSide>> run();

 private:
  absl::Status connect();
  absl::Status before_step();
  absl::StatusOr<Greeting> greet(const ChannelHelloFrame& hello, const OwnMemory& own);
  absl::StatusOr<Greeting> exchange(const ChannelHelloFrame& hello, const OwnMemory& own,
                                    bool& was_too_slow);

  Party party_;
  std::uint64_t deadline_ns_;
  std::string listener_ = absl::StrCat("the listener on ", party_.path);
  ForeignSocket fd_;
  std::uint64_t connected_ns_ = 0;
};

absl::Status Connecting::connect() {
  absl::StatusOr<UniqueFd> fd = connect_local(party_.path, deadline_ns_, kChannelSocket);
  if (!fd.ok()) return fd.status();
  fd_.reset(std::move(*fd));
  connected_ns_ = monotonic_ns();
  return check_listener(fd_.get(), party_.path, party_.options);
}

absl::Status Connecting::before_step() {
  const std::uint64_t now = monotonic_ns();
  if (now - connected_ns_ >= kSilenceNsMin) fd_.reset();
  if (now < deadline_ns_) return check_interrupted(party_.options);
  return make_error(Errc::kTimedOut,
                    absl::StrCat("the memory of a channel to ", party_.path,
                                 " was not ready in time; wait longer, or use a smaller capacity"));
}

absl::StatusOr<Greeting> Connecting::exchange(const ChannelHelloFrame& hello, const OwnMemory& own,
                                              bool& was_too_slow) {
  const absl::Status sent = send_hello(fd_.get(), hello, own);
  // A listener that refuses may have disconnected before the hello was sent. Its reason takes
  // precedence.
  absl::StatusOr<Greeting> greeting = await_hello(fd_.get(), FrameType::kChannelWelcome, listener_,
                                                  sent.ok() ? deadline_ns_ : 0, was_too_slow);
  if (!sent.ok() && errc_of(greeting.status()) == Errc::kTimedOut) return sent;
  return greeting;
}

absl::StatusOr<Greeting> Connecting::greet(const ChannelHelloFrame& hello, const OwnMemory& own) {
  for (int turn = 1;; ++turn) {
    if (!fd_.valid()) {
      if (absl::Status connected = connect(); !connected.ok()) return connected;
    }
    bool was_too_slow = false;
    absl::StatusOr<Greeting> greeting = exchange(hello, own, was_too_slow);
    if (!was_too_slow || turn == kConnectsMax || monotonic_ns() >= deadline_ns_) return greeting;
    fd_.reset();
  }
}

absl::StatusOr<std::unique_ptr<ChannelSide>> Connecting::run() {
  const absl::StatusOr<Id128> connection_id = random_id();
  if (!connection_id.ok()) return connection_id.status();
  const absl::StatusOr<ChannelHeader> header = make_header(party_, *connection_id);
  if (!header.ok()) return header.status();
  if (absl::Status connected = connect(); !connected.ok()) return connected;
  const ChannelOptions& options = party_.options;
  absl::StatusOr<OwnMemory> own = OwnMemory::create(*header, options.huge_pages, options.numa_node,
                                                    [this] { return before_step(); });
  if (!own.ok()) return own.status();
  const auto hello = hello_of(FrameType::kChannelHello, party_, *connection_id);
  absl::StatusOr<Greeting> greeting = greet(hello, *own);
  if (!greeting.ok()) return greeting.status();
  if (absl::Status fits = check_hello(greeting->hello, party_, listener_); !fits.ok()) return fits;
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd_.get());
  if (!peer.ok()) return peer.status();
  const std::string name = peer_text(greeting->hello.pid, peer->uid);
  absl::StatusOr<PeerMemory> memory = map_memory(*greeting, *connection_id, name);
  if (!memory.ok()) return memory.status();
  return make_side(std::move(fd_), std::move(*own), std::move(*memory), hello, greeting->hello,
                   options, name);
}

}  // namespace

bool is_expected_user(uid_t uid, std::optional<uid_t> expected) {
  return expected ? uid == *expected : uid == geteuid() || uid == 0;
}

std::string peer_text(std::uint32_t pid, uid_t uid) {
  return absl::StrCat("pid ", pid, " of user ", uid);
}

void refuse(int fd, const absl::Status& why) {
  auto frame = make_frame<RefusedFrame>(FrameType::kRefused);
  frame.error = static_cast<std::uint32_t>(errc_of(why));
  frame.abi_version = kChannelAbiVersion;
  set_text(frame.message, std::string(why.message()));
  send_frame(fd, frame);
}

bool is_peers_fault(const absl::Status& status) {
  switch (errc_of(status)) {
    case Errc::kProtocol:
    case Errc::kAbiMismatch:
    case Errc::kRefused:
    case Errc::kPeerGone:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<std::unique_ptr<ChannelSide>> connect_channel(const std::string& path,
                                                             ChannelRole role,
                                                             const ChannelOptions& options,
                                                             std::uint64_t deadline_ns) {
  const std::uint64_t retry_ends_ns =
      std::min(deadline_ns, after_ns(monotonic_ns(), ns_of(options.retry)));
  for (;;) {
    absl::StatusOr<std::unique_ptr<ChannelSide>> side =
        Connecting({role, options, path, false}, deadline_ns).run();
    const Errc code = errc_of(side.status());
    const bool may_come = code == Errc::kNoBus || code == Errc::kPeerGone;
    const std::uint64_t now = monotonic_ns();
    if (side.ok() || !may_come || now >= retry_ends_ns) return side;
    if (absl::Status interrupted = check_interrupted(options); !interrupted.ok())
      return interrupted;
    wait_readable(-1, std::min(kRetryPauseNs, retry_ends_ns - now));
  }
}

absl::Status check_channel_options(ChannelRole role, const ChannelOptions& options) {
  const std::string nowhere;
  return make_header({role, options, nowhere, true}, Id128{}).status();
}

absl::StatusOr<std::unique_ptr<ChannelSide>> answer_hello(ForeignSocket fd,
                                                          const PeerCredentials& peer,
                                                          const std::string& path, ChannelRole role,
                                                          const ChannelOptions& options) {
  const Party party{role, options, path, true};
  const std::string name = peer_text(static_cast<std::uint32_t>(peer.pid), peer.uid);
  const auto refused = [&](const absl::Status& why) {
    refuse(fd.get(), why);
    return why;
  };
  bool was_too_slow = false;  // peers do not send this to a listener
  absl::StatusOr<Greeting> greeting =
      await_hello(fd.get(), FrameType::kChannelHello, name, 0, was_too_slow);
  if (errc_of(greeting.status()) == Errc::kTimedOut) {
    return refused(violation(name, "did not send its hello"));
  }
  if (!greeting.ok()) return refused(greeting.status());
  if (absl::Status fits = check_hello(greeting->hello, party, name); !fits.ok()) {
    return refused(fits);
  }
  const Id128 connection_id = greeting->hello.connection_id;
  absl::StatusOr<PeerMemory> memory = map_memory(*greeting, connection_id, name);
  if (!memory.ok()) return refused(memory.status());
  const absl::StatusOr<ChannelHeader> header = make_header(party, connection_id);
  if (!header.ok()) return refused(header.status());
  absl::StatusOr<OwnMemory> own = OwnMemory::create(*header, options.huge_pages, options.numa_node,
                                                    [&] { return check_interrupted(options); });
  if (errc_of(own.status()) == Errc::kInterrupted) {
    refuse(fd.get(), make_error(Errc::kRefused, "the listener is being stopped"));
    return own.status();
  }
  if (!own.ok()) return refused(own.status());
  const auto welcome = hello_of(FrameType::kChannelWelcome, party, connection_id);
  if (absl::Status sent = send_hello(fd.get(), welcome, *own); !sent.ok()) return sent;
  return make_side(std::move(fd), std::move(*own), std::move(*memory), welcome, greeting->hello,
                   options, name);
}

}  // namespace lapwing

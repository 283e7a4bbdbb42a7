#include "bus/channel/handshake.h"

#include <unistd.h>

#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/channel/descriptors.h"
#include "bus/control_socket.h"
#include "bus/kernel.h"
#include "proto/channel_frames.h"

namespace lapwing {
namespace {

// Registered once, and for good: a process cannot take it back.
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
  return "nothing known";
}

// One side's part of the exchange.
struct Party {
  ChannelRole role;
  const ChannelOptions& options;
  const std::string& path;
  bool listens;
};

absl::StatusOr<OwnMemory> make_memory(const Party& party, const Id128& session_id) {
  const ChannelOptions& options = party.options;
  const bool is_duplex = party.role == ChannelRole::kDuplex;
  if (is_duplex && (options.call_window == 0 || options.call_window > kCallWindowMax)) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("a window of ", options.call_window,
                                                           " calls; it is 1 to ", kCallWindowMax));
  }
  ChannelHeader header{};
  header.role = party.role;
  header.listens = party.listens ? 1 : 0;
  header.session_id = session_id;
  set_text(header.name, options.name);
  set_text(header.path, party.path);
  header.call_window = is_duplex ? options.call_window : 0;
  if (party.role != ChannelRole::kConsumer) {
    if (options.capacity == 0) {
      return make_error(Errc::kInvalidArgument, "a channel that sends needs a capacity");
    }
    header.capacity = options.capacity;
    header.message_bytes_max = options.message_bytes_max;
    header.payload_offset = options.aligned_payloads ? kPayloadOffsetAligned
                            : is_duplex              ? kPayloadOffsetCalls
                                                     : kPayloadOffsetPacked;
  }
  return OwnMemory::create(header, options.huge_pages, options.numa_node);
}

ChannelHelloFrame hello_of(FrameType type, const Party& party, const Id128& session_id) {
  auto hello = make_frame<ChannelHelloFrame>(type);
  hello.abi_version = kAbiVersion;
  hello.role = party.role;
  hello.has_membarrier = party.options.membarrier && has_membarrier() ? 1 : 0;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.session_id = session_id;
  return hello;
}

absl::Status send_hello(int fd, const ChannelHelloFrame& hello, const OwnMemory& memory) {
  const int descriptor = memory.fd();
  const auto sent =
      send_with_descriptors(fd, std::as_bytes(std::span(&hello, 1)), std::span(&descriptor, 1));
  if (sent == SendOutcome::kSent) return absl::OkStatus();
  return make_error(Errc::kPeerGone, "the other side left during the handshake of a channel");
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

// The hello, and the descriptor that came with it.
struct Greeting {
  ChannelHelloFrame hello;
  UniqueFd memory;
};

// kTimedOut: nothing has come by then.
absl::StatusOr<Greeting> await_hello(int fd, FrameType type, const std::string& peer,
                                     std::uint64_t deadline_ns) {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  switch (await_with_descriptors(fd, packet, descriptors, deadline_ns)) {
    case ReceiveOutcome::kWouldBlock:
      return make_error(Errc::kTimedOut,
                        absl::StrCat(peer,
                                     " did not answer in time; it serves one peer after "
                                     "another, or is stopped"));
    case ReceiveOutcome::kClosed:
      return make_error(Errc::kPeerGone, absl::StrCat(peer, " left during the handshake"));
    case ReceiveOutcome::kViolation:
      return violation(peer, "sent a packet that is no frame of a channel");
    case ReceiveOutcome::kFrame:
      break;
  }
  const FrameType got = packet.as<FrameHeader>().type;
  if (got == FrameType::kRefused) return refusal(packet.as<RefusedFrame>(), peer);
  if (got != type || descriptors.size() != 1) {
    return violation(peer, "did not keep to the handshake");
  }
  return Greeting{packet.as<ChannelHelloFrame>(), std::move(descriptors.front())};
}

absl::Status check_hello(const ChannelHelloFrame& hello, const Party& party,
                         const std::string& peer) {
  if (hello.abi_version != kAbiVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(peer, " speaks ABI version ", hello.abi_version, " and this is ",
                                   kAbiVersion, "; install one release for both"));
  }
  if (hello.role == other_role(party.role)) return absl::OkStatus();
  return make_error(Errc::kRefused,
                    absl::StrCat(peer, " is ", role_name(hello.role), " and ", party.path, " has ",
                                 role_name(party.role), " on this side, which takes ",
                                 role_name(other_role(party.role))));
}

// The peer's file, which has to say what its hello said.
absl::StatusOr<PeerMemory> map_memory(Greeting& greeting, const Id128& session_id,
                                      const std::string& peer) {
  absl::StatusOr<PeerMemory> memory = PeerMemory::map(std::move(greeting.memory), peer);
  if (!memory.ok()) return memory;
  const ChannelHeader& header = memory->header();
  if (header.role != greeting.hello.role || header.session_id != session_id ||
      greeting.hello.session_id != session_id) {
    return violation(peer, "has a memory file of another channel");
  }
  return memory;
}

std::unique_ptr<ChannelSession> make_session(UniqueFd fd, OwnMemory own, PeerMemory peer,
                                             const ChannelHelloFrame& own_hello,
                                             const ChannelHelloFrame& peer_hello,
                                             const ChannelOptions& options, std::string peer_name) {
  const bool both = own_hello.has_membarrier == 1 && peer_hello.has_membarrier == 1;
  return std::make_unique<ChannelSession>(
      Link(std::move(fd)), std::move(own), std::move(peer),
      both ? ChannelBarrier::kMembarrier : ChannelBarrier::kFences, options, std::move(peer_name));
}

absl::Status check_listener(int fd, const std::string& path, const ChannelOptions& options) {
  const absl::StatusOr<PeerCredentials> listener = peer_credentials(fd);
  if (!listener.ok()) return listener.status();
  if (is_expected_user(listener->uid, options.expected_peer_uid)) return absl::OkStatus();
  return make_error(
      Errc::kNotPermitted,
      absl::StrCat("user ", listener->uid, " listens on ", path, ", and ",
                   options.expected_peer_uid
                       ? absl::StrCat("user ", *options.expected_peer_uid, " is expected")
                       : "only this process's own user or root is expected",
                   "; name the user you mean (expected_peer_uid), or choose another path"));
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
  frame.abi_version = kAbiVersion;
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

absl::StatusOr<std::unique_ptr<ChannelSession>> connect_channel(const std::string& path,
                                                                ChannelRole role,
                                                                const ChannelOptions& options,
                                                                std::uint64_t deadline_ns) {
  const Party party{role, options, path, false};
  const absl::StatusOr<Id128> session_id = random_id();
  if (!session_id.ok()) return session_id.status();
  absl::StatusOr<OwnMemory> own = make_memory(party, *session_id);
  if (!own.ok()) return own.status();
  absl::StatusOr<UniqueFd> fd = connect_local(path, deadline_ns, kChannelSocket);
  if (!fd.ok()) return fd.status();
  if (absl::Status fits = check_listener(fd->get(), path, options); !fits.ok()) return fits;
  const auto hello = hello_of(FrameType::kChannelHello, party, *session_id);
  const absl::Status sent = send_hello(fd->get(), hello, *own);

  // A listener that refuses may have hung up before the hello was sent: what it said comes first.
  const std::string listener = absl::StrCat("the listener on ", path);
  absl::StatusOr<Greeting> greeting =
      await_hello(fd->get(), FrameType::kChannelWelcome, listener, sent.ok() ? deadline_ns : 0);
  if (!sent.ok() && errc_of(greeting.status()) == Errc::kTimedOut) return sent;
  if (!greeting.ok()) return greeting.status();
  if (absl::Status fits = check_hello(greeting->hello, party, listener); !fits.ok()) return fits;
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd->get());
  if (!peer.ok()) return peer.status();
  const std::string name = peer_text(greeting->hello.pid, peer->uid);
  absl::StatusOr<PeerMemory> memory = map_memory(*greeting, *session_id, name);
  if (!memory.ok()) return memory.status();
  return make_session(std::move(*fd), std::move(*own), std::move(*memory), hello, greeting->hello,
                      options, name);
}

absl::StatusOr<std::unique_ptr<ChannelSession>> answer_hello(UniqueFd fd,
                                                             const PeerCredentials& peer,
                                                             const std::string& path,
                                                             ChannelRole role,
                                                             const ChannelOptions& options) {
  const Party party{role, options, path, true};
  const std::string name = peer_text(static_cast<std::uint32_t>(peer.pid), peer.uid);
  const auto refused = [&](const absl::Status& why) {
    refuse(fd.get(), why);
    return why;
  };
  absl::StatusOr<Greeting> greeting = await_hello(fd.get(), FrameType::kChannelHello, name, 0);
  if (errc_of(greeting.status()) == Errc::kTimedOut) {
    return refused(violation(name, "did not say hello"));
  }
  if (!greeting.ok()) return refused(greeting.status());
  if (absl::Status fits = check_hello(greeting->hello, party, name); !fits.ok()) {
    return refused(fits);
  }
  const Id128 session_id = greeting->hello.session_id;
  absl::StatusOr<PeerMemory> memory = map_memory(*greeting, session_id, name);
  if (!memory.ok()) return refused(memory.status());
  absl::StatusOr<OwnMemory> own = make_memory(party, session_id);
  if (!own.ok()) return refused(own.status());
  const auto welcome = hello_of(FrameType::kChannelWelcome, party, session_id);
  if (absl::Status sent = send_hello(fd.get(), welcome, *own); !sent.ok()) return sent;
  return make_session(std::move(fd), std::move(*own), std::move(*memory), welcome, greeting->hello,
                      options, name);
}

}  // namespace lapwing

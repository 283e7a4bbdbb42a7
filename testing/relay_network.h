// For tests of the relay: a message system in memory, in place of relay/nats. It loses, delays,
// reorders and repeats messages, cuts connections, and restores its stream from an older state.
//
// advance() moves its clock. No call waits: take() returns at once, whatever its deadline. All faults
// are drawn from the seed, so the same calls have the same results.
//
// A message goes to the server, and from there to each listener. On the way to the server only a cut
// loses messages, and they stay in order. On the way to a listener each message is lost, repeated and
// delayed independently. Messages of one subject stay in order, those of different subjects do not.
//
//   connect     a host has any number of connections
//   cut         all connections of a host are lost. Messages to the server arrive up to a random
//               point, messages to the host do not
//   freeze      a half-open link: nothing arrives, and no call reports it. It continues at thaw(). It
//               is lost after more than kSilenceNs
//   stream      copied, restored from an older copy, deleted, expired, held up, full
//
// Thread safety: any thread; a transport is used as a RelayTransport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "relay/transport.h"

namespace lapwing {

// Each draws from the seed of the network.
struct RelayNetworkFaults {
  unsigned loss_percent = 0;       // of messages to a listener, and of answers
  unsigned duplicate_percent = 0;  // likewise
  std::uint64_t delay_ns_max = 0;  // of each way
  unsigned ack_loss_percent = 0;
  std::uint64_t ack_delay_ns_max = 0;  // in addition
};

struct RelayNetworkCounts {
  std::uint64_t delivered = 0;  // into an inbox
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t overtaken = 0;  // deliveries that came before one that was sent earlier
  std::uint64_t acks_lost = 0;
  std::uint64_t cut = 0;  // messages that a cut has lost
};

class RelayNetwork {
 public:
  static constexpr std::uint64_t kSilenceNs = 3'500'000'000;
  static constexpr std::uint64_t kAckWaitNs = 5'000'000'000;
  static constexpr std::size_t kReadingBytesMax = kRelayInboxBytesMax / 2;

  explicit RelayNetwork(std::uint64_t seed);
  ~RelayNetwork();
  RelayNetwork(const RelayNetwork&) = delete;
  RelayNetwork& operator=(const RelayNetwork&) = delete;

  void set_faults(const RelayNetworkFaults& faults);
  RelayNetworkCounts counts() const;

  // Errors: kPeerGone while the host is refused or frozen. A transport may outlive the network.
  absl::StatusOr<std::unique_ptr<RelayTransport>> connect(const std::string& host);
  void refuse(const std::string& host, bool refused);
  void cut(const std::string& host);
  void freeze(const std::string& host);
  void thaw(const std::string& host);

  void advance(std::uint64_t ns);
  std::uint64_t now_ns() const;

  // The stream, as it is now. Messages of a deleted one are gone; a new one begins at sequence 1.
  struct Copy;
  std::shared_ptr<const Copy> copy_stream() const;
  // Replaces the stream, or creates it again. Readings end.
  void restore_stream(const std::shared_ptr<const Copy>& copy);
  void delete_stream();
  // Discards the messages before that sequence, which may be behind the last.
  void expire_stream(std::uint64_t first);
  // Appends are neither stored nor acknowledged until they are no longer held.
  void hold_stream(bool held);
  // The next `count` appends end with this result and are not stored.
  void fail_appends(RelayAckResult result, std::uint64_t count);
  // Ends all readings, as the loss of a consumer does.
  void end_readings();

  struct State;  // in relay_network.cc

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace lapwing

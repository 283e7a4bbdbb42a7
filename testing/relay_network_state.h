// For testing/relay_network.cc: the links, the stream and the events of a network.
//
// Thread safety: behind RelayNetwork::State::mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "os/kernel.h"
#include "os/unique_fd.h"
#include "relay/transport.h"
#include "testing/relay_network.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace relay_network {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

inline Bytes copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

// Messages with the same path to a listener stay in order: those of a subject, the stream's, the
// acks, the answers to one ask.
struct Path {
  enum class Kind { kSubject, kReading, kAcks, kAnswers } kind{};
  std::uint64_t number = 0;
  friend auto operator<=>(const Path&, const Path&) = default;
};

struct Entry {
  RelayArrivalKind kind{};
  Bytes bytes = nullptr;
  RelaySubject subject{};
  std::string reply_to{};
  RelayAskId ask = 0;
  std::uint64_t reading = 0;
  std::uint64_t stream_sequence = 0;
  std::uint64_t stream_pending = 0;
  std::string reason{};
  std::uint64_t order = 0;  // in which it was sent

  std::size_t size() const { return bytes == nullptr ? 0 : bytes->size(); }
};

struct Append {
  std::uint64_t number = 0;
  std::uint64_t expected_last = 0;
  std::uint64_t sent_ns = 0;
};
struct NumberedAck {
  std::uint64_t number = 0;
  RelayAck ack;
};

// One connection, as both ends see it.
struct Link {
  std::uint64_t id = 0;
  std::string host;
  UniqueFd event;
  bool signalled = false;
  absl::Status lost;
  std::set<RelaySubject> listens;
  std::deque<Entry> inbox;
  std::size_t inbox_bytes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t newest_order = 0;
  std::deque<NumberedAck> acks;
  std::deque<Append> appends;  // without an ack
  std::uint64_t last_append = 0;
  RelayAskId last_ask = 0;
  Entry taken;

  bool is_reading = false;
  std::uint64_t reading = 0;
  std::uint64_t reading_next = 0;
  std::size_t reading_bytes = 0;  // on their way or in the inbox

  std::uint64_t to_server_ns = 0;  // when the last message on each way arrives
  std::map<Path, std::uint64_t> from_server_ns;

  void update_event() {
    const bool wanted = !lost.ok() || !inbox.empty() || !acks.empty();
    if (wanted == signalled) return;
    signalled = wanted;
    if (wanted) {
      signal_eventfd(event.get());
    } else {
      drain_eventfd(event.get());
    }
  }
};

struct StoredMessage {
  std::uint64_t sequence = 0;
  Bytes bytes;
};
struct Stream {
  RelayStreamOptions options;
  std::deque<StoredMessage> messages;
  std::uint64_t last = 0;
  std::uint64_t bytes = 0;

  void discard_oldest() {
    bytes -= messages.front().bytes->size();
    messages.pop_front();
  }
};

struct Event {
  std::uint64_t link = 0;
  bool to_server = false;
  std::function<void()> run;
};

}  // namespace relay_network

struct RelayNetwork::Copy {
  std::optional<relay_network::Stream> stream;
};

// All members: the lock is held.
struct RelayNetwork::State : std::enable_shared_from_this<State> {
  using Append = relay_network::Append;
  using Bytes = relay_network::Bytes;
  using Entry = relay_network::Entry;
  using Event = relay_network::Event;
  using Link = relay_network::Link;
  using NumberedAck = relay_network::NumberedAck;
  using Path = relay_network::Path;
  using Stream = relay_network::Stream;

  explicit State(std::uint64_t seed) : random(seed) {}

  mutable std::mutex mutex;
  SimRandom random;
  RelayNetworkFaults faults;
  RelayNetworkCounts counts;
  std::uint64_t now_ns = 1;
  std::uint64_t serial = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Event> events;  // by time and serial
  std::map<std::uint64_t, std::unique_ptr<Link>> links;
  std::uint64_t last_link = 0;
  std::set<std::string> refused;
  std::map<std::string, std::uint64_t> frozen;  // since when
  std::optional<Stream> stream;
  bool held = false;
  std::vector<std::function<void()>> held_appends;
  RelayAckResult failure{};
  std::uint64_t failures = 0;

  Link* find(std::uint64_t id);
  std::uint64_t draw_ns(std::uint64_t max_ns);

  // Runs what is due, also what that makes due.
  void run_until(std::uint64_t until_ns);
  void add_event(std::uint64_t at_ns, Event event);

  void to_server(Link& link, std::function<void()> run);
  void from_server(Link& link, const Path& path, std::uint64_t delay_ns, std::function<void()> run);

  // To one listener, with the faults of this way.
  void deliver(Link& link, const Path& path, const Entry& entry);
  void arrive(std::uint64_t id, const Entry& entry);
  void fan_out(std::uint64_t sender, const Entry& entry);
  void publish(Link& link, RelaySubject subject, Bytes bytes, std::string reply_to);

  void acknowledge(std::uint64_t id, const NumberedAck& ack);
  // Nullopt: no ack comes.
  std::optional<RelayAck> store(const Append& append, const Bytes& bytes, bool has_listener);
  void append(Link& link, const Append& append, const Bytes& bytes);

  // Sends as much of the stream as the link's reading may have on its way.
  void feed(Link& link);
  void stop_reading(Link& link);
  void end_readings(const std::string& why);

  void lose(Link& link, const std::string& why);
  void lose_host(const std::string& host, const std::string& why);
};

}  // namespace lapwing

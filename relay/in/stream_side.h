// Reads the stream for a mirror on a connection and, after start(), on a thread of its own, because a
// stream that does not answer must not delay live records.
//
// The owner says with want() what is to be read, and takes messages and findings in their order. What
// it does not take stays in the stream.
//
// Thread safety: want(), take() and next_wanted_ns() are the owner's. step() is its own thread's after
// start(), and the owner's before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "os/unique_fd.h"
#include "relay/in/link.h"
#include "relay/in/origin_sessions.h"
#include "relay/in/stream_reader.h"
#include "relay/transport.h"

namespace lapwing {

struct StreamWant {
  std::shared_ptr<const OriginSessions> sessions;  // to place messages
  std::uint64_t generation = 0;                    // of the session that is read; findings have it
  std::uint64_t session_row = 0;
  Sequence begin = 0;    // if nothing is read yet
  bool follows = false;  // also what is stored later
  Sequence hole = 0;     // is read again if it was passed; 0: none
};

struct StreamItem {
  std::uint64_t generation = 0;
  std::vector<std::byte> message;  // empty: `findings`
  std::uint64_t stream_sequence = 0;
  StreamFindings findings;
};

class StreamSide {
 public:
  // Bytes of messages that wait to be taken.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{8} << 20;
  static constexpr std::uint64_t kIdleNs = 5'000'000'000;  // then the connection is closed

  StreamSide(ConnectRelay connect, std::uint64_t seed) : link_(std::move(connect), seed) {}
  ~StreamSide() { stop(); }
  StreamSide(const StreamSide&) = delete;
  StreamSide& operator=(const StreamSide&) = delete;

  // Starts the thread. `owner_fd`: an eventfd that is signalled when there is something to take.
  absl::Status start(int owner_fd);
  bool has_thread() const { return thread_.joinable(); }
  void stop();

  // Nullopt: nothing is to be read.
  void want(std::optional<StreamWant> want);
  std::optional<StreamItem> take();
  std::uint64_t dropped() const;

  // Does what is due. Waits for answers of the stream, for up to a few times kCallTime.
  void step(std::uint64_t now_ns);
  std::optional<std::uint64_t> next_due_ns() const;

 private:
  void run();
  absl::Status read(const StreamWant& want, std::uint64_t now_ns);
  absl::Status receive(const StreamWant& want, std::uint64_t now_ns);
  void put(StreamItem item);
  void put_findings();
  bool has_room() const;
  // True if want_ was set after everything was taken that was put.
  bool is_current() const;

  mutable std::mutex mutex_;
  std::optional<StreamWant> want_;
  std::uint64_t wanted_at_ = 0;  // how many items were taken when want_ was set
  std::deque<StreamItem> items_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t items_put_ = 0;
  std::uint64_t items_taken_ = 0;
  std::uint64_t dropped_ = 0;
  bool is_stopped_ = false;
  int owner_fd_ = -1;
  UniqueFd wake_;
  std::thread thread_;

  // Of step().
  RelayLink link_;
  StreamReader reader_;
  std::uint64_t generation_ = 0;
  std::uint64_t idle_since_ns_ = 0;
};

}  // namespace lapwing

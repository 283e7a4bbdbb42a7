// One connection of libnats with a thread of its own.
//
// libnats runs in its event loop mode: it parses, authenticates, encrypts and buffers, but starts no
// threads for the connection, and never reconnects. This saves a thread switch per message.
//
//   the thread `lapwing-nats`   connects; then polls the socket, reads, and calls the NatsReceiver
//   a caller of publish()       writes to the socket; the thread writes the rest if it is full
//
// Both use the socket only between gate_.enter() and gate_.leave(). So it is not closed while the other
// thread uses it, and TLS is used by one thread at a time. libnats may wait inside for the rest of a
// TLS record, so enter() has a deadline.
//
// The socket is close-on-exec. A forked child that does not execute another program has a copy of it.
//
// Thread safety: publish(), error() and lose() from any thread; everything else from one thread.
#pragma once

#include <nats/nats.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/deadline.h"
#include "os/thread_words.h"
#include "os/unique_fd.h"
#include "relay/nats/connect.h"
#include "relay/nats/nats_inbox.h"

namespace lapwing {

inline constexpr std::size_t kNatsSubscriptionsMax = 8;

// Admits one caller at a time.
class NatsGate {
 public:
  // Returns false if another caller was inside until then.
  bool enter(std::uint64_t until_ns);
  void leave();
  // Whether this thread is inside, in any gate.
  static bool is_inside();

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  bool taken_ = false;
};

// Receives the messages of a connection, in its thread. receive() must not use the connection.
class NatsReceiver {
 public:
  // `subscription` is an index.
  virtual void receive(std::size_t subscription, NatsMessage message) = 0;
  // A message with that reply subject had no receiver. libnats does not report which message.
  virtual void receive_no_responders(std::size_t subscription) = 0;
  // Several times a second.
  virtual void tick(std::uint64_t now_ns) = 0;
  virtual void end() = 0;

 protected:
  ~NatsReceiver() = default;
};

class NatsConnection : public std::enable_shared_from_this<NatsConnection> {
 public:
  // `receiver` must live until close() has returned. Errors: as connect_nats().
  static absl::StatusOr<std::shared_ptr<NatsConnection>> connect(const NatsOptions& options,
                                                                 NatsReceiver& receiver,
                                                                 Deadline deadline);
  NatsConnection(const NatsConnection&) = delete;
  NatsConnection& operator=(const NatsConnection&) = delete;
  ~NatsConnection() = default;
  // Waits for up to 500 ms until the server has what was sent. Nothing is received afterwards.
  void close();

  // The first subscription has index 0. Of messages that arrive together, those of lower indexes are
  // received first.
  absl::Status subscribe(const std::string& subject);
  // Ends the subscription with that index, drops its messages, and subscribes to this subject instead.
  absl::Status replace_subscription(std::size_t index, const std::string& subject);
  // `reply_to` may be empty, `header` null.
  struct Header {
    const char* name;
    std::string value;
  };
  absl::Status publish(const std::string& subject, const std::string& reply_to,
                       std::span<const std::byte> message, const Header* header = nullptr);

  // The reason for the loss of the connection; OK before.
  absl::Status error() const;
  bool is_lost() const { return lost_.is_set(); }
  // Keeps the first reason.
  void lose(absl::Status why);
  std::int64_t payload_bytes_max() const { return natsConnection_GetMaxPayload(connection_); }
  // The servers, without passwords, for messages.
  const std::string& where() const { return where_; }

 private:
  enum class Phase { kConnecting, kUp, kFailed, kAbandoned };

  NatsConnection(const NatsOptions& options, NatsReceiver& receiver, std::string where);

  // Callbacks of libnats; `self` is the connection.
  static natsStatus attach(void** user_data, void* self, natsConnection*, natsSock socket);
  static natsStatus read_wanted(void* self, bool wanted);
  static natsStatus write_wanted(void* self, bool wanted);
  static natsStatus detach(void* self);

  void run(int timeout_ms);
  absl::Status make(int timeout_ms);
  void destroy();
  void turn();
  void hand_over();
  void check_state(std::uint64_t now_ns);
  void write_inside();
  absl::Status write_out(std::uint64_t until_ns);
  absl::Status lose_stuck();
  natsStatus publish_inside(const std::string& subject, const std::string& reply_to,
                            std::span<const std::byte> message, const Header* header);

  const NatsOptions options_;
  const std::string where_;
  NatsReceiver& receiver_;
  UniqueFd wake_;    // wakes the thread
  UniqueFd socket_;  // a duplicate: libnats may close its own at any time
  natsConnection* connection_ = nullptr;
  NatsGate gate_;
  SharedPhase<bool> writes_wanted_{false};
  StickyFlag stopping_;
  StickyFlag lost_;
  std::uint64_t heard_ns_ = 0;  // these two belong to the thread
  std::uint64_t turned_ns_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kConnecting;  // and all below: behind the lock
  absl::Status error_;

  natsSubscription* subscriptions_[kNatsSubscriptionsMax] = {};  // these two: inside the gate
  std::size_t subscription_count_ = 0;
  std::thread thread_;
};

}  // namespace lapwing

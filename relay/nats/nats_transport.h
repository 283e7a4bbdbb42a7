// RelayTransport over one NATS connection.
//
// Answers, acks and the stream's messages arrive on subjects below an inbox of this connection:
//
//   <inbox>.a.<append>    ack of an append          <inbox>.r.<request>   answer of JetStream
//   <inbox>.q.<ask>       answer to an ask          <inbox>.s.<reading>   message of a consumer
//
// Thread safety: as RelayTransport. The thread of the connection calls the NatsReceiver.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/names.h"
#include "relay/nats/connect.h"
#include "relay/nats/nats_connection.h"
#include "relay/nats/nats_inbox.h"
#include "relay/nats/stream_reading.h"
#include "relay/transport.h"

namespace lapwing {

class NatsTransport final : public RelayTransport, public NatsReceiver {
 public:
  static absl::StatusOr<std::unique_ptr<RelayTransport>> connect(const NatsOptions& options,
                                                                 const RelayNames& names,
                                                                 Deadline deadline);
  ~NatsTransport() override;

  absl::Status send(RelaySubject subject, std::span<const std::byte> message) override;
  absl::Status append(std::span<const std::byte> message, std::uint64_t expected_last) override;
  std::optional<RelayAck> take_ack() override;
  absl::Status open_stream(const RelayStreamOptions& options, Deadline deadline) override;
  absl::StatusOr<RelayTail> tail(Deadline deadline) override;
  absl::Status read_from(std::uint64_t stream_sequence, Deadline deadline) override;
  void stop_reading() override;
  absl::Status listen(std::span<const RelaySubject> subjects) override;
  absl::StatusOr<RelayAskId> ask(std::span<const std::byte> message) override;
  absl::Status answer(std::string_view reply_to, std::span<const std::byte> message) override;
  absl::StatusOr<std::optional<RelayArrival>> take(Deadline deadline) override;
  std::uint64_t dropped() const override { return inbox_->dropped(); }
  int fd() const override { return inbox_->fd(); }

  void receive(std::size_t subscription, NatsMessage message) override;
  void receive_no_responders(std::size_t subscription) override;
  void tick(std::uint64_t now_ns) override;
  void end() override;

 private:
  struct Append {
    std::uint64_t number = 0;
    std::uint64_t expected_last = 0;
    std::uint64_t sent_ns = 0;
  };
  // The purpose of a subscription.
  enum class Channel { kAcks, kAnswers, kRequests, kReading, kSubject };
  struct Subscription {
    Channel channel{};
    RelaySubject subject{};
  };

  NatsTransport(const NatsOptions& options, const RelayNames& names, std::string inbox_subject,
                std::unique_ptr<NatsInbox> inbox);
  absl::Status start(const NatsOptions& options, Deadline deadline);
  absl::Status subscribe(const Subscription& what, const std::string& subject);
  const std::string& subject_of(RelaySubject subject) const;
  std::string inbox_subject(char channel, std::uint64_t number) const;
  std::string api(const char* call) const { return api_subject(js_domain_, call, names_.stream); }
  absl::StatusOr<NatsMessage> request(const std::string& subject, const std::string& body,
                                      Deadline deadline);
  absl::StatusOr<StreamState> stream_state(const RelayStreamOptions& options, Deadline deadline);
  bool answer_flow_control(const NatsArrival& arrival);
  std::optional<RelayAck> end_append(std::uint64_t number, RelayAck ack);

  const RelayNames names_;
  const std::string js_domain_;
  const std::string inbox_subject_;
  const std::unique_ptr<NatsInbox> inbox_;
  std::shared_ptr<NatsConnection> connection_;
  // Written before the subscription is made; the gate of the connection orders them for its thread.
  Subscription subscriptions_[kNatsSubscriptionsMax] = {};
  std::size_t subscription_count_ = 0;

  std::deque<Append> appends_;  // without an ack, in the order of their numbers
  std::uint64_t last_append_ = 0;
  RelayAskId last_ask_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_reading_ = 0;
  NatsArrival taken_;  // of the last take()
  StreamReading reading_;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t awaited_request_ = 0;  // these three behind the lock; 0: none
  std::optional<NatsMessage> request_answer_;
  bool nobody_answers_ = false;
};

}  // namespace lapwing

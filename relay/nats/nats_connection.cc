#include "relay/nats/nats_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "os/start_thread.h"
#include "os/system_error.h"
#include "relay/nats/answer_subject.h"
#include "relay/nats/nats_client_options.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTickNs = 250 * kNsPerMs;
constexpr std::uint64_t kSendWaitNs = 5 * kNsPerSecond;  // for a full connection
constexpr int kBufferedBytesMax = 1 << 20;  // in libnats; what is written moves what is not
constexpr int kFlushMs = 500;
constexpr int kConnectMsMax = 10'000;

thread_local bool inside_gate = false;

// libnats calls back about a server that shuts down, from a thread of its own and perhaps after the
// connection is gone. So it gets a number, and not a pointer.
class LameDucks {
 public:
  static LameDucks& instance() {
    static LameDucks* const ducks = new LameDucks;
    return *ducks;
  }
  void* enter(std::weak_ptr<NatsConnection> connection) {
    const std::lock_guard lock(mutex_);
    std::erase_if(connections_, [](const auto& entry) { return entry.second.expired(); });
    connections_.emplace(++last_, std::move(connection));
    return reinterpret_cast<void*>(last_);
  }
  std::shared_ptr<NatsConnection> find(void* number) {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(reinterpret_cast<std::uintptr_t>(number));
    return found == connections_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, std::weak_ptr<NatsConnection>> connections_;
};

void on_lame_duck(natsConnection*, void* number) {
  const std::shared_ptr<NatsConnection> connection = LameDucks::instance().find(number);
  if (connection == nullptr) return;
  connection->lose(make_error(
      Errc::kPeerGone, absl::StrCat("the server at ", connection->where(), " is shutting down")));
}

}  // namespace

bool NatsGate::enter(std::uint64_t until_ns) {
  std::unique_lock lock(mutex_);
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
  if (!left_.wait_until(lock, until, [&] { return !taken_; })) return false;
  taken_ = true;
  inside_gate = true;
  return true;
}

void NatsGate::leave() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    inside_gate = false;
  }
  left_.notify_one();
}

bool NatsGate::is_inside() {
  return inside_gate;
}

NatsConnection::NatsConnection(const NatsOptions& options, NatsReceiver& receiver,
                               std::string where)
    : options_(options), where_(std::move(where)), receiver_(receiver) {}

absl::StatusOr<std::shared_ptr<NatsConnection>> NatsConnection::connect(const NatsOptions& options,
                                                                        NatsReceiver& receiver,
                                                                        Deadline deadline) {
  absl::StatusOr<std::string> where = shown_urls(options.urls);
  if (!where.ok()) return where.status();
  const std::shared_ptr<NatsConnection> made(
      new NatsConnection(options, receiver, *std::move(where)));
  absl::StatusOr<UniqueFd> wake = make_eventfd();
  if (!wake.ok()) return wake.status();
  made->wake_ = *std::move(wake);
  const std::uint64_t left_ms = left_ns(deadline) / kNsPerMs;
  const int timeout_ms = static_cast<int>(std::clamp<std::uint64_t>(left_ms, 1, kConnectMsMax));
  // libnats waits without a limit for names and for TLS. So its thread may have to be left behind.
  absl::Status started =
      start_thread(made->thread_, "lapwing-nats", [made, timeout_ms] { made->run(timeout_ms); });
  if (!started.ok()) return started;
  std::unique_lock lock(made->mutex_);
  const auto is_decided = [&] { return made->phase_ != Phase::kConnecting; };
  const auto wait_ms = std::chrono::milliseconds(timeout_ms + kFlushMs);
  if (!made->changed_.wait_for(lock, wait_ms, is_decided)) {
    made->phase_ = Phase::kAbandoned;
    made->thread_.detach();
    return make_error(Errc::kTimedOut, absl::StrCat("connecting to ", made->where_,
                                                    ": no answer in ", timeout_ms, " ms"));
  }
  if (made->phase_ == Phase::kUp) return made;
  lock.unlock();
  made->thread_.join();
  return made->error();
}

void NatsConnection::close() {
  if (!is_lost()) natsConnection_FlushTimeout(connection_, kFlushMs);
  stopping_.set();
  ::shutdown(socket_.get(), SHUT_RDWR);  // ends a wait inside libnats
  signal_eventfd(wake_.get());
  thread_.join();
  destroy();
}

absl::Status NatsConnection::subscribe(const std::string& subject) {
  return replace_subscription(subscription_count_, subject);
}

absl::Status NatsConnection::replace_subscription(std::size_t index, const std::string& subject) {
  if (index == kNatsSubscriptionsMax) {
    return make_error(Errc::kLimit, "too many subscriptions on a connection");
  }
  const std::uint64_t until_ns = after_ns(monotonic_ns(), kSendWaitNs);
  if (is_lost()) return error();
  if (!gate_.enter(until_ns)) return lose_stuck();
  // libnats crashes if a subscription ends while a message for it is read; nothing is read now.
  natsSubscription_Destroy(std::exchange(subscriptions_[index], nullptr));
  const natsStatus status =
      natsConnection_SubscribeSync(&subscriptions_[index], connection_, subject.c_str());
  subscription_count_ = std::max(subscription_count_, index + 1);
  gate_.leave();
  if (status == NATS_OK) return write_out(until_ns);
  return make_error(Errc::kPeerGone, absl::StrCat("subscribing to ", subject, " at ", where_, ": ",
                                                  natsStatus_GetText(status)));
}

absl::Status NatsConnection::publish(const std::string& subject, const std::string& reply_to,
                                     std::span<const std::byte> message, const Header* header) {
  const std::uint64_t until_ns = after_ns(monotonic_ns(), kSendWaitNs);
  if (is_lost()) return error();
  if (!gate_.enter(until_ns)) return lose_stuck();
  const natsStatus status = publish_inside(subject, reply_to, message, header);
  if (status == NATS_OK) write_inside();
  const bool is_written = !writes_wanted_.load();
  gate_.leave();
  if (status == NATS_OK) return is_written ? absl::OkStatus() : write_out(until_ns);
  if (status == NATS_MAX_PAYLOAD) {
    return make_error(Errc::kLimit,
                      absl::StrCat("sending ", message.size(), " bytes to ", where_,
                                   ": the server's max_payload is ", payload_bytes_max()));
  }
  absl::Status why = make_error(
      Errc::kPeerGone, absl::StrCat("sending to ", where_, ": ", natsStatus_GetText(status)));
  lose(why);
  return error();
}

natsStatus NatsConnection::publish_inside(const std::string& subject, const std::string& reply_to,
                                          std::span<const std::byte> message,
                                          const Header* header) {
  const char* const reply = reply_to.empty() ? nullptr : reply_to.c_str();
  const char* const data = reinterpret_cast<const char*>(message.data());
  const int bytes = static_cast<int>(message.size());
  if (header == nullptr && reply == nullptr) {
    return natsConnection_Publish(connection_, subject.c_str(), data, bytes);
  }
  if (header == nullptr) {
    return natsConnection_PublishRequest(connection_, subject.c_str(), reply, data, bytes);
  }
  natsMsg* made = nullptr;
  natsStatus status = natsMsg_Create(&made, subject.c_str(), reply, data, bytes);
  if (status == NATS_OK) status = natsMsgHeader_Set(made, header->name, header->value.c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_, made);
  natsMsg_Destroy(made);
  return status;
}

// libnats takes a write of no bytes for the end of the connection.
void NatsConnection::write_inside() {
  if (natsConnection_Buffered(connection_) > 0) natsConnection_ProcessWriteEvent(connection_);
}

// Writes until the rest is small enough for the thread to write it.
absl::Status NatsConnection::write_out(std::uint64_t until_ns) {
  for (;;) {
    if (is_lost()) return error();
    if (!gate_.enter(until_ns)) break;
    write_inside();
    const int buffered = natsConnection_Buffered(connection_);
    gate_.leave();
    if (buffered <= kBufferedBytesMax) {
      if (writes_wanted_.load()) signal_eventfd(wake_.get());
      return is_lost() ? error() : absl::OkStatus();
    }
    if (monotonic_ns() >= until_ns) break;
    pollfd entry{socket_.get(), POLLOUT, 0};
    wait_any_readable({&entry, 1}, std::min(until_ns, after_ns(monotonic_ns(), kTickNs)));
  }
  return lose_stuck();
}

absl::Status NatsConnection::lose_stuck() {
  lose(make_error(Errc::kPeerGone,
                  absl::StrCat("the server at ", where_, " takes no more data since ",
                               kSendWaitNs / kNsPerSecond, " s")));
  return error();
}

absl::Status NatsConnection::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void NatsConnection::lose(absl::Status why) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_.ok() || phase_ != Phase::kUp) return;
    error_ = std::move(why);
    lost_.set();
  }
  receiver_.end();
  signal_eventfd(wake_.get());
}

natsStatus NatsConnection::attach(void** user_data, void* self, natsConnection*, natsSock socket) {
  NatsConnection* const connection = static_cast<NatsConnection*>(self);
  *user_data = self;
  connection->socket_ = UniqueFd::opened_by([&] { return ::fcntl(socket, F_DUPFD_CLOEXEC, 0); });
  const bool closes_on_exec = ::fcntl(socket, F_SETFD, FD_CLOEXEC) == 0;
  return connection->socket_.valid() && closes_on_exec ? NATS_OK : NATS_SYS_ERROR;
}

natsStatus NatsConnection::read_wanted(void*, bool) {
  return NATS_OK;  // it is always read
}

// By a caller of publish(), by the thread for the answer to a ping, or by libnats' timer for a ping.
natsStatus NatsConnection::write_wanted(void* self, bool wanted) {
  NatsConnection* const connection = static_cast<NatsConnection*>(self);
  connection->writes_wanted_.exchange(wanted);
  if (wanted && !NatsGate::is_inside()) signal_eventfd(connection->wake_.get());
  return NATS_OK;
}

natsStatus NatsConnection::detach(void*) {
  return NATS_OK;
}

absl::Status NatsConnection::make(int timeout_ms) {
  absl::StatusOr<NatsClientOptions> client = client_options(options_, timeout_ms);
  if (!client.ok()) return client.status();
  natsStatus status =
      natsOptions_SetEventLoop(client->get(), this, attach, read_wanted, write_wanted, detach);
  if (status == NATS_OK) {
    status = natsOptions_SetLameDuckModeCB(client->get(), on_lame_duck,
                                           LameDucks::instance().enter(weak_from_this()));
  }
  if (status == NATS_OK) status = natsConnection_Connect(&connection_, client->get());
  if (status != NATS_OK) return connect_error(status, where_);
  const std::int64_t payload_bytes = payload_bytes_max();
  if (payload_bytes >= static_cast<std::int64_t>(kNatsPayloadBytesMin)) return absl::OkStatus();
  return make_error(Errc::kLimit,
                    absl::StrCat("the server at ", where_, " has max_payload ", payload_bytes,
                                 ", and a relay needs ", kNatsPayloadBytesMin,
                                 ". Raise max_payload in the server's configuration."));
}

void NatsConnection::run(int timeout_ms) {
  absl::Status made = make(timeout_ms);
  heard_ns_ = turned_ns_ = monotonic_ns();
  const bool is_up = made.ok();
  bool is_wanted = true;
  {
    const std::lock_guard lock(mutex_);
    is_wanted = phase_ != Phase::kAbandoned;
    if (is_wanted) phase_ = is_up ? Phase::kUp : Phase::kFailed;
    error_ = std::move(made);
  }
  changed_.notify_one();
  if (!is_up || !is_wanted) {
    destroy();
    return;
  }
  while (!stopping_.is_set() && !is_lost()) turn();
}

void NatsConnection::destroy() {
  if (connection_ == nullptr) return;
  write_inside();  // otherwise libnats waits for half a second for the answer to a ping
  natsConnection_Close(connection_);
  for (natsSubscription* const subscription : subscriptions_) {
    natsSubscription_Destroy(subscription);
  }
  natsConnection_Destroy(connection_);
  connection_ = nullptr;
}

void NatsConnection::turn() {
  const short writes = writes_wanted_.load() ? POLLOUT : 0;
  pollfd entries[] = {{socket_.get(), static_cast<short>(POLLIN | writes), 0},
                      {wake_.get(), POLLIN, 0}};
  wait_any_readable(entries, after_ns(monotonic_ns(), kTickNs));
  if (entries[1].revents != 0) drain_eventfd(wake_.get());
  const bool reads = (entries[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
  const std::uint64_t now_ns = monotonic_ns();
  if (reads || writes_wanted_.load()) {
    if (!gate_.enter(after_ns(now_ns, kSendWaitNs))) return;
    if (reads) natsConnection_ProcessReadEvent(connection_);
    write_inside();
    if (reads) hand_over();
    gate_.leave();
  }
  if (reads) heard_ns_ = now_ns;
  check_state(now_ns);
  receiver_.tick(now_ns);
}

void NatsConnection::hand_over() {
  for (std::size_t i = 0; i < subscription_count_; ++i) {
    int waiting = 0;
    int bytes = 0;
    while (natsSubscription_GetPending(subscriptions_[i], &waiting, &bytes) == NATS_OK &&
           waiting > 0) {
      natsMsg* message = nullptr;
      const natsStatus status = natsSubscription_NextMsg(&message, subscriptions_[i], 0);
      if (status == NATS_OK) {
        receiver_.receive(i, NatsMessage(message));
      } else if (status == NATS_NO_RESPONDERS) {
        receiver_.receive_no_responders(i);
      } else {
        break;
      }
    }
  }
}

void NatsConnection::check_state(std::uint64_t now_ns) {
  const char* text = nullptr;
  const natsStatus last = natsConnection_GetLastError(connection_, &text);
  if (last == NATS_NOT_PERMITTED && !is_refused_answer(text)) {
    lose(make_error(Errc::kNotPermitted,
                    absl::StrCat("the server at ", where_, " refuses: ", printable(text),
                                 ". Check the permissions of this user there (deploy/nats).")));
  } else if (natsConnection_IsClosed(connection_)) {
    lose(make_error(Errc::kPeerGone,
                    absl::StrCat("the connection to ", where_, " is lost: ", printable(text))));
  }
  // A thread that did not run for a while has not heard anything either.
  if (now_ns - turned_ns_ > 4 * kTickNs) heard_ns_ = now_ns;
  turned_ns_ = now_ns;
  if (now_ns - heard_ns_ > kNatsSilenceNs) {
    lose(make_error(Errc::kPeerGone, absl::StrCat("the server at ", where_, " is silent since ",
                                                  (now_ns - heard_ns_) / kNsPerMs, " ms")));
  }
}

}  // namespace lapwing

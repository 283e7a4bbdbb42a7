#include "channel/duplex_server_core.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/channel_access.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

// What the watch says is readable. A client's is its id; 0 is the watch's own clock.
constexpr std::uint64_t kListenerTag = ~std::uint64_t{0};
constexpr std::uint64_t kInterruptTag = kListenerTag - 1;
constexpr std::size_t kReadablePerPoll = 64;

// The server waits for its clients, and they themselves never do.
DuplexServerOptions with_clients_that_do_not_wait(DuplexServerOptions options) {
  options.channel.wait = WaitStrategy::kPark;
  return options;
}

absl::Status check_limits(const DuplexServerOptions& options) {
  if (options.clients_max == 0 || options.clients_max > kServerClientsMax) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("clients_max is ", options.clients_max,
                                                           "; it is 1 to ", kServerClientsMax));
  }
  if (options.turn_events_max == 0) {
    return make_error(Errc::kInvalidArgument,
                      "turn_events_max is 0, with which no client would have a turn; it is 1 or "
                      "more");
  }
  return absl::OkStatus();
}

absl::Status not_watched(const std::string& what) {
  return make_error(Errc::kLimit, absl::StrCat("the kernel has no room to watch ", what,
                                               "; raise /proc/sys/fs/epoll/max_user_watches"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DuplexServerCore>> DuplexServerCore::make(
    ChannelListener listener, const DuplexServerOptions& options) {
  if (absl::Status limits = check_limits(options); !limits.ok()) return limits;
  absl::Status fit = check_channel_options(ChannelRole::kDuplex, options.channel);
  if (fit.ok()) fit = ChannelAccess::core_of(listener).check_expected(options.channel);
  if (!fit.ok()) return fit;
  absl::StatusOr<Watch> watch = Watch::make();
  if (!watch.ok()) return watch.status();
  absl::StatusOr<UniqueFd> wake_up = make_eventfd();
  if (!wake_up.ok()) return wake_up.status();
  std::unique_ptr<DuplexServerCore> core(
      new DuplexServerCore(std::move(listener), options, *std::move(watch), *std::move(wake_up)));
  if (absl::Status watched = core->watch_own(); !watched.ok()) return watched;
  return core;
}

DuplexServerCore::DuplexServerCore(ChannelListener listener, const DuplexServerOptions& options,
                                   Watch watch, UniqueFd wake_up)
    : options_(with_clients_that_do_not_wait(options)),
      listener_(std::move(listener)),
      watch_(std::move(watch)),
      waiter_(options.channel.wait),
      clients_(options.clients_max),
      turn_left_(options.turn_events_max),
      wake_up_(std::move(wake_up)) {
  for (std::uint32_t place = options.clients_max; place > 0; --place) free_.push_back(place - 1);
}

DuplexServerCore::~DuplexServerCore() {
  leave_owner();
  awake_.clear();
  asleep_.clear();
}

absl::Status DuplexServerCore::watch_own() {
  const bool watched = watch_.add(wake_up_.get(), kInterruptTag) &&
                       (listener_.fd() < 0 || watch_.add(listener_.fd(), kListenerTag));
  return watched ? absl::OkStatus() : not_watched(listener_.path());
}

// Clients.

DuplexServerCore::Client* DuplexServerCore::find(ClientId id) const {
  if (fork_.in_child()) return nullptr;
  Client* const client = clients_[call_place(id, options_.clients_max)].get();
  return client != nullptr && client->id == id ? client : nullptr;
}

void DuplexServerCore::wake(Client& client) {
  if (client.state != Client::State::kAsleep) return;
  client.state = Client::State::kAwake;
  asleep_.erase(asleep_.iterator_to(client));
  awake_.push_back(client);
}

// No event of it comes any more. It may have closed its socket, whose number may be another one's by
// now.
void DuplexServerCore::retire(Client& client) {
  if (client.state == Client::State::kGone) return;
  wake(client);
  if (&awake_.front() == &client) turn_left_ = options_.turn_events_max;
  awake_.erase(awake_.iterator_to(client));
  client.state = Client::State::kGone;
  if (client.core.fd() == client.fd) watch_.remove(client.fd);
}

void DuplexServerCore::erase(ClientId id) {
  const std::uint32_t place = call_place(id, options_.clients_max);
  clients_[place].reset();
  free_.push_back(place);
  listener_is_due_ = !handed_over_;  // one that had no place may wait
}

void DuplexServerCore::erase_gone() {
  if (const ClientId gone = std::exchange(gone_, 0); find(gone) != nullptr) erase(gone);
}

std::size_t DuplexServerCore::clients() const {
  return fork_.in_child() ? 0 : awake_.size() + asleep_.size();
}

std::string DuplexServerCore::peer(ClientId client) const {
  Client* const found = find(client);
  return found == nullptr ? std::string() : found->core.peer_name();
}

ChannelCounters DuplexServerCore::counters(ClientId client) const {
  const Client* const found = find(client);
  return found == nullptr ? ChannelCounters() : found->core.counters();
}

DuplexCounters DuplexServerCore::duplex_counters(ClientId client) const {
  Client* const found = find(client);
  return found == nullptr ? DuplexCounters() : found->core.duplex_counters();
}

// Operations on a client.

template <typename Act>
Errc DuplexServerCore::use(ClientId id, const Act& act) {
  if (fork_.in_child()) return Errc::kForked;
  if (waiting_.is_taken()) return Errc::kMisuse;
  Client* const client = find(id);
  if (client == nullptr) {
    status_ = make_error(Errc::kNotFound,
                         absl::StrCat("client ", id, " of ", listener_.path(),
                                      " has gone, or never was there; forget it at its kGone"));
    return Errc::kNotFound;
  }
  wake(*client);
  const Errc result = act(*client);
  if (result != Errc::kOk && result != Errc::kWouldBlock) status_ = client->core.status();
  return result;
}

Errc DuplexServerCore::noted(Client& client, Errc result, Refused what, std::size_t bytes) {
  if (result == Errc::kWouldBlock) {
    std::optional<std::size_t>& smallest = client.refused[what];
    smallest = std::min(smallest.value_or(bytes), bytes);
  }
  return result;
}

Errc DuplexServerCore::try_reply(ClientId client, CallId call, std::span<const std::byte> payload,
                                 std::uint32_t type) {
  return use(client, [&](Client& of) {
    const Errc sent = of.core.reply(call, payload, type, Deadline::now());
    return noted(of, sent, kReplies, payload.size());
  });
}

Errc DuplexServerCore::try_reply_error(ClientId client, CallId call, std::uint32_t code,
                                       const std::string& text) {
  return use(client, [&](Client& of) {
    const Errc sent = of.core.reply_error(call, code, text, Deadline::now());
    const std::size_t size = std::min<std::size_t>(text.size(), of.core.message_bytes_max());
    return noted(of, sent, kReplies, size);
  });
}

Errc DuplexServerCore::try_send(ClientId client, std::span<const std::byte> payload,
                                std::uint32_t type) {
  return use(client, [&](Client& of) {
    return noted(of, of.core.try_send(payload, type), kMessages, payload.size());
  });
}

Result<CallId> DuplexServerCore::try_start(ClientId client, std::span<const std::byte> payload,
                                           std::uint32_t type, Deadline deadline) {
  CallId call = 0;
  const Errc started = use(client, [&](Client& of) {
    const Result<CallId> tried = of.core.try_start(payload, type, deadline);
    call = *tried;
    return noted(of, tried.error(), kCalls, payload.size());
  });
  return {started, call};
}

Errc DuplexServerCore::cancel(ClientId client, CallId call) {
  return use(client, [&](Client& of) { return of.core.cancel(call); });
}

bool DuplexServerCore::is_cancelled(ClientId client, CallId call) {
  bool cancelled = false;
  const Errc asked = use(client, [&](Client& of) {
    cancelled = of.core.is_cancelled(call);
    return Errc::kOk;
  });
  return asked == Errc::kOk && cancelled;
}

Errc DuplexServerCore::drop(ClientId client) {
  const Errc dropped = use(client, [&](Client& of) {
    retire(of);
    return Errc::kOk;
  });
  if (dropped == Errc::kOk) erase(client);
  return dropped;
}

// Passes and polls.

bool DuplexServerCore::is_poll_due() {
  const bool is_due = passes_left_ == 0;
  passes_left_ = is_due ? kServerPassesPerPoll - 1 : passes_left_ - 1;
  return is_due;
}

void DuplexServerCore::poll_all() {
  watch_.wake_at(0);
  std::array<epoll_event, kReadablePerPoll> room;
  for (const epoll_event& readable : watch_.ready(room)) {
    const std::uint64_t tag = readable.data.u64;
    if (tag == kListenerTag) {
      listener_is_due_ = true;
    } else if (tag == kInterruptTag) {
      drain_eventfd(wake_up_.get());
    } else if (Client* const client = tag == 0 ? nullptr : find(tag)) {
      // Also of one that is awake: what stays at its socket would keep fd() readable.
      client->core.look_at_socket();
      wake(*client);
    }
  }
  wake_due();
  if (listener_is_due_) serve_listener();
}

// Those that are due soon come along, or many idle clients would wake the server one by one.
void DuplexServerCore::wake_due() {
  const std::uint64_t now = asleep_.empty() ? kNever : monotonic_ns();
  if (now < asleep_due_ns_) return;
  asleep_due_ns_ = kNever;
  for (auto next = asleep_.begin(); next != asleep_.end();) {
    Client& client = *next++;
    if (client.due_ns <= now + kChannelSleepNsMax / 2) {
      wake(client);
    } else {
      asleep_due_ns_ = std::min(asleep_due_ns_, client.due_ns);
    }
  }
}

void DuplexServerCore::serve_listener() {
  listener_is_due_ = false;
  if (!free_.empty()) return accept();
  if (const absl::Status tended = listener_.tend(); !tended.ok()) note_listener(tended);
}

// One at a time: making its memory takes a while, and the clients that are there go on in between.
void DuplexServerCore::accept() {
  absl::StatusOr<std::unique_ptr<ChannelSide>> side = ChannelAccess::core_of(listener_).accept(
      ChannelRole::kDuplex, options_.channel, Deadline::now());
  if (errc_of(side.status()) == Errc::kWouldBlock) return;
  if (!side.ok()) return note_listener(side.status());
  listener_is_due_ = true;  // until nobody else can be accepted
  const std::uint32_t place = free_.back();
  const ClientId id = call_number(++serial_, options_.clients_max, place);
  auto client =
      std::make_unique<Client>(id, ChannelHandle(side->release()), options_.channel.late_replies);
  if (!watch_.add(client->fd, id)) {
    failed_ = not_watched(absl::StrCat("the socket of ", client->core.peer_name()));
    return;
  }
  free_.pop_back();
  awake_.push_back(*client);
  clients_[place] = std::move(client);
}

// The listener accepts nobody now: it was handed over, or failed.
void DuplexServerCore::note_listener(const absl::Status& status) {
  if (listener_.handed_over()) {
    handed_over_ = true;
    hand_over_is_due_ = true;
  } else {
    failed_ = status;
  }
}

bool DuplexServerCore::has_what_was_refused(Client& client) {
  const auto has_room = [&](Refused what) {
    return client.refused[what] && client.core.has_room(*client.refused[what]);
  };
  return has_room(kReplies) || (has_room(kMessages) && client.core.has_credit()) ||
         (has_room(kCalls) && client.core.has_place());
}

bool DuplexServerCore::has_event(Client& client) {
  return client.is_new || client.core.has_event() || has_what_was_refused(client);
}

bool DuplexServerCore::has_event() {
  if (hand_over_is_due_ || !failed_.ok() || is_over()) return true;
  return std::any_of(awake_.begin(), awake_.end(),
                     [](Client& client) { return has_event(client); });
}

void DuplexServerCore::end_turn() {
  turn_left_ = options_.turn_events_max;
  if (!awake_.empty()) awake_.splice(awake_.end(), awake_, awake_.begin());
}

Result<ServerEvent> DuplexServerCore::take_next() {
  if (std::exchange(hand_over_is_due_, false)) {
    return ServerEvent{.kind = ServerEvent::Kind::kHandedOver};
  }
  if (!failed_.ok()) {
    status_ = std::exchange(failed_, absl::OkStatus());
    return errc_of(status_);
  }
  for (std::size_t left = awake_.size(); left > 0; --left) {
    Client& client = awake_.front();
    if (has_event(client)) {
      const Result<ServerEvent> event = take_from(client);
      if (event.error() != Errc::kWouldBlock) return event;
    }
    end_turn();
  }
  return Errc::kWouldBlock;
}

// kWouldBlock: it has not read all that its peer had sent before it ended, and continues in its next
// turn.
Result<ServerEvent> DuplexServerCore::take_from(Client& client) {
  ServerEvent event{.client = client.id};
  if (std::exchange(client.is_new, false)) {
    event.kind = ServerEvent::Kind::kConnected;
  } else if (has_what_was_refused(client)) {
    client.refused = {};
    event.kind = ServerEvent::Kind::kRoom;
  } else {
    const Result<Arrival> arrival = client.core.try_wait_any();
    if (arrival.error() == Errc::kWouldBlock) return Errc::kWouldBlock;
    if (!arrival.ok()) {
      event.kind = ServerEvent::Kind::kGone;
      event.why = arrival.error();
      status_ = client.core.status();
      gone_ = client.id;
      retire(client);
      return event;
    }
    switch (arrival->kind) {
      case Arrival::Kind::kReply:
        event.kind = ServerEvent::Kind::kReply;
        event.reply = arrival->reply;
        break;
      case Arrival::Kind::kIncoming:
        event.kind = ServerEvent::Kind::kMessage;
        event.message = arrival->incoming;
        break;
    }
  }
  if (--turn_left_ == 0) end_turn();
  return event;
}

// Waiting.

Result<ServerEvent> DuplexServerCore::wait(Deadline deadline) {
  if (fork_.in_child()) return Errc::kForked;
  if (!waiting_.try_take()) return Errc::kMisuse;
  erase_gone();
  const Result<ServerEvent> event = wait_alone(deadline.monotonic_ns());
  waiting_.release();
  return event;
}

void DuplexServerCore::interrupt() noexcept {
  interrupted_.raise();
  signal_eventfd(wake_up_.get());
}

Result<ServerEvent> DuplexServerCore::wait_alone(std::uint64_t deadline_ns) {
  for (;;) {
    const bool polls = is_poll_due();
    if (polls) poll_all();
    if (const Result<ServerEvent> event = take_next(); event.error() != Errc::kWouldBlock) {
      waiter_.reset();
      return event;
    }
    if (is_over()) return Errc::kClosed;
    if (!polls) {
      if (deadline_ns != 0 && waiter_.spinning()) {
        waiter_.spin();
      } else {
        passes_left_ = 0;  // nothing is given up, or slept for, before a poll
      }
      continue;
    }
    if (deadline_ns == 0) return Errc::kWouldBlock;
    if (interrupted_.take()) return Errc::kInterrupted;
    if (monotonic_ns() >= deadline_ns) return Errc::kTimedOut;
    if (waiter_.stay_awake()) continue;
    rest(deadline_ns);
    passes_left_ = 0;
  }
}

// False: there is an event, or the listener has something to do.
bool DuplexServerCore::arm_all() {
  if (listener_is_due_ || hand_over_is_due_ || !failed_.ok() || is_over()) return false;
  while (!awake_.empty()) {
    Client& client = awake_.front();
    if (client.is_new || !client.core.arm([&] { return has_what_was_refused(client); }))
      return false;
    client.due_ns = std::min(client.core.next_expiry_ns(), monotonic_ns() + kChannelSleepNsMax);
    asleep_due_ns_ = std::min(asleep_due_ns_, client.due_ns);
    client.state = Client::State::kAsleep;
    awake_.pop_front();
    asleep_.push_back(client);
    turn_left_ = options_.turn_events_max;
  }
  return true;
}

void DuplexServerCore::rest(std::uint64_t deadline_ns) {
  if (!arm_all() || interrupted_.is_raised()) return;
  const std::uint64_t now = monotonic_ns();
  const std::uint64_t until_ns = std::min({deadline_ns, asleep_due_ns_, now + kChannelSleepNsMax});
  if (now < until_ns) wait_readable(watch_.fd(), until_ns - now);
}

bool DuplexServerCore::arm() {
  if (fork_.in_child() || waiting_.is_taken()) return false;
  erase_gone();
  poll_all();
  if (has_event() || !arm_all()) return false;
  watch_.wake_at(asleep_due_ns_ == kNever ? 0 : asleep_due_ns_);
  return true;
}

bool DuplexServerCore::is_ready() {
  if (fork_.in_child()) return true;
  if (is_poll_due()) poll_all();
  return has_event();
}

std::optional<WakeUp> DuplexServerCore::prepare_wait() {
  if (fork_.in_child()) return std::nullopt;
  passes_left_ = 0;  // is_ready() is asked next, whether or not this has prepared
  if (!arm_all() || !waiting_.try_take()) return std::nullopt;
  return WakeUp{.wake_by_ns = std::min(asleep_due_ns_, monotonic_ns() + kChannelSleepNsMax)};
}

void DuplexServerCore::finish_wait() {
  waiting_.release();
}

}  // namespace lapwing

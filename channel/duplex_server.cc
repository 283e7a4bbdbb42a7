#include "lapwing/duplex_server.h"

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "channel/duplex_state.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/ready_loop.h"
#include "os/wait_source.h"

namespace lapwing {
namespace {

// Tags of descriptors in the ready loop. A client's tag is its id.
constexpr std::uint64_t kListenerTag = kWakeUpTag - 1;
constexpr std::size_t kReadablePerPoll = 64;
constexpr std::uint64_t kNoneDueNs = std::numeric_limits<std::uint64_t>::max();

// Sets the clients to kPark: the server waits for them, but they never wait themselves.
DuplexServerOptions with_clients_that_do_not_wait(DuplexServerOptions options) {
  options.channel.wait = WaitStrategy::kPark;
  return options;
}

absl::Status check_limits(const DuplexServerOptions& options) {
  if (options.clients_max == 0 || options.clients_max > kServerClientsMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("clients_max is ", options.clients_max, "; it must be 1 to ",
                                   kServerClientsMax));
  }
  if (options.turn_events_max == 0) {
    return make_error(Errc::kInvalidArgument,
                      "turn_events_max is 0, so no client would have a turn; it must be 1 or more");
  }
  return absl::OkStatus();
}

}  // namespace

// The clients, their turns, and how the ready loop checks them (os/ready_loop.h).
//
//   a check   queries the awake clients in turn, beginning with the client whose turn it is
//   a poll    queries the sockets of sleeping clients and the listener (one system call), and the
//             clock, for clients whose sleep has lasted long enough. Each check of everything
//             begins with a poll
//
// A client is awake, asleep or gone. Before the server sleeps, it arms each awake client, as an
// event loop arms a duplex. From then on the client is asleep: its side wakes the server through
// its socket. It stays asleep, however often the server wakes for others, until its socket is
// readable, an operation uses its channel, or its time has come. So waking and sleeping need system
// calls only for clients that had an event, and a check does not query sleeping clients.
//
// Invariants
//  1. A sleeping client has been armed, and no operation has used its channel since.
//  2. Every client's socket is watched from its acceptance until the client is gone.
//  3. No client sleeps for longer than kChannelSleepNsMax, or beyond the deadline of a call to it.
//
// Ownership: the listener and the clients' channels.
struct DuplexServer::State final : WaitSource {
  // Operations that returned kWouldBlock. Each needs room. A message also needs a credit, and a
  // call a place.
  enum Refused : std::size_t { kReplies, kMessages, kCalls };
  static constexpr std::size_t kRefusedKinds = 3;
  struct Client : boost::intrusive::list_base_hook<> {
    Client(ClientId named, Duplex opened) : id(named), duplex(std::move(opened)), fd(duplex.fd()) {}
    Duplex::State& steps() { return *duplex.state_; }
    bool has_what_was_refused();
    bool has_event() { return is_new || steps().has_event() || has_what_was_refused(); }

    const ClientId id;
    Duplex duplex;
    const int fd;  // the watched descriptor
    enum class Phase { kAwake, kAsleep, kGone } phase = Phase::kAwake;
    bool is_new = true;
    std::array<std::optional<std::size_t>, kRefusedKinds> refused = {};  // smallest size, in bytes
    std::uint64_t due_ns = 0;  // while asleep: the time at which it wakes without an event
  };
  using Clients = boost::intrusive::list<Client>;

  State(ChannelListener accepting, const DuplexServerOptions& given, LoopDescriptors descriptors);
  ~State();

  Client* find(ClientId id) const;
  // The first part of every operation on a client: wakes it, and calls `act` with it.
  template <typename Act>
  Errc use(ClientId id, const Act& act);
  // Returns `result`, and notes the refused operation if it is kWouldBlock.
  static Errc noted(Client& client, Errc result, Refused what, std::size_t bytes);
  void wake(Client& client);
  void retire(Client& client);
  void erase(ClientId id);
  void erase_gone();

  void poll_all();
  void wake_due();
  void serve_listener();
  void accept();
  void note_listener(const absl::Status& why);

  bool has_event();
  bool is_over() const { return handed_over && free_places.size() == clients.size(); }
  Result<ServerEvent> take_from(Client& client);
  void end_turn();
  bool arm_all();

  // For the ready loop.
  Result<ServerEvent> check(bool everything);
  void rest(FutexWord bell, std::uint64_t until_ns);

  // For a wait set.
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override { loop.end_wait(); }
  int wake_fd() const override { return loop.fd(); }

  const DuplexServerOptions options;
  ChannelListener listener;
  ReadyLoop loop;

  std::vector<std::unique_ptr<Client>> clients;  // by place; a ClientId is a call_number()
  std::vector<std::uint32_t> free_places;
  std::uint64_t serial = 0;  // of the newest client
  ClientId gone = 0;         // the client for which kGone was returned last
  Clients awake;             // the first one has the turn
  Clients asleep;
  std::uint64_t asleep_due_ns = kNoneDueNs;  // at or before the earliest of those asleep
  std::uint32_t turn_left;                   // events left in the current turn
  bool listener_is_due = true;
  bool handed_over = false;
  bool hand_over_is_due = false;  // the kHandedOver event is due
  absl::Status failed;            // an error of accept() that has not been returned yet
  absl::Status status;
};

DuplexServer::State::State(ChannelListener accepting, const DuplexServerOptions& given,
                           LoopDescriptors descriptors)
    : options(with_clients_that_do_not_wait(given)),
      listener(std::move(accepting)),
      loop("server of duplexes", given.channel.wait, std::move(descriptors)),
      clients(given.clients_max),
      turn_left(given.turn_events_max) {
  for (std::uint32_t place = given.clients_max; place > 0; --place)
    free_places.push_back(place - 1);
}

DuplexServer::State::~State() {
  leave_owner();
  awake.clear();
  asleep.clear();
}

// Clients.

DuplexServer::State::Client* DuplexServer::State::find(ClientId id) const {
  if (loop.made().in_child()) return nullptr;
  Client* const client = clients[call_place(id, options.clients_max)].get();
  return client != nullptr && client->id == id ? client : nullptr;
}

void DuplexServer::State::wake(Client& client) {
  if (client.phase != Client::Phase::kAsleep) return;
  client.phase = Client::Phase::kAwake;
  asleep.erase(asleep.iterator_to(client));
  awake.push_back(client);
}

// Ends the events of the client. It may have closed its socket, whose number may now belong to
// another socket.
void DuplexServer::State::retire(Client& client) {
  if (client.phase == Client::Phase::kGone) return;
  wake(client);
  if (&awake.front() == &client) turn_left = options.turn_events_max;
  awake.erase(awake.iterator_to(client));
  client.phase = Client::Phase::kGone;
  loop.stop_watching(client.duplex.fd() == client.fd ? client.fd : -1);
}

void DuplexServer::State::erase(ClientId id) {
  const std::uint32_t place = call_place(id, options.clients_max);
  clients[place].reset();
  free_places.push_back(place);
  listener_is_due = !handed_over;  // a client may be waiting for a free place
}

void DuplexServer::State::erase_gone() {
  if (const ClientId last = std::exchange(gone, 0); find(last) != nullptr) erase(last);
}

// Operations on a client.

template <typename Act>
Errc DuplexServer::State::use(ClientId id, const Act& act) {
  if (const Errc entered = loop.enter(); entered != Errc::kOk) return entered;
  Client* const client = find(id);
  if (client == nullptr) {
    status = make_error(
        Errc::kNotFound,
        absl::StrCat(
            "client ", id, " of ", listener.path(),
            " is unknown: it has disconnected, or never existed. Drop its id at its kGone event"));
    return Errc::kNotFound;
  }
  wake(*client);
  const Errc result = act(*client);
  if (result != Errc::kOk && result != Errc::kWouldBlock) status = client->duplex.status();
  return result;
}

Errc DuplexServer::State::noted(Client& client, Errc result, Refused what, std::size_t bytes) {
  if (result == Errc::kWouldBlock) {
    std::optional<std::size_t>& smallest = client.refused[what];
    smallest = std::min(smallest.value_or(bytes), bytes);
  }
  return result;
}

// Checks and polls.

void DuplexServer::State::poll_all() {
  loop.wake_at(0);
  std::array<epoll_event, kReadablePerPoll> room;
  for (const epoll_event& readable : loop.take_ready(room)) {
    const std::uint64_t tag = readable.data.u64;
    if (tag == kListenerTag) {
      listener_is_due = true;
    } else if (Client* const client = find(tag)) {
      // Also for an awake client, because unread data at its socket would keep fd() readable.
      client->steps().side.look_at_socket();
      wake(*client);
    }
  }
  wake_due();
  if (listener_is_due) serve_listener();
}

// Wakes clients that are due soon together, so that many idle clients do not wake the server one by
// one.
void DuplexServer::State::wake_due() {
  const std::uint64_t now = asleep.empty() ? kNoneDueNs : monotonic_ns();
  if (now < asleep_due_ns) return;
  asleep_due_ns = kNoneDueNs;
  for (auto next = asleep.begin(); next != asleep.end();) {
    Client& client = *next++;
    if (client.due_ns <= now + kChannelSleepNsMax / 2) {
      wake(client);
    } else {
      asleep_due_ns = std::min(asleep_due_ns, client.due_ns);
    }
  }
}

void DuplexServer::State::serve_listener() {
  listener_is_due = false;
  if (!free_places.empty()) return accept();
  if (const absl::Status tended = listener.tend(); !tended.ok()) note_listener(tended);
}

// Accepts one client at a time. Creating its memory takes a while, and the other clients are served
// in between.
void DuplexServer::State::accept() {
  absl::StatusOr<Duplex> duplex = Duplex::accept(listener, options.channel, Deadline::now());
  if (errc_of(duplex.status()) == Errc::kWouldBlock) return;
  if (!duplex.ok()) return note_listener(duplex.status());
  listener_is_due = true;  // until no more clients are waiting
  const std::uint32_t place = free_places.back();
  const ClientId id = call_number(++serial, options.clients_max, place);
  auto client = std::make_unique<Client>(id, *std::move(duplex));
  if (loop.watch(client->fd, EPOLLIN, id) != 0) {
    failed = no_room_to_watch(absl::StrCat("the socket of ", client->steps().side.peer_name()));
    return;
  }
  free_places.pop_back();
  awake.push_back(*client);
  clients[place] = std::move(client);
}

// The listener cannot accept now: it was handed over, or it has failed.
void DuplexServer::State::note_listener(const absl::Status& why) {
  if (listener.handed_over()) {
    handed_over = true;
    hand_over_is_due = true;
  } else {
    failed = why;
  }
}

bool DuplexServer::State::Client::has_what_was_refused() {
  const auto has_room = [&](Refused what) {
    return refused[what] && steps().has_room(*refused[what]);
  };
  return has_room(kReplies) || (has_room(kMessages) && steps().has_credit()) ||
         (has_room(kCalls) && steps().has_place());
}

bool DuplexServer::State::has_event() {
  if (hand_over_is_due || !failed.ok() || is_over()) return true;
  return std::any_of(awake.begin(), awake.end(), [](Client& client) { return client.has_event(); });
}

void DuplexServer::State::end_turn() {
  turn_left = options.turn_events_max;
  if (!awake.empty()) awake.splice(awake.end(), awake, awake.begin());
}

Result<ServerEvent> DuplexServer::State::check(bool everything) {
  erase_gone();
  if (everything) poll_all();
  if (std::exchange(hand_over_is_due, false)) {
    return ServerEvent{.kind = ServerEvent::Kind::kHandedOver};
  }
  if (!failed.ok()) {
    status = std::exchange(failed, absl::OkStatus());
    return errc_of(status);
  }
  for (std::size_t left = awake.size(); left > 0; --left) {
    Client& client = awake.front();
    if (client.has_event()) {
      const Result<ServerEvent> event = take_from(client);
      if (event.error() != Errc::kWouldBlock) return event;
    }
    end_turn();
  }
  return is_over() ? Errc::kClosed : Errc::kWouldBlock;
}

// kWouldBlock: the client has not read everything that its peer sent before the peer ended, and
// continues in its next turn.
Result<ServerEvent> DuplexServer::State::take_from(Client& client) {
  ServerEvent event{.client = client.id};
  if (std::exchange(client.is_new, false)) {
    event.kind = ServerEvent::Kind::kConnected;
  } else if (client.has_what_was_refused()) {
    client.refused = {};
    event.kind = ServerEvent::Kind::kRoom;
  } else {
    const Result<Arrival> arrival = client.duplex.try_wait_any();
    if (arrival.error() == Errc::kWouldBlock) return Errc::kWouldBlock;
    if (!arrival.ok()) {
      event.kind = ServerEvent::Kind::kGone;
      event.why = arrival.error();
      status = client.duplex.status();
      gone = client.id;
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
  if (--turn_left == 0) end_turn();
  return event;
}

// Sleeping.

// Arms all clients. False if there is an event, or the listener has work to do.
bool DuplexServer::State::arm_all() {
  if (listener_is_due || hand_over_is_due || !failed.ok() || is_over()) return false;
  while (!awake.empty()) {
    Client& client = awake.front();
    if (client.is_new || !client.steps().arm([&] { return client.has_what_was_refused(); })) {
      return false;
    }
    client.due_ns = std::min(client.steps().next_expiry_ns(), monotonic_ns() + kChannelSleepNsMax);
    asleep_due_ns = std::min(asleep_due_ns, client.due_ns);
    client.phase = Client::Phase::kAsleep;
    awake.pop_front();
    asleep.push_back(client);
    turn_left = options.turn_events_max;
  }
  return true;
}

void DuplexServer::State::rest(FutexWord bell, std::uint64_t until_ns) {
  if (arm_all()) loop.park({&bell, 1}, std::min(until_ns, asleep_due_ns));
}

bool DuplexServer::State::is_ready() {
  if (loop.made().in_child()) return true;
  if (loop.is_round_due()) poll_all();
  return has_event();
}

std::optional<WakeUp> DuplexServer::State::prepare_wait() {
  if (loop.made().in_child()) return std::nullopt;
  loop.begin_round();  // is_ready() is called next anyway
  if (!arm_all() || !loop.begin_wait()) return std::nullopt;
  return WakeUp{.wake_by_ns = std::min(asleep_due_ns, monotonic_ns() + kChannelSleepNsMax)};
}

// The server.

absl::StatusOr<DuplexServer> DuplexServer::open(const std::string& path,
                                                const DuplexServerOptions& options) {
  auto listener = ChannelListener::listen(path, options.channel.expected_peer_uid);
  if (!listener.ok()) return listener.status();
  return open(*std::move(listener), options);
}

absl::StatusOr<DuplexServer> DuplexServer::open(ChannelListener listener,
                                                const DuplexServerOptions& options) {
  if (absl::Status limits = check_limits(options); !limits.ok()) return limits;
  absl::Status fit = check_channel_options(ChannelRole::kDuplex, options.channel);
  if (fit.ok()) fit = listener.check_expected(options.channel);
  if (!fit.ok()) return fit;
  absl::StatusOr<LoopDescriptors> descriptors =
      LoopDescriptors::make(Watch::make_with_timer("to listen for channels"));
  if (!descriptors.ok()) return descriptors.status();
  StateHandle state(new State(std::move(listener), options, *std::move(descriptors)));
  const int listening = state->listener.fd();
  if (listening >= 0 && state->loop.watch(listening, EPOLLIN, kListenerTag) != 0) {
    return no_room_to_watch(state->listener.path());
  }
  return DuplexServer(std::move(state));
}

DuplexServer::DuplexServer(StateHandle state) : state_(std::move(state)) {}
DuplexServer::DuplexServer(DuplexServer&&) noexcept = default;
DuplexServer& DuplexServer::operator=(DuplexServer&&) noexcept = default;
DuplexServer::~DuplexServer() = default;
void DuplexServer::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->loop.made());
}

Result<ServerEvent> DuplexServer::try_wait() {
  return wait(Deadline::now());
}

Result<ServerEvent> DuplexServer::wait(Deadline deadline) {
  return state_->loop.wait(*state_, deadline.monotonic_ns());
}

Result<> DuplexServer::try_reply(ClientId client, CallId call, std::span<const std::byte> payload,
                                 std::uint32_t type) {
  return state_->use(client, [&](State::Client& of) {
    const Result<> sent = of.duplex.reply(call, payload, type, Deadline::now());
    return State::noted(of, sent.error(), State::kReplies, payload.size());
  });
}

Result<> DuplexServer::try_reply_error(ClientId client, CallId call, std::uint32_t code,
                                       const std::string& text) {
  return state_->use(client, [&](State::Client& of) {
    const Result<> sent = of.duplex.reply_error(call, code, text, Deadline::now());
    const std::size_t size = std::min<std::size_t>(text.size(), of.duplex.message_bytes_max());
    return State::noted(of, sent.error(), State::kReplies, size);
  });
}

Result<> DuplexServer::try_send(ClientId client, std::span<const std::byte> payload,
                                std::uint32_t type) {
  return state_->use(client, [&](State::Client& of) {
    const Result<> sent = of.duplex.try_send(payload, type);
    return State::noted(of, sent.error(), State::kMessages, payload.size());
  });
}

Result<CallId> DuplexServer::try_start(ClientId client, std::span<const std::byte> payload,
                                       std::uint32_t type, Deadline deadline) {
  CallId call = 0;
  const Errc started = state_->use(client, [&](State::Client& of) {
    const Result<CallId> tried = of.duplex.try_start(payload, type, deadline);
    call = *tried;
    return State::noted(of, tried.error(), State::kCalls, payload.size());
  });
  return {started, call};
}

Result<> DuplexServer::cancel(ClientId client, CallId call) {
  return state_->use(client, [&](State::Client& of) { return of.duplex.cancel(call).error(); });
}

bool DuplexServer::is_cancelled(ClientId client, CallId call) {
  bool cancelled = false;
  const Errc asked = state_->use(client, [&](State::Client& of) {
    cancelled = of.duplex.is_cancelled(call);
    return Errc::kOk;
  });
  return asked == Errc::kOk && cancelled;
}

Result<> DuplexServer::drop(ClientId client) {
  const Errc dropped = state_->use(client, [&](State::Client& of) {
    state_->retire(of);
    return Errc::kOk;
  });
  if (dropped == Errc::kOk) state_->erase(client);
  return dropped;
}

std::size_t DuplexServer::clients() const {
  return state_->loop.made().in_child() ? 0 : state_->awake.size() + state_->asleep.size();
}

std::string DuplexServer::peer(ClientId client) const {
  State::Client* const found = state_->find(client);
  return found == nullptr ? std::string() : found->steps().side.peer_name();
}

ChannelCounters DuplexServer::counters(ClientId client) const {
  const State::Client* const found = state_->find(client);
  return found == nullptr ? ChannelCounters() : found->duplex.counters();
}

DuplexCounters DuplexServer::duplex_counters(ClientId client) const {
  const State::Client* const found = state_->find(client);
  return found == nullptr ? DuplexCounters() : found->duplex.duplex_counters();
}

std::uint64_t DuplexServer::refused() const {
  return state_->listener.refused();
}

const absl::Status& DuplexServer::last_refusal() const {
  return state_->listener.last_refusal();
}

const absl::Status& DuplexServer::status() const {
  const ForkWatch& made = state_->loop.made();
  return made.in_child() ? made.error() : state_->status;
}

bool DuplexServer::arm() {
  State& state = *state_;
  if (state.loop.enter() != Errc::kOk) return false;
  state.erase_gone();
  state.poll_all();
  if (state.has_event() || !state.arm_all()) return false;
  state.loop.wake_at(state.asleep_due_ns == kNoneDueNs ? 0 : state.asleep_due_ns);
  return true;
}

int DuplexServer::fd() const {
  return state_->loop.fd();
}

void DuplexServer::interrupt() noexcept {
  state_->loop.interrupt();
}

WaitSource* DuplexServer::wait_source() {
  return state_.get();
}

}  // namespace lapwing

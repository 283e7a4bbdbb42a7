#include "lapwing/duplex.h"

#include <utility>

#include "channel/channel_access.h"
#include "channel/duplex_core.h"
#include "channel/handshake.h"
#include "channel/listener_core.h"
#include "lapwing/listener.h"
#include "os/fork.h"

namespace lapwing {
namespace {

absl::StatusOr<std::unique_ptr<DuplexCore>> core_of(
    absl::StatusOr<std::unique_ptr<ChannelSide>> side, const ChannelOptions& options) {
  if (!side.ok()) return side.status();
  return std::make_unique<DuplexCore>(ChannelHandle(side->release()), options.late_replies);
}

}  // namespace

absl::StatusOr<Duplex> Duplex::connect(const std::string& path, const ChannelOptions& options,
                                       Deadline deadline) {
  auto core = core_of(connect_channel(path, ChannelRole::kDuplex, options, deadline.monotonic_ns()),
                      options);
  if (!core.ok()) return core.status();
  return Duplex(CoreHandle(core->release()));
}

absl::StatusOr<Duplex> Duplex::accept(ChannelListener& listener, const ChannelOptions& options,
                                      Deadline deadline) {
  auto core = core_of(
      ChannelAccess::core_of(listener).accept(ChannelRole::kDuplex, options, deadline), options);
  if (!core.ok()) return core.status();
  return Duplex(CoreHandle(core->release()));
}

void Duplex::DeleteCore::operator()(DuplexCore* core) const {
  delete_unless_forked(core, core->made());
}

WaitSource* ChannelAccess::wait_source(Duplex& duplex) {
  return duplex.core_ == nullptr ? nullptr : duplex.core_->wait_source();
}

Duplex::Duplex(CoreHandle core) : core_(std::move(core)) {}
// One that was moved from keeps a core without a side, which answers kMisuse.
Duplex::Duplex(Duplex&& other) noexcept : core_(new DuplexCore(std::move(*other.core_))) {}
Duplex& Duplex::operator=(Duplex&& other) noexcept {
  if (this != &other) core_ = CoreHandle(new DuplexCore(std::move(*other.core_)));
  return *this;
}
Duplex::~Duplex() = default;

Result<Reply> Duplex::call(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline) {
  return core_->call(payload, type, deadline);
}
Result<CallId> Duplex::try_start(std::span<const std::byte> payload, std::uint32_t type,
                                 Deadline deadline) {
  return core_->try_start(payload, type, deadline);
}
Result<CallId> Duplex::start(std::span<const std::byte> payload, std::uint32_t type,
                             Deadline deadline) {
  return core_->start(payload, type, deadline);
}
Result<Reply> Duplex::finish(CallId call) {
  return core_->finish(call);
}
Result<Reply> Duplex::try_finish_any() {
  return core_->try_finish_any();
}
Result<Reply> Duplex::finish_any(Deadline deadline) {
  return core_->finish_any(deadline);
}
Result<> Duplex::cancel(CallId call) {
  return core_->cancel(call);
}
Result<Incoming> Duplex::try_next() {
  return core_->try_next();
}
Result<Incoming> Duplex::next(Deadline deadline) {
  return core_->next(deadline);
}
Result<Arrival> Duplex::try_wait_any() {
  return core_->try_wait_any();
}
Result<Arrival> Duplex::wait_any(Deadline deadline) {
  return core_->wait_any(deadline);
}
Result<> Duplex::reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                       Deadline deadline) {
  return core_->reply(call, payload, type, deadline);
}
Result<> Duplex::reply_error(CallId call, std::uint32_t code, const std::string& text,
                             Deadline deadline) {
  return core_->reply_error(call, code, text, deadline);
}
bool Duplex::is_cancelled(CallId call) {
  return core_->is_cancelled(call);
}
Result<> Duplex::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  return core_->try_send(payload, type);
}
Result<> Duplex::send(std::span<const std::byte> payload, std::uint32_t type, Deadline deadline) {
  return core_->send(payload, type, deadline);
}
bool Duplex::arm() {
  return core_->arm();
}
void Duplex::close() {
  core_->close();
}
DuplexCounters Duplex::duplex_counters() const {
  return core_->duplex_counters();
}
std::uint32_t Duplex::message_bytes_max() const {
  return core_->message_bytes_max();
}
int Duplex::fd() const {
  return core_->fd();
}
const absl::Status& Duplex::status() const {
  return core_->status();
}
ChannelCounters Duplex::counters() const {
  return core_->counters();
}
Id128 Duplex::connection_id() const {
  return core_->connection_id();
}
void Duplex::interrupt() noexcept {
  core_->interrupt();
}

}  // namespace lapwing

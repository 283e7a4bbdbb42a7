#include "lapwing/duplex_server.h"

#include <utility>

#include "channel/channel_access.h"
#include "channel/duplex_server_core.h"
#include "os/fork.h"

namespace lapwing {

absl::StatusOr<DuplexServer> DuplexServer::open(const std::string& path,
                                                const DuplexServerOptions& options) {
  auto listener = ChannelListener::listen(path, options.channel.expected_peer_uid);
  if (!listener.ok()) return listener.status();
  return open(*std::move(listener), options);
}

absl::StatusOr<DuplexServer> DuplexServer::open(ChannelListener listener,
                                                const DuplexServerOptions& options) {
  auto core = DuplexServerCore::make(std::move(listener), options);
  if (!core.ok()) return core.status();
  return DuplexServer(CoreHandle(core->release()));
}

void DuplexServer::DeleteCore::operator()(DuplexServerCore* core) const {
  delete_unless_forked(core, core->made());
}

WaitSource* ChannelAccess::wait_source(DuplexServer& server) {
  return server.core_.get();
}

DuplexServer::DuplexServer(CoreHandle core) : core_(std::move(core)) {}
DuplexServer::DuplexServer(DuplexServer&&) noexcept = default;
DuplexServer& DuplexServer::operator=(DuplexServer&&) noexcept = default;
DuplexServer::~DuplexServer() = default;

Result<ServerEvent> DuplexServer::try_wait() {
  return core_->wait(Deadline::now());
}
Result<ServerEvent> DuplexServer::wait(Deadline deadline) {
  return core_->wait(deadline);
}
Result<> DuplexServer::try_reply(ClientId client, CallId call, std::span<const std::byte> payload,
                                 std::uint32_t type) {
  return core_->try_reply(client, call, payload, type);
}
Result<> DuplexServer::try_reply_error(ClientId client, CallId call, std::uint32_t code,
                                       const std::string& text) {
  return core_->try_reply_error(client, call, code, text);
}
Result<> DuplexServer::try_send(ClientId client, std::span<const std::byte> payload,
                                std::uint32_t type) {
  return core_->try_send(client, payload, type);
}
Result<CallId> DuplexServer::try_start(ClientId client, std::span<const std::byte> payload,
                                       std::uint32_t type, Deadline deadline) {
  return core_->try_start(client, payload, type, deadline);
}
Result<> DuplexServer::cancel(ClientId client, CallId call) {
  return core_->cancel(client, call);
}
bool DuplexServer::is_cancelled(ClientId client, CallId call) {
  return core_->is_cancelled(client, call);
}
Result<> DuplexServer::drop(ClientId client) {
  return core_->drop(client);
}
std::size_t DuplexServer::clients() const {
  return core_->clients();
}
std::string DuplexServer::peer(ClientId client) const {
  return core_->peer(client);
}
ChannelCounters DuplexServer::counters(ClientId client) const {
  return core_->counters(client);
}
DuplexCounters DuplexServer::duplex_counters(ClientId client) const {
  return core_->duplex_counters(client);
}
std::uint64_t DuplexServer::refused() const {
  return core_->refused();
}
const absl::Status& DuplexServer::last_refusal() const {
  return core_->last_refusal();
}
const absl::Status& DuplexServer::status() const {
  return core_->status();
}
bool DuplexServer::arm() {
  return core_->arm();
}
int DuplexServer::fd() const {
  return core_->fd();
}
void DuplexServer::interrupt() noexcept {
  core_->interrupt();
}

}  // namespace lapwing

#include "lapwing/listener.h"

#include <utility>

#include "channel/listener_core.h"
#include "os/fork.h"

namespace lapwing {
namespace {

absl::StatusOr<std::unique_ptr<ListenerCore>> boxed(absl::StatusOr<ListenerCore> core) {
  if (!core.ok()) return core.status();
  return std::make_unique<ListenerCore>(*std::move(core));
}

}  // namespace

absl::StatusOr<ChannelListener> ChannelListener::listen(const std::string& path,
                                                        std::optional<uid_t> expected_peer_uid) {
  auto core = boxed(ListenerCore::listen(path, expected_peer_uid));
  if (!core.ok()) return core.status();
  return ChannelListener(CoreHandle(core->release()));
}

absl::StatusOr<ChannelListener> ChannelListener::take_over(const std::string& path,
                                                           Deadline deadline,
                                                           std::optional<uid_t> expected_peer_uid) {
  auto core = boxed(ListenerCore::take_over(path, deadline, expected_peer_uid));
  if (!core.ok()) return core.status();
  return ChannelListener(CoreHandle(core->release()));
}

void ChannelListener::DeleteCore::operator()(ListenerCore* core) const {
  delete_unless_forked(core, core->made());
}

ChannelListener::ChannelListener(CoreHandle core) : core_(std::move(core)) {}
ChannelListener::ChannelListener(ChannelListener&&) noexcept = default;
ChannelListener& ChannelListener::operator=(ChannelListener&&) noexcept = default;
ChannelListener::~ChannelListener() = default;

const std::string& ChannelListener::path() const {
  return core_->path();
}
absl::Status ChannelListener::tend() {
  return core_->tend();
}
int ChannelListener::fd() const {
  return core_->fd();
}
void ChannelListener::interrupt() noexcept {
  core_->interrupt();
}
bool ChannelListener::handed_over() const {
  return core_->handed_over();
}
std::uint64_t ChannelListener::refused() const {
  return core_->refused();
}
const absl::Status& ChannelListener::last_refusal() const {
  return core_->last_refusal();
}

}  // namespace lapwing

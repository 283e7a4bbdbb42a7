#include "lapwing/wait_set.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/channel_access.h"
#include "lapwing/conflation.h"
#include "lapwing/consumer.h"
#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"
#include "lapwing/listener.h"
#include "lapwing/load_state.h"
#include "lapwing/producer.h"
#include "lapwing/subscriber.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "subscribers/conflation/conflation_access.h"
#include "subscribers/subscriber_access.h"
#include "wait_set/wait_set_core.h"

namespace lapwing {

absl::StatusOr<WaitSet> WaitSet::open(WaitSetOptions options) {
  absl::StatusOr<std::unique_ptr<WaitSetCore>> core = WaitSetCore::make(options.wait);
  if (!core.ok()) return core.status();
  return WaitSet(CoreHandle(core->release()));
}

WaitSet::WaitSet(CoreHandle core) : core_(std::move(core)) {}
WaitSet::WaitSet(WaitSet&&) noexcept = default;
WaitSet& WaitSet::operator=(WaitSet&&) noexcept = default;
WaitSet::~WaitSet() = default;
void WaitSet::DeleteCore::operator()(WaitSetCore* core) const {
  delete_unless_forked(core, core->made());
}

absl::StatusOr<SourceId> WaitSet::add(Subscriber& subscriber, std::uint64_t token) {
  return core_->add_source(SourceKind::kSubscriber, SubscriberAccess::wait_source(subscriber),
                           token, "subscriber");
}

absl::StatusOr<SourceId> WaitSet::add(ConflatedReader& reader, std::uint64_t token) {
  return core_->add_source(SourceKind::kConflatedReader, ConflationAccess::wait_source(reader),
                           token, "conflated reader");
}

absl::StatusOr<SourceId> WaitSet::add(LoadedState& loaded, std::uint64_t token) {
  return core_->add_source(SourceKind::kLoadedState, SubscriberAccess::wait_source(loaded), token,
                           "loaded state");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelConsumer& consumer, std::uint64_t token) {
  return core_->add_source(SourceKind::kConsumer, ChannelAccess::wait_source(consumer), token,
                           "consumer");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelProducer& producer, std::size_t bytes,
                                      std::uint64_t token) {
  if (bytes > producer.message_bytes_max()) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("room for a message of ", bytes, " bytes; this channel takes up to ",
                     producer.message_bytes_max(), "; open it with a larger message_bytes_max"));
  }
  return core_->add_source(SourceKind::kProducer, ChannelAccess::wait_source(producer, bytes),
                           token, "producer");
}

absl::StatusOr<SourceId> WaitSet::add(Duplex& duplex, std::uint64_t token) {
  return core_->add_source(SourceKind::kDuplex, ChannelAccess::wait_source(duplex), token,
                           "duplex");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelListener& listener, std::uint64_t token) {
  return core_->add_source(SourceKind::kListener, ChannelAccess::wait_source(listener), token,
                           "listener");
}

absl::StatusOr<SourceId> WaitSet::add(DuplexServer& server, std::uint64_t token) {
  return core_->add_source(SourceKind::kServer, ChannelAccess::wait_source(server), token,
                           "server");
}

absl::StatusOr<SourceId> WaitSet::add_fd(int fd, std::uint32_t events, std::uint64_t token) {
  return core_->add_fd(fd, events, token);
}

absl::StatusOr<SourceId> WaitSet::add_timer(Deadline at, std::uint64_t token,
                                            std::chrono::nanoseconds every) {
  return core_->add_timer(at.monotonic_ns(), ns_of(every), token);
}

Result<> WaitSet::set_timer(SourceId timer, Deadline at, std::chrono::nanoseconds every) {
  return core_->set_timer(timer, at.monotonic_ns(), ns_of(every));
}

Result<> WaitSet::remove(SourceId source) {
  return core_->remove(source);
}

std::size_t WaitSet::size() const {
  return core_->size();
}

Result<Ready> WaitSet::wait(Deadline deadline) {
  return core_->wait(deadline.monotonic_ns());
}

void WaitSet::interrupt() noexcept {
  core_->interrupt();
}

}  // namespace lapwing

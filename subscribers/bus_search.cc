#include "subscribers/bus_search.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/waiter.h"

namespace lapwing {

BusSearch::BusSearch(const SubscriberOptions& options)
    : directory_(options.directory),
      reattach_ns_(ns_of(options.reattach)),
      flush_timeout_ns_(ns_of(options.flush_timeout)) {
  client_options_.path = absl::StrCat(options.directory, "/", kControlSocketName);
  client_options_.role = ClientRole::kSubscriber;
  client_options_.name = options.name;
  client_options_.may_park = may_park(options.wait);
  client_options_.observes = options.observes;
}

void BusSearch::start(LeftSession left) {
  stop();
  // bus.json may record a close that is not in the journal, because the journal had already failed.
  // A session that was read on this basis is not taken again.
  known_closed_ = left.closed || (left.id == known_ && known_closed_);
  known_ = left.id;
  left_ = std::move(left);
  ends_ns_.reset();
  next_step_ns_ = 0;
  unanswered_ = absl::OkStatus();
  remains_ = Id128{};
}

void BusSearch::stop() {
  greeting_.reset();
}

BusSearch::Found BusSearch::step(std::uint64_t now_ns) {
  if (!ends_ns_) ends_ns_ = after_ns(now_ns, reattach_ns_);
  Found found = greeting_ ? greet(now_ns) : look(now_ns);
  // A publisher that used to answer and no longer does is gone, not slow.
  if (left_ && errc_of(found.status()) == Errc::kTimedOut) return give_up(found.status());
  return found;
}

BusSearch::Found BusSearch::look(std::uint64_t now_ns) {
  if (now_ns < next_step_ns_) return std::nullopt;
  next_step_ns_ = now_ns + kSearchIntervalNs;
  greeting_ends_ns_ = after_ns(now_ns, flush_timeout_ns_);
  if (left_) greeting_ends_ns_ = std::max(greeting_ends_ns_, *ends_ns_);
  return connect(now_ns);
}

absl::Status BusSearch::given_up(std::uint64_t now_ns) const {
  if (now_ns < *ends_ns_ || greeting_) return absl::OkStatus();
  if (!remains_.is_zero() && now_ns - *ends_ns_ < kUndecidedNsMax) return absl::OkStatus();
  return give_up(unanswered_);
}

absl::Status BusSearch::give_up(const absl::Status& reason) const {
  const std::string within =
      absl::StrCat(" within ", seconds_of(reattach_ns_), " s: ", std::string(reason.message()));
  if (!left_) {
    return make_error(Errc::kNoBus, absl::StrCat("no bus appeared at ", directory_, within));
  }
  return make_error(Errc::kPublisherGone,
                    absl::StrCat(left_->how, "; no publisher returned", within,
                                 "; then continue from sequence ", left_->next));
}

BusSearch::Found BusSearch::connect(std::uint64_t now_ns) {
  absl::StatusOr<ControlClient> client = ControlClient::begin(client_options_);
  const Errc code = errc_of(client.status());
  const bool absent = code == Errc::kNoBus || code == Errc::kPublisherGone;
  if (!absent) remains_ = Id128{};  // a process is listening, so the publisher is not dead
  if (client.ok()) {
    greeting_ = *std::move(client);
    return greet(now_ns);
  }
  if (!absent && code != Errc::kTimedOut) return client.status();
  unanswered_ = client.status();
  if (!absent) return std::nullopt;
  return look_at_remains(now_ns);
}

BusSearch::Found BusSearch::greet(std::uint64_t now_ns) {
  const absl::StatusOr<bool> welcomed = greeting_->welcomed();
  if (!welcomed.ok()) {
    if (greeting_->is_full()) return follow_without_place(welcomed.status(), now_ns);
    if (Found found = retry_if_absent(welcomed.status()); !found.ok()) return found;
    // The publisher died during the greeting. Find its files as if it had died just before.
    return look_at_remains(now_ns);
  }
  if (!*welcomed) {
    if (now_ns < greeting_ends_ns_) return std::nullopt;
    stop();
    return make_error(Errc::kTimedOut,
                      absl::StrCat("a publisher listens on ", client_options_.path,
                                   " but does not answer: its process may be stopped or may hang. "
                                   "Check it, continue or restart it, and join again"));
  }
  absl::StatusOr<Attachment> attachment =
      Attachment::to_publisher(*std::move(greeting_), directory_);
  stop();
  if (!attachment.ok()) return retry_if_absent(attachment.status());
  unanswered_ = absl::OkStatus();
  return std::optional<Attachment>(*std::move(attachment));
}

// The ring and the journal can be read without a client slot.
BusSearch::Found BusSearch::follow_without_place(const absl::Status& refused,
                                                 std::uint64_t now_ns) {
  stop();
  next_step_ns_ = now_ns + kRefusedIntervalNs;
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory_);
  if (!bus.ok()) return retry_if_absent(bus.status());
  if (bus->closed) return look_at_remains(now_ns);  // the session has ended since the refusal
  absl::StatusOr<Attachment> attachment =
      Attachment::without_place(directory_, *bus,
                                absl::StrCat("it follows ring and journal without a connection, "
                                             "and is not listed, until a client slot is free: ",
                                             refused.message()));
  if (errc_of(attachment.status()) == Errc::kNotPermitted) return refused;
  if (!attachment.ok()) return retry_if_absent(attachment.status());
  unanswered_ = absl::OkStatus();
  return std::optional<Attachment>(*std::move(attachment));
}

// Continues the search if the publisher is absent or has ended. All other errors are final.
BusSearch::Found BusSearch::retry_if_absent(absl::Status reason) {
  stop();
  const Errc code = errc_of(reason);
  const bool absent =
      code == Errc::kNoBus || code == Errc::kPublisherGone || code == Errc::kNotFound;
  if (!absent) return reason;
  unanswered_ = std::move(reason);
  return std::nullopt;
}

BusSearch::Found BusSearch::look_at_remains(std::uint64_t now_ns) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory_);
  const Id128 session = bus.ok() && !is_known(*bus) ? bus->session_id : Id128{};
  if (session != remains_) {
    remains_ = session;
    remains_since_ns_ = now_ns;
  }
  if (!bus.ok()) return retry_if_absent(bus.status());
  if (remains_.is_zero()) return std::nullopt;
  if (!bus->closed && now_ns - remains_since_ns_ < kRemainsGraceNs) return std::nullopt;
  known_ = std::exchange(remains_, Id128{});
  known_closed_ = bus->closed;
  absl::StatusOr<Attachment> attachment = Attachment::to_remains(directory_, *bus);
  if (!attachment.ok()) return retry_if_absent(attachment.status());
  return std::optional<Attachment>(*std::move(attachment));
}

}  // namespace lapwing

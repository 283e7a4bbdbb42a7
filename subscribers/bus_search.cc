#include "subscribers/bus_search.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/waiter.h"

namespace lapwing {

BusSearch::BusSearch(const SubscriberOptions& options) : directory_(options.directory) {
  client_options_.path = absl::StrCat(options.directory, "/", kControlSocketName);
  client_options_.role = ClientRole::kSubscriber;
  client_options_.name = options.name;
  client_options_.may_park = may_park(options.wait);
}

void BusSearch::start(const Id128& known, bool known_closed) {
  stop();
  // bus.json may call a session closed of which the journal does not say so, because it had failed
  // before: who has looked at that once need not look again.
  known_closed_ = known_closed || (known == known_ && known_closed_);
  known_ = known;
  next_step_ns_ = 0;
  unanswered_ = absl::OkStatus();
  remains_ = Id128{};
}

void BusSearch::stop() {
  greeting_.reset();
}

BusSearch::Found BusSearch::step(std::uint64_t now_ns, std::uint64_t greeting_ends_ns) {
  if (greeting_) return greet(now_ns);
  if (now_ns < next_step_ns_) return std::nullopt;
  next_step_ns_ = now_ns + kSearchIntervalNs;
  greeting_ends_ns_ = greeting_ends_ns;
  return connect(now_ns);
}

BusSearch::Found BusSearch::connect(std::uint64_t now_ns) {
  absl::StatusOr<ControlClient> client = ControlClient::begin(client_options_);
  const Errc code = errc_of(client.status());
  const bool absent = code == Errc::kNoBus || code == Errc::kPublisherGone;
  if (!absent) remains_ = Id128{};  // somebody listens: nothing is known to be left by the dead
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
    if (Found absent = nobody(welcomed.status()); !absent.ok()) return absent;
    // It died while it was greeted: what it left is found as if it had died a moment before.
    return look_at_remains(now_ns);
  }
  if (!*welcomed) {
    if (now_ns < greeting_ends_ns_) return std::nullopt;
    stop();
    return make_error(Errc::kTimedOut,
                      absl::StrCat("a publisher listens on ", client_options_.path,
                                   " but does not answer: its process may be stopped or hang; look "
                                   "at it, continue or restart it, and join again"));
  }
  absl::StatusOr<Attachment> attachment = Attachment::to_publisher(*std::move(greeting_));
  stop();
  if (!attachment.ok()) return nobody(attachment.status());
  unanswered_ = absl::OkStatus();
  return std::optional<Attachment>(*std::move(attachment));
}

// Whoever is not there, or not there any more, is looked for again; all else is final.
BusSearch::Found BusSearch::nobody(absl::Status reason) {
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
  if (!bus.ok()) return nobody(bus.status());
  if (remains_.is_zero()) return std::nullopt;
  if (!bus->closed && now_ns - remains_since_ns_ < kRemainsGraceNs) return std::nullopt;
  known_ = std::exchange(remains_, Id128{});
  known_closed_ = bus->closed;
  absl::StatusOr<Attachment> attachment = Attachment::to_remains(directory_, *bus);
  if (!attachment.ok()) return nobody(attachment.status());
  return std::optional<Attachment>(*std::move(attachment));
}

}  // namespace lapwing

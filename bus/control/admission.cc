#include "bus/control/admission.h"

#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "os/foreign_socket.h"

namespace lapwing {
namespace {

// Descriptors reserved for the rest of the process: a publisher that cannot open its next
// segment would lose its journal.
constexpr std::size_t kDescriptorsReserved = 256;
constexpr std::size_t kClientsAlways = 16;  // however few descriptors there are

// Each member of the group gets this share of the client limit, so that none locks out the others.
constexpr std::size_t kUserParts = 2;

std::size_t clients_max() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kClientsMax;
  if (descriptors.rlim_cur >= kClientsMax + kDescriptorsReserved) return kClientsMax;
  if (descriptors.rlim_cur <= kClientsAlways + kDescriptorsReserved) return kClientsAlways;
  return descriptors.rlim_cur - kDescriptorsReserved;
}

Refusal limit_reached() {
  return {DropReason::kTooManyClients, Errc::kLimit,
          absl::StrCat("the publisher has ", clients_max(), " clients, its limit (at most ",
                       kClientsMax, ", and ", kDescriptorsReserved,
                       " less than its limit on open files)")};
}

}  // namespace

bool is_bus_owner(const PeerCredentials& peer) {
  return peer.uid == geteuid() || peer.uid == 0;
}

std::optional<Refusal> refusal_of_peer(int fd, const PeerCredentials& peer,
                                       std::optional<unsigned> group,
                                       const ConnectionTable& connections) {
  // Whether the owner or root subscribes is not known until a Hello: refusal_of_subscriber().
  if (is_bus_owner(peer)) {
    if (connections.size() >= clients_max() + kQuestionsMax) return limit_reached();
    return std::nullopt;
  }
  if (!group || !peer_in_group(fd, peer, *group)) {
    return Refusal{DropReason::kPeerNotAllowed, Errc::kNotPermitted,
                   "only the bus's owner, root and members of the bus's group may connect"};
  }
  if (connections.client_count() >= clients_max()) return limit_reached();
  if (const std::size_t limit = clients_max() / kUserParts;
      connections.count_of_user(peer.uid) + closing_apart() >= limit) {
    return Refusal{DropReason::kTooManyClients, Errc::kLimit,
                   absl::StrCat("user ", peer.uid, " has ", limit,
                                " clients already, the limit for a user other than the bus's "
                                "owner and root")};
  }
  return std::nullopt;
}

std::optional<Refusal> refusal_of_subscriber(const ConnectionTable& connections) {
  if (connections.client_count() > clients_max()) return limit_reached();
  return std::nullopt;
}

}  // namespace lapwing

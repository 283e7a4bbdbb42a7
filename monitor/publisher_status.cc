#include "monitor/publisher_status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "monitor/bus_monitor.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

constexpr char kRestart[] = "Restart the publisher, unless it has just started.";

std::string control_socket(const std::string& directory) {
  return absl::StrCat(directory, "/", kControlSocketName);
}

// Returns why a running publisher could not be queried, as the end of a sentence about it.
std::string unanswered_text(const std::string& directory, const absl::Status& why) {
  const std::string socket = control_socket(directory);
  switch (errc_of(why)) {
    case Errc::kNoBus:
      return absl::StrCat("its control socket ", socket, " is gone. ", kRestart);
    case Errc::kPublisherGone:
      return absl::StrCat("it does not listen on its control socket ", socket, ". ", kRestart);
    case Errc::kTimedOut:
      return absl::StrCat("it did not answer on ", socket, " within ",
                          kPublisherAnswerNs / kNsPerSecond,
                          " s. If this persists, restart the publisher.");
    default:
      return absl::StrCat("it did not answer: ", why.message());
  }
}

absl::Status why_unanswered(const std::string& directory, const absl::Status& why) {
  const absl::StatusOr<RingStatus> ring = read_ring_status(directory);
  if (!ring.ok() || ring->publisher_state() != PublisherState::kRunning) return why;
  return make_error(errc_of(why), absl::StrCat("the publisher (pid ", ring->publisher_pid,
                                               ") runs, but ", unanswered_text(directory, why)));
}

}  // namespace

absl::StatusOr<ControlClient> connect_to_publisher(const std::string& directory,
                                                   const std::string& name,
                                                   std::uint64_t deadline_ns) {
  absl::StatusOr<ControlClient> client = ControlClient::connect(
      {.path = control_socket(directory), .role = ClientRole::kTool, .name = name}, deadline_ns);
  if (!client.ok()) return why_unanswered(directory, client.status());
  return client;
}

absl::StatusOr<PublisherStatus> list_subscribers(const std::string& directory,
                                                 ControlClient& client, Sequence head,
                                                 std::uint64_t deadline_ns) {
  const absl::StatusOr<ControlClient::SubscriberList> list = client.list_subscribers(deadline_ns);
  if (!list.ok()) return why_unanswered(directory, list.status());
  PublisherStatus status{.head = head,
                         .subscribers = {},
                         .clients_refused = list->end.refused,
                         .clients_dropped = list->end.dropped};
  std::ranges::copy(list->end.by_reason, status.clients_by_reason.begin());
  const ProcessNamespaces namespaces{.pid = client.welcome().pid_namespace,
                                     .time = client.welcome().time_namespace};
  for (const SubscriberInfoFrame& info : list->subscribers) {
    status.subscribers.push_back(status_of(info, head, wall_ns(), namespaces));
  }
  for (const auto& [index, latency] : list->latencies) {
    status.subscribers[index].latency = latency_of(latency);
  }
  return status;
}

absl::StatusOr<PublisherStatus> ask_publisher(const std::string& directory) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  absl::StatusOr<ControlClient> client = connect_to_publisher(directory, "lapwing", deadline_ns);
  if (!client.ok()) return client.status();
  return list_subscribers(directory, *client, client->welcome().head, deadline_ns);
}

}  // namespace lapwing

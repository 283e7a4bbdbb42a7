#include "cli/publisher_query.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kAnswerNs = 2'000'000'000;

}  // namespace

absl::StatusOr<PublisherAnswer> ask_publisher(const std::string& bus) {
  const std::uint64_t deadline = monotonic_ns() + kAnswerNs;
  ClientOptions options;
  options.path = absl::StrCat(bus, "/", kControlSocketName);
  options.role = ClientRole::kTool;
  options.name = "lapwing";
  absl::StatusOr<ControlClient> client = ControlClient::connect(options, deadline);
  if (!client.ok()) return client.status();
  absl::StatusOr<ControlClient::SubscriberList> list = client->list_subscribers(deadline);
  if (!list.ok()) return list.status();
  return PublisherAnswer{client->welcome(), *std::move(list)};
}

}  // namespace lapwing::cli

#include "monitor/bus_event.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "bus/control/event_log.h"
#include "monitor/count_text.h"
#include "monitor/publisher_status.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "os/process_state.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

std::string text_of(const EventInfoFrame& event) {
  return printable(get_text(event.text));
}

std::string client_of(const EventInfoFrame& event) {
  const std::string name = get_text(event.name);
  return absl::StrCat(name.empty() ? "a client" : printable(name), " (pid ", event.pid, ", user ",
                      event.uid, ")");
}

std::string counts_of(const EventInfoFrame& event) {
  return absl::StrCat(count_text(event.records, "record"), ", ", count_text(event.gaps, "gap"),
                      ", ", event.lost, " lost, ", event.filled, " filled from the journal");
}

std::string drop_of(const EventInfoFrame& event, const char* what) {
  return absl::StrCat(client_of(event), what, " (", name_of(event.reason), "): ", text_of(event));
}

std::string killed_sentence(const EventInfoFrame& event) {
  std::string text = "the last publisher";
  if (event.pid != 0) absl::StrAppend(&text, " (pid ", event.pid, ")");
  absl::StrAppend(&text, " was killed, crashed or lost power");
  if (event.position != 0) absl::StrAppend(&text, " after sequence ", event.position);
  if (event.text[0] != 0) absl::StrAppend(&text, "; ", text_of(event));
  return text;
}

std::string missing_sentence(const EventInfoFrame& event) {
  std::string text = absl::StrCat(client_of(event),
                                  " was attached when the last session ended and has not returned");
  if (event.text[0] == 0) return text;
  const bool has_ended = get_text(event.text) == name_of(ProcessState::kEnded);
  return absl::StrCat(text, "; its process ", has_ended ? "has " : "is ", text_of(event));
}

std::string session_sentence(const EventInfoFrame& event) {
  return absl::StrCat("publisher ", event.pid, " started at sequence ", event.position, " (",
                      text_of(event), ")");
}

}  // namespace

absl::StatusOr<ControlClient::EventList> ask_events(const std::string& directory,
                                                    std::uint64_t after) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  absl::StatusOr<ControlClient> client = connect_to_publisher(directory, "lapwing", deadline_ns);
  if (!client.ok()) return client.status();
  return client->list_events(after, deadline_ns);
}

void keep_event(std::deque<EventInfoFrame>& events, const EventInfoFrame& event) {
  events.push_back(event);
  if (events.size() <= kEventsMax) return;
  const auto class_of = [](const EventInfoFrame& kept) {
    return class_of_event(kept.kind, kept.lost);
  };
  std::array<std::size_t, kEventClasses> counts{};
  for (const EventInfoFrame& kept : events) ++counts[class_of(kept)];
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
  events.erase(std::ranges::find(events, largest, class_of));
}

bool is_bad(const EventInfoFrame& event) {
  switch (event.kind) {
    case BusEventKind::kLoss:
    case BusEventKind::kJournalFailed:
    case BusEventKind::kJournalShed:
    case BusEventKind::kKilled:
    case BusEventKind::kMissing:
      return true;
    case BusEventKind::kDetached:
      return event.lost != 0;
    default:
      return false;
  }
}

std::string sentence_of(const EventInfoFrame& event) {
  switch (event.kind) {
    case BusEventKind::kAttached:
      return absl::StrCat(client_of(event), " attached");
    case BusEventKind::kDetached:
      return absl::StrCat(client_of(event), " left at sequence ", event.position, ": ",
                          counts_of(event));
    case BusEventKind::kGap:
      return absl::StrCat(client_of(event), " met ", count_text(event.gaps, "gap"),
                          " before sequence ", event.position, " and lost nothing");
    case BusEventKind::kLoss:
      return absl::StrCat(client_of(event), " lost ", count_text(event.lost, "record"), " in ",
                          count_text(event.gaps, "gap"), " before sequence ", event.position);
    case BusEventKind::kRefused:
      return drop_of(event, " was refused");
    case BusEventKind::kDropped:
      return drop_of(event, " was disconnected");
    case BusEventKind::kStall:
      return absl::StrCat(event.count, event.count == 1 ? " publish" : " publishes",
                          " waited for the journal for more than a millisecond");
    case BusEventKind::kJournalFailed:
      return absl::StrCat("the journal failed: ", std::strerror(event.sys_errno));
    case BusEventKind::kJournalShed:
      return "journaling was stopped: the disk is too slow";
    case BusEventKind::kKilled:
      return killed_sentence(event);
    case BusEventKind::kSession:
      return session_sentence(event);
    case BusEventKind::kMissing:
      return missing_sentence(event);
    case BusEventKind::kForgotten:
      return absl::StrCat(text_of(event), " removed ", client_of(event),
                          " from the list of missing subscribers");
  }
  return absl::StrCat("event of kind ", static_cast<std::uint32_t>(event.kind),
                      ", which this release does not know");
}

}  // namespace lapwing

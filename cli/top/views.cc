#include "cli/top/views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "monitor/time_text.h"
#include "os/printable.h"

namespace lapwing::cli {
namespace {

Cell text_cell(std::string text) {
  return {printable(std::move(text)), 0};
}
Cell number_cell(std::uint64_t number) {
  return {absl::StrCat(number), static_cast<double>(number)};
}
Cell short_cell(double number) {
  return {short_number(number), number};
}
Cell seconds_cell(std::uint64_t ns) {
  return {seconds_text(ns), static_cast<double>(ns)};
}
Cell no_cell() {
  return {"-", -1};
}

std::string sparkline(const std::deque<double>& rates, bool in_ascii) {
  static constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 8> kAscii = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const double highest = rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
  std::string line;
  for (const double rate : rates) {
    const double part = highest > 0 ? rate / highest : 0;
    const auto bar = static_cast<std::size_t>(std::lround(part * (kBars.size() - 1)));
    line += in_ascii ? kAscii[bar] : kBars[bar];
  }
  return line;
}

std::string journal_text(const RingStatus& ring) {
  return ring.journal.sys_errno == 0
             ? name_of(ring.journal.state)
             : absl::StrCat(name_of(ring.journal.state), " errno ", ring.journal.sys_errno);
}

bool is_bad(const RingStatus& ring) {
  return ring.journal.state == JournalState::kFailed || ring.journal.state == JournalState::kShed;
}

// Problems first, then healthy buses, then those that ended.
int rank_of(const BusReading& bus) {
  const PublisherState state = bus.state();
  const bool has_ended = bus.ring.ok()
                             ? state == PublisherState::kGone || state == PublisherState::kClosed
                             : bus.is_closed() || errc_of(bus.ring.status()) == Errc::kNoBus;
  if (has_ended) return 2;
  const bool is_ill =
      !bus.runs() || is_bad(*bus.ring) || !bus.publisher.ok() ||
      std::ranges::any_of(bus.publisher->subscribers, &SubscriberStatus::needs_operator);
  return is_ill ? 0 : 1;
}

// A cell and its column.
struct Field {
  Column column;
  Cell cell;
};
using Fields = std::vector<Field>;

// An empty table with the columns in `fields`, which are the same for every row.
Table table_with(const Fields& fields) {
  std::vector<Column> columns;
  for (const Field& field : fields) columns.push_back(field.column);
  return Table(std::move(columns));
}

Row row_of(const Fields& fields, std::string key, bool is_bad) {
  Row row{.cells = {}, .key = std::move(key), .is_bad = is_bad};
  for (const Field& field : fields) row.cells.push_back(field.cell);
  return row;
}

Fields bus_fields(const BusReading& bus, const std::string& trail) {
  const bool has_ring = bus.ring.ok();
  const RingStatus ring = bus.ring.value_or(RingStatus());
  std::size_t attached = 0;
  std::uint64_t lost = 0;
  std::uint64_t longest = 0;
  const bool has_counts = has_ring && bus.publisher.ok();
  if (has_counts) {
    for (const SubscriberStatus& subscriber : bus.publisher->subscribers) {
      if (!subscriber.is_missing()) ++attached;
      lost += subscriber.lost;
      longest = std::max(longest, subscriber.observed.delay_ns);
    }
  }
  const char* const state = has_ring ? bus.state_text() : "no ring";
  const auto of_ring = [&](std::uint64_t number) {
    return has_ring ? number_cell(number) : no_cell();
  };
  return {
      {{"bus", 0, false}, text_cell(bus.label)},
      {{"state", 0, false}, text_cell(bus.is_unanswered() ? "no answer" : state)},
      {{"rate", 1, true}, has_ring ? short_cell(bus.rate) : no_cell()},
      {{"", 8, false}, {trail, 0}},
      {{"head", 3, true}, of_ring(ring.head)},
      {{"unarchived", 6, true}, of_ring(ring.records_after(ring.archived))},
      {{"undurable", 4, true}, of_ring(ring.records_after(ring.durable))},
      {{"journal", 2, false}, text_cell(has_ring ? journal_text(ring) : "-")},
      {{"readers", 5, true}, has_counts ? number_cell(attached) : no_cell()},
      {{"delay", 2, true}, attached > 0 ? seconds_cell(longest) : no_cell()},
      {{"lost", 1, true}, has_counts ? number_cell(lost) : no_cell()},
      {{"pid", 7, true}, of_ring(ring.publisher_pid)},
      {{"directory", 9, false}, text_cell(bus.directory)},
  };
}

Fields subscriber_fields(const std::string& bus, const SubscriberStatus& status) {
  const Observed& observed = status.observed;
  const bool is_known = !status.is_missing();  // the lag is known
  Cell delay = seconds_cell(observed.delay_ns);
  if (observed.delay_is_longer) delay.text = ">" + delay.text;
  const bool has_ages = observed.recent_latency && observed.recent_latency->age_ns.count() > 0;
  const std::uint64_t p99_ns = has_ages ? observed.recent_latency->age_ns.percentile(0.99) : 0;
  const Cell lag_rate{absl::StrFormat("%+.0f", observed.lag_rate), observed.lag_rate};
  return {
      {{"subscriber", 0, false}, text_cell(status.name)},
      {{"state", 0, false}, text_cell(is_known ? status.state_text() : "MISSING")},
      {{"lag", 0, true}, is_known ? number_cell(observed.lag) : no_cell()},
      {{"delay", 1, true}, is_known ? delay : no_cell()},
      {{"lag/s", 6, true}, is_known ? lag_rate : no_cell()},
      {{"p99", 4, true},
       has_ages ? Cell{short_time(p99_ns), static_cast<double>(p99_ns)} : no_cell()},
      {{"position", 4, true}, number_cell(status.position)},
      {{"gaps", 5, true}, number_cell(status.gaps)},
      {{"lost", 2, true}, number_cell(status.lost)},
      {{"filled", 7, true}, number_cell(status.filled)},
      {{"wait", 8, false}, text_cell(status.wait ? name_of(*status.wait) : "-")},
      {{"pid", 3, true}, number_cell(status.pid)},
      {{"uid", 9, true}, number_cell(status.uid)},
      {{"bus", 8, false}, text_cell(bus)},
  };
}

Fields checkpoint_fields(const BusReading& bus, const CheckpointStatus& checkpoint,
                         std::uint64_t now_wall_ns) {
  const bool is_known = checkpoint.usable.ok();
  const std::uint64_t age_ns = now_wall_ns - std::min(now_wall_ns, checkpoint.written_wall_ns);
  return {
      {{"bus", 0, false}, text_cell(bus.label)},
      {{"fold", 0, false}, text_cell(checkpoint.fold)},
      {{"as of", 1, true}, number_cell(checkpoint.as_of)},
      {{"behind", 0, true},
       bus.ring.ok() ? number_cell(bus.ring->records_after(checkpoint.as_of)) : no_cell()},
      {{"age", 0, true}, is_known ? seconds_cell(age_ns) : no_cell()},
      {{"entries", 3, true}, is_known ? number_cell(checkpoint.entries) : no_cell()},
      {{"bytes", 2, true}, is_known ? number_cell(checkpoint.bytes) : no_cell()},
      {{"why it cannot be used", 4, false}, text_cell(std::string(checkpoint.usable.message()))},
  };
}

Fields event_fields(const std::string& bus, const EventInfoFrame& event) {
  return {{{"time", 1, false}, text_cell(time_text(event.wall_ns).substr(0, 23))},
          {{"bus", 2, false}, text_cell(bus)},
          {{"what happened", 0, false}, text_cell(sentence_of(event))}};
}

Fields channel_fields(const std::string& path, const ChannelDirectionStatus& direction,
                      const std::string& stopped) {
  const std::optional<pid_t> receiver = direction.receiver;
  return {
      {{"channel", 0, false}, text_cell(path)},
      {{"sender", 1, true}, number_cell(static_cast<std::uint64_t>(direction.sender))},
      {{"receiver", 2, true},
       receiver ? number_cell(static_cast<std::uint64_t>(*receiver)) : text_cell("gone")},
      {{"sent", 3, true}, number_cell(direction.sent.messages)},
      {{"in flight", 0, true}, number_cell(direction.in_flight.messages)},
      {{"bytes", 4, true}, number_cell(direction.in_flight.frame_bytes)},
      {{"capacity", 5, true}, number_cell(direction.capacity)},
      {{"stopped", 1, false}, text_cell(stopped)},
  };
}

}  // namespace

std::string short_number(double number) {
  static constexpr std::pair<double, const char*> kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [size, unit] : kUnits) {
    if (std::abs(number) < size) continue;
    const double part = number / size;
    const int digits = part < 10 ? 2 : part < 100 ? 1 : 0;
    return absl::StrFormat("%.*f%s", digits, part, unit);
  }
  return absl::StrFormat("%.0f", number);
}

std::string seconds_text(std::uint64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  return seconds < 100 ? absl::StrFormat("%.3fs", seconds) : absl::StrFormat("%.0fs", seconds);
}

std::string short_time(std::uint64_t ns) {
  const auto number = static_cast<double>(ns);
  if (number < 1e3) return absl::StrFormat("%dns", ns);
  if (number < 1e6) return absl::StrFormat("%.1fus", number / 1e3);
  if (number < 1e9) return absl::StrFormat("%.1fms", number / 1e6);
  return seconds_text(ns);
}

Table bus_table(const MachineReading& reading, const RateTrails& trails, bool in_ascii) {
  Table table = table_with(bus_fields(BusReading(), ""));
  std::vector<const BusReading*> buses;
  for (const BusReading& bus : reading.buses) buses.push_back(&bus);
  std::ranges::stable_sort(buses, {}, [](const BusReading* bus) { return rank_of(*bus); });
  for (const BusReading* bus : buses) {
    const auto trail = trails.find(bus->directory);
    const std::string line = trail == trails.end() ? "" : sparkline(trail->second, in_ascii);
    const bool is_ill = !bus->runs() || is_bad(*bus->ring) || !bus->publisher.ok();
    table.add(row_of(bus_fields(*bus, line), bus->directory, is_ill));
  }
  return table;
}

Table subscriber_table(const MachineReading& reading, const std::string& directory) {
  Table table = table_with(subscriber_fields("", {}));
  for (const BusReading& bus : reading.buses) {
    if ((!directory.empty() && bus.directory != directory) || !bus.publisher.ok()) continue;
    for (const SubscriberStatus& one : bus.publisher->subscribers) {
      table.add(row_of(subscriber_fields(bus.label, one),
                       absl::StrCat(bus.directory, "/", one.pid, "/", one.connected_wall_ns),
                       one.needs_operator()));
    }
  }
  return table;
}

Table checkpoint_table(const MachineReading& reading) {
  Table table = table_with(checkpoint_fields(BusReading(), CheckpointStatus(), 0));
  for (const BusReading& bus : reading.buses) {
    for (const CheckpointStatus& checkpoint : bus.checkpoints) {
      table.add(row_of(checkpoint_fields(bus, checkpoint, reading.wall_ns),
                       absl::StrCat(bus.directory, "/", checkpoint.fold), !checkpoint.usable.ok()));
    }
  }
  return table;
}

Table event_table(const MachineReading& reading) {
  Table table = table_with(event_fields("", {}));
  std::vector<std::pair<const EventInfoFrame*, const BusReading*>> events;
  for (const BusReading& bus : reading.buses) {
    for (const EventInfoFrame& event : bus.events) events.emplace_back(&event, &bus);
  }
  std::ranges::stable_sort(events, std::greater(),
                           [](const auto& entry) { return entry.first->wall_ns; });
  for (const auto& [event, bus] : events) {
    table.add(row_of(event_fields(bus->label, *event),
                     absl::StrCat(bus->directory, "/", event->wall_ns, "/", event->number),
                     is_bad(*event)));
  }
  return table;
}

Table channel_table(const absl::StatusOr<ChannelList>& channels) {
  Table table = table_with(channel_fields("", {}, ""));
  if (!channels.ok()) return table;
  for (const ChannelStatus& channel : channels->channels) {
    std::string stopped;
    for (const ChannelSideStatus& side : channel.sides) {
      if (side.stopped) absl::StrAppend(&stopped, stopped.empty() ? "" : " ", side.pid);
    }
    for (const ChannelDirectionStatus& direction : channel.directions) {
      table.add(row_of(channel_fields(channel.path, direction, stopped),
                       absl::StrCat(channel.connection_id.hex(), "/", direction.sender),
                       !stopped.empty()));
    }
  }
  return table;
}

}  // namespace lapwing::cli

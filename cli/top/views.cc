#include "cli/top/views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
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

Row bus_row(const BusReading& bus, const RateTrails& trails, bool in_ascii) {
  Row row;
  row.key = bus.directory;
  const auto trail = trails.find(bus.directory);
  const std::string line =
      trail == trails.end() ? std::string() : sparkline(trail->second, in_ascii);
  const bool has_ring = bus.ring.ok();
  const RingStatus ring = bus.ring.value_or(RingStatus());
  row.is_bad = !bus.runs() || is_bad(ring) || !bus.publisher.ok();
  Cell count = no_cell();
  Cell lost = no_cell();
  Cell delay = no_cell();
  if (has_ring && bus.publisher.ok()) {
    std::size_t attached = 0;
    std::uint64_t sum = 0;
    std::uint64_t longest = 0;
    for (const SubscriberStatus& subscriber : bus.publisher->subscribers) {
      if (!subscriber.is_missing()) ++attached;
      sum += subscriber.lost;
      longest = std::max(longest, subscriber.observed.delay_ns);
    }
    count = number_cell(attached);
    lost = number_cell(sum);
    if (attached > 0) delay = {seconds_text(longest), static_cast<double>(longest)};
  }
  row.cells = {text_cell(bus.label),
               text_cell(bus.is_unanswered() ? "no answer"
                         : has_ring          ? bus.state_text()
                                             : "no ring"),
               has_ring ? short_cell(bus.rate) : no_cell(),
               {line, 0},
               has_ring ? number_cell(ring.head) : no_cell(),
               has_ring ? number_cell(ring.records_after(ring.archived)) : no_cell(),
               has_ring ? number_cell(ring.records_after(ring.durable)) : no_cell(),
               text_cell(has_ring ? journal_text(ring) : "-"),
               count,
               delay,
               lost,
               has_ring ? number_cell(ring.publisher_pid) : no_cell(),
               text_cell(bus.directory)};
  return row;
}

Row subscriber_row(const BusReading& bus, const SubscriberStatus& status) {
  const Observed& observed = status.observed;
  Row row;
  row.key = absl::StrCat(bus.directory, "/", status.pid, "/", status.connected_wall_ns);
  row.is_bad = status.needs_operator();
  const bool is_known = !status.is_missing();  // how far it is behind
  const std::string delay = seconds_text(observed.delay_ns);
  const bool has_ages = observed.recent_latency && observed.recent_latency->age_ns.count() > 0;
  const std::uint64_t p99_ns = has_ages ? observed.recent_latency->age_ns.percentile(0.99) : 0;
  row.cells = {
      text_cell(status.name),
      text_cell(is_known ? status.state_text() : "MISSING"),
      is_known ? number_cell(observed.lag) : no_cell(),
      is_known ? Cell{observed.delay_is_longer ? ">" + delay : delay,
                      static_cast<double>(observed.delay_ns)}
               : no_cell(),
      is_known ? Cell{absl::StrFormat("%+.0f", observed.lag_rate), observed.lag_rate} : no_cell(),
      has_ages ? Cell{short_time(p99_ns), static_cast<double>(p99_ns)} : no_cell(),
      number_cell(status.position),
      number_cell(status.gaps),
      number_cell(status.lost),
      number_cell(status.filled),
      text_cell(status.wait ? name_of(*status.wait) : "-"),
      number_cell(status.pid),
      number_cell(status.uid),
      text_cell(bus.label)};
  return row;
}

Row checkpoint_row(const BusReading& bus, const CheckpointStatus& checkpoint,
                   std::uint64_t now_wall_ns) {
  Row row;
  row.key = absl::StrCat(bus.directory, "/", checkpoint.fold);
  row.is_bad = !checkpoint.usable.ok();
  const bool is_known = checkpoint.usable.ok();
  const std::uint64_t age_ns = now_wall_ns - std::min(now_wall_ns, checkpoint.written_wall_ns);
  row.cells = {text_cell(bus.label),
               text_cell(checkpoint.fold),
               number_cell(checkpoint.as_of),
               bus.ring.ok() ? number_cell(bus.ring->records_after(checkpoint.as_of)) : no_cell(),
               is_known ? Cell{seconds_text(age_ns), static_cast<double>(age_ns)} : no_cell(),
               is_known ? number_cell(checkpoint.entries) : no_cell(),
               is_known ? number_cell(checkpoint.bytes) : no_cell(),
               text_cell(is_known ? "" : std::string(checkpoint.usable.message()))};
  return row;
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
  Table table({{"bus", 0, false},
               {"state", 0, false},
               {"rate", 1, true},
               {"", 8, false},
               {"head", 3, true},
               {"unarchived", 6, true},
               {"undurable", 4, true},
               {"journal", 2, false},
               {"readers", 5, true},
               {"delay", 2, true},
               {"lost", 1, true},
               {"pid", 7, true},
               {"directory", 9, false}});
  std::vector<const BusReading*> buses;
  for (const BusReading& bus : reading.buses) buses.push_back(&bus);
  std::ranges::stable_sort(buses, {}, [](const BusReading* bus) { return rank_of(*bus); });
  for (const BusReading* bus : buses) table.add(bus_row(*bus, trails, in_ascii));
  return table;
}

Table subscriber_table(const MachineReading& reading, const std::string& directory) {
  Table table({{"subscriber", 0, false},
               {"state", 0, false},
               {"lag", 0, true},
               {"delay", 1, true},
               {"lag/s", 6, true},
               {"p99", 4, true},
               {"position", 4, true},
               {"gaps", 5, true},
               {"lost", 2, true},
               {"filled", 7, true},
               {"wait", 8, false},
               {"pid", 3, true},
               {"uid", 9, true},
               {"bus", 8, false}});
  for (const BusReading& bus : reading.buses) {
    if ((!directory.empty() && bus.directory != directory) || !bus.publisher.ok()) continue;
    for (const SubscriberStatus& subscriber : bus.publisher->subscribers) {
      table.add(subscriber_row(bus, subscriber));
    }
  }
  return table;
}

Table checkpoint_table(const MachineReading& reading) {
  Table table({{"bus", 0, false},
               {"fold", 0, false},
               {"as of", 1, true},
               {"behind", 0, true},
               {"age", 0, true},
               {"entries", 3, true},
               {"bytes", 2, true},
               {"why it cannot be used", 4, false}});
  for (const BusReading& bus : reading.buses) {
    for (const CheckpointStatus& checkpoint : bus.checkpoints) {
      table.add(checkpoint_row(bus, checkpoint, reading.wall_ns));
    }
  }
  return table;
}

Table event_table(const MachineReading& reading) {
  Table table({{"time", 1, false}, {"bus", 2, false}, {"what happened", 0, false}});
  struct Place {
    const BusReading* bus;
    const EventInfoFrame* event;
  };
  std::vector<Place> places;
  for (const BusReading& bus : reading.buses) {
    for (const EventInfoFrame& event : bus.events) places.push_back({&bus, &event});
  }
  std::ranges::stable_sort(places, std::greater(),
                           [](const Place& place) { return place.event->wall_ns; });
  for (const auto& [bus, event] : places) {
    Row row;
    row.key = absl::StrCat(bus->directory, "/", event->wall_ns, "/", event->number);
    row.is_bad = is_bad(*event);
    row.cells = {text_cell(time_text(event->wall_ns).substr(0, 23)), text_cell(bus->label),
                 text_cell(sentence_of(*event))};
    table.add(std::move(row));
  }
  return table;
}

Table channel_table(const absl::StatusOr<ChannelList>& channels) {
  Table table({{"channel", 0, false},
               {"sender", 1, true},
               {"receiver", 2, true},
               {"sent", 3, true},
               {"in flight", 0, true},
               {"bytes", 4, true},
               {"capacity", 5, true},
               {"stopped", 1, false}});
  if (!channels.ok()) return table;
  for (const ChannelStatus& channel : channels->channels) {
    for (const ChannelDirectionStatus& direction : channel.directions) {
      Row row;
      std::string stopped;
      for (const ChannelSideStatus& side : channel.sides) {
        if (side.stopped) absl::StrAppend(&stopped, stopped.empty() ? "" : " ", side.pid);
      }
      row.key = absl::StrCat(channel.connection_id.hex(), "/", direction.sender);
      row.is_bad = !stopped.empty();
      row.cells = {text_cell(channel.path),
                   number_cell(static_cast<std::uint64_t>(direction.sender)),
                   direction.receiver ? number_cell(static_cast<std::uint64_t>(*direction.receiver))
                                      : text_cell("gone"),
                   number_cell(direction.sent.messages),
                   number_cell(direction.in_flight.messages),
                   number_cell(direction.in_flight.frame_bytes),
                   number_cell(direction.capacity),
                   text_cell(stopped)};
      table.add(std::move(row));
    }
  }
  return table;
}

}  // namespace lapwing::cli

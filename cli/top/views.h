// The tables of `lapwing top`: one for each view of a machine's buses.
//
// Thread safety: free functions.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "cli/top/table.h"
#include "monitor/channel_status.h"
#include "monitor/machine_monitor.h"

namespace lapwing::cli {

// Each bus's recent rates, by directory, oldest first, for its sparkline.
using RateTrails = std::map<std::string, std::deque<double>>;
inline constexpr std::size_t kTrailMax = 16;

// Buses with problems come first, then healthy ones, then ended ones. `in_ascii`: the terminal
// shows only ASCII.
Table bus_table(const MachineReading& reading, const RateTrails& trails, bool in_ascii);
// The subscribers of all buses, or of the bus in `directory`.
Table subscriber_table(const MachineReading& reading, const std::string& directory = "");
Table checkpoint_table(const MachineReading& reading);
Table event_table(const MachineReading& reading);  // of all buses, the newest first
Table channel_table(const absl::StatusOr<ChannelList>& channels);

// Formats 1234567 as "1.23M".
std::string short_number(double number);
std::string seconds_text(std::uint64_t ns);
std::string short_time(std::uint64_t ns);  // "1.2us"

}  // namespace lapwing::cli

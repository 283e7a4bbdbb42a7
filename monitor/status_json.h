// The --json output for buses and channels: one function for each type, and all keys in one file.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "monitor/bus_event.h"
#include "monitor/bus_status.h"
#include "monitor/channel_status.h"
#include "monitor/doctor/finding.h"
#include "monitor/expected_subscribers.h"
#include "monitor/machine_monitor.h"

namespace lapwing {

// Any user can open channels, and without a limit, many channels would make every reading long.
inline constexpr std::size_t kChannelsShown = 1'024;

// The output of `lapwing buses` for the buses found.
nlohmann::ordered_json buses_json(const MachineReading& reading);
// Without its sessions, because there may be a million of them.
nlohmann::ordered_json bus_json(const BusStatus& bus);
nlohmann::ordered_json session_json(const SessionRecord& session);
nlohmann::ordered_json events_json(const ControlClient::EventList& list);
nlohmann::ordered_json publisher_json(const PublisherStatus& publisher);
nlohmann::ordered_json channels_json(const ChannelList& list);
// If the channels could not be read, `channels` is null and `channels_why` contains the reason. If
// there are more than kChannelsShown, the first ones by path are shown.
nlohmann::ordered_json machine_json(const MachineReading& reading,
                                    const absl::StatusOr<ChannelList>& channels);
nlohmann::ordered_json expected_json(const std::vector<ExpectedReading>& readings);
nlohmann::ordered_json findings_json(const std::vector<Finding>& findings);

}  // namespace lapwing

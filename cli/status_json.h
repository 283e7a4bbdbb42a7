// What --json prints of buses and channels: one function a type, and every key in one file.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include "monitor/bus_status.h"
#include "monitor/channel_status.h"

namespace lapwing::cli {

nlohmann::ordered_json bus_json(const BusStatus& bus);
nlohmann::ordered_json publisher_json(const PublisherStatus& publisher);
nlohmann::ordered_json channels_json(const ChannelList& list);

}  // namespace lapwing::cli

// The schemas that Lapwing ships: kv16, and every DBN schema in versions 1 to 3.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/schema.h"

namespace lapwing {

// Returns "kv16", "dbn.mbo" …, in DBN's order.
std::vector<std::string_view> known_schema_names();

// Returns the description with this name, or nullopt if there is none. For a DBN schema, the
// version is the DBN version, 1 to 3, or 0 for the newest; kv16 has version 1.
std::optional<Schema> known_schema(std::string_view name, std::uint32_t version = 0);

// Returns how `description` differs from the shipped schema; empty if it does not, or if Lapwing
// does not ship the schema. Value names are not compared, because a later release may define more
// of them.
std::string mismatch_with_known(const Schema& description);

// Returns the newest version of the schema whose records have this size.
std::optional<Schema> known_schema_of_size(std::string_view name, std::uint32_t record_bytes);

}  // namespace lapwing

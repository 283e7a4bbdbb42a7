// The schemas that Lapwing ships: kv16, and every schema of DBN in its versions 1 to 3.
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

// "kv16", "dbn.mbo" …, in DBN's order.
std::vector<std::string_view> known_schema_names();

// The description of that name. Of a schema of DBN the version is DBN's, 1 to 3, and 0 the newest;
// kv16 has version 1. nullopt: there is none.
std::optional<Schema> known_schema(std::string_view name, std::uint32_t version = 0);

// Why `description` is not that of this shipped schema; empty where it is, or where Lapwing does
// not ship the schema. Names of values do not count: a later release may know more of them.
std::string mismatch_with_known(const Schema& description);

// The newest version of it whose records have that size.
std::optional<Schema> known_schema_of_size(std::string_view name, std::uint32_t record_bytes);

}  // namespace lapwing

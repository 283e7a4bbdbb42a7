// Tables of enum value names. Each table is next to its enum.
//
// Thread safety: pure functions.
#pragma once

namespace lapwing::detail {

template <typename Enum>
struct EnumName {
  Enum value;
  const char* name;
};

// Returns "unknown" for a value that is not in the table, because a peer may have sent the value.
template <typename Table, typename Enum>
constexpr const char* name_in(const Table& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

}  // namespace lapwing::detail

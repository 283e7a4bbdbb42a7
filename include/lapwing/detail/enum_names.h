// Tables of an enum's names. Each table is beside its enum.
//
// Thread safety: pure functions.
#pragma once

namespace lapwing::detail {

template <typename Enum>
struct EnumName {
  Enum value;
  const char* name;
};

// "unknown" for a value that the table does not have: it may be what a peer sent.
template <typename Table, typename Enum>
constexpr const char* name_in(const Table& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

}  // namespace lapwing::detail

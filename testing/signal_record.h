// A user-defined record that describes itself, as published and expected by tests. Test code only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/schema.h"

namespace lapwing {

enum class SignalSide : std::uint8_t { kBuy = 1, kSell = 2 };
inline constexpr NamedValue kSignalSides[] = {{"buy", 1}, {"sell", 2}};

struct Signal {
  std::uint64_t ts_recv;
  std::uint32_t instrument;
  float weight;
  double fair_value;
  std::int64_t price;
  SignalSide side;
  char venue[7];
  std::byte spare[16];
};
static_assert(sizeof(Signal) == 56);
LAPWING_RECORD(Signal, "desk.signal", 1, (ts_recv, kTime), (instrument, kKey), weight, fair_value,
               (price, kPrice), (side, kSignalSides), venue, (spare, kSpare));

// Its next version: with an additional field in the spare bytes.
inline Schema later_signal() {
  Schema later = schema_of<Signal>();
  later.version = 2;
  Field& spare = later.fields.back();
  spare.offset += 8;
  spare.bytes -= 8;
  later.fields.insert(later.fields.end() - 1, {"size", FieldType::kUInt64,
                                               static_cast<std::uint32_t>(spare.offset - 8), 8});
  return later;
}

}  // namespace lapwing

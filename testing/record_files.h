// For tests of record files: the head and numbered records of a struct that describes itself.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "proto/header_checksum.h"
#include "proto/record_file_format.h"
#include "snapshot/recording/record_file.h"
#include "testing/signal_record.h"

namespace lapwing {

inline constexpr std::uint64_t kSignalBeginNs = 1'763'650'800'000'000'000;  // a full hour, UTC
inline constexpr std::uint64_t kSignalStepNs = 10'000'000;

// Record 1 has the time kSignalBeginNs, and each further number is one step later.
inline Signal signal_record(std::uint64_t number) {
  Signal signal{};
  signal.ts_recv = kSignalBeginNs + (number - 1) * kSignalStepNs;
  signal.instrument = static_cast<std::uint32_t>(number % 3);
  signal.fair_value = static_cast<double>(number) + 0.25;
  signal.price = static_cast<std::int64_t>(number);
  signal.side = SignalSide::kBuy;
  return signal;
}

// Records numbered first … first + count - 1, packed.
inline std::string signal_records(std::uint64_t first, std::uint64_t count) {
  std::string out;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const Signal signal = signal_record(number);
    out.append(reinterpret_cast<const char*>(&signal), sizeof signal);
  }
  return out;
}

inline RecordFileHead signal_head() {
  return {
      .schema = "desk.signal", .record_bytes = sizeof(Signal), .description = schema_of<Signal>()};
}

// The same records from a publisher without a description.
inline RecordFileHead plain_head() {
  return {.schema = "desk.plain", .record_bytes = sizeof(Signal)};
}

// A file with a changed header and a correct checksum.
template <typename Change>
std::string with_header(std::string file, Change&& change) {
  RecordFileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  change(header);
  header.checksum = checksum_of(header);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace lapwing

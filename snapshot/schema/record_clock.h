// The times in records, according to their description. They are used for pacing feeds, for
// rotating recordings, and for --restamp.
//
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "lapwing/dbn.h"
#include "lapwing/schema.h"
#include "snapshot/schema/field_reader.h"

namespace lapwing {

// True if a value is a time, in ns since 1970. Programs write 0, 2^63 - 1, 2^63 (NaT in pandas) and
// 2^64 - 1 for "no time". Every value from 2^63 - 1 on (year 2262) counts as "no time".
constexpr bool is_time(std::uint64_t time_ns) {
  return time_ns != 0 &&
         time_ns < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

class RecordClock {
 public:
  RecordClock() = default;  // for records without a time
  explicit RecordClock(const Schema& schema)
      : record_bytes_(schema.record_bytes),
        time_(at(schema.find(FieldRole::kTime))),
        event_(at(schema.find("ts_event"))),
        stamp_(at(schema.find(FieldRole::kPublishTime))) {
    const Field* const time = schema.find(FieldRole::kTime);
    if (!stamp_ && time != nullptr && time->name == "ts_recv") stamp_ = time_;
  }

  bool has_time() const { return time_.has_value(); }
  // The record's time, UTC ns; kUndefTimestamp if it has none, or if the value is not a time.
  std::uint64_t time_ns(std::span<const std::byte> record) const {
    return time_ ? time_at(record, *time_) : dbn::kUndefTimestamp;
  }
  // The time used for pacing: the record's time, else DBN's ts_event, else 0.
  std::uint64_t pacing_time_ns(std::span<const std::byte> record) const {
    const std::uint64_t time = time_ns(record);
    if (time != dbn::kUndefTimestamp) return time;
    const std::uint64_t event = event_ ? time_at(record, *event_) : dbn::kUndefTimestamp;
    return event != dbn::kUndefTimestamp ? event : 0;
  }

  // True if stamp() has a field to set: the publish time, or the record's time if it is named
  // ts_recv (but not, for example, the time of a bar).
  bool can_stamp() const { return stamp_.has_value(); }
  std::optional<std::uint32_t> stamp_offset() const { return stamp_; }
  void stamp(std::span<std::byte> records, std::uint64_t now_ns) const {
    for (std::size_t at = 0; at + record_bytes_ <= records.size(); at += record_bytes_) {
      std::memcpy(records.data() + at + *stamp_, &now_ns, sizeof now_ns);
    }
  }

 private:
  static std::uint64_t time_at(std::span<const std::byte> record, std::uint32_t offset) {
    const auto time = load_at<std::uint64_t>(record, offset);
    return is_time(time) ? time : dbn::kUndefTimestamp;
  }
  static std::optional<std::uint32_t> at(const Field* field) {
    const bool is_time = field != nullptr && field->type == FieldType::kUInt64;
    return is_time ? std::optional(field->offset) : std::nullopt;
  }

  std::size_t record_bytes_ = 0;
  std::optional<std::uint32_t> time_ = {};
  std::optional<std::uint32_t> event_ = {};
  std::optional<std::uint32_t> stamp_ = {};
};

}  // namespace lapwing

// The times in records, by their description: what feeds are paced by, recordings are rotated by,
// and --restamp sets.
//
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "lapwing/dbn.h"
#include "lapwing/schema.h"
#include "snapshot/schema/field_reader.h"

namespace lapwing {

class RecordClock {
 public:
  RecordClock() = default;  // of records that have no time
  explicit RecordClock(const Schema& schema)
      : record_bytes_(schema.record_bytes),
        time_(at(schema.find(FieldRole::kTime))),
        event_(at(schema.find("ts_event"))),
        stamp_(at(schema.find(FieldRole::kPublishTime))) {
    const Field* const time = schema.find(FieldRole::kTime);
    if (!stamp_ && time != nullptr && time->name == "ts_recv") stamp_ = time_;
  }

  bool has_time() const { return time_.has_value(); }
  // Of the record, UTC ns; kUndefTimestamp: it has none.
  std::uint64_t time_ns(std::span<const std::byte> record) const {
    return time_ ? load_at<std::uint64_t>(record, *time_) : dbn::kUndefTimestamp;
  }
  // What it is paced by: its time, else DBN's ts_event, else 0.
  std::uint64_t pacing_time_ns(std::span<const std::byte> record) const {
    const std::uint64_t time = time_ns(record);
    if (time != 0 && time != dbn::kUndefTimestamp) return time;
    const std::uint64_t event =
        event_ ? load_at<std::uint64_t>(record, *event_) : dbn::kUndefTimestamp;
    return event != dbn::kUndefTimestamp ? event : 0;
  }

  // Whether stamp() has a field to set: the time of publishing, else the record's, if
  // that is called ts_recv (and not, say, the time of a bar).
  bool can_stamp() const { return stamp_.has_value(); }
  std::optional<std::uint32_t> stamp_offset() const { return stamp_; }
  void stamp(std::span<std::byte> records, std::uint64_t now_ns) const {
    for (std::size_t at = 0; at + record_bytes_ <= records.size(); at += record_bytes_) {
      std::memcpy(records.data() + at + *stamp_, &now_ns, sizeof now_ns);
    }
  }

 private:
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

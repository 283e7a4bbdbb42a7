// Formats a record as text, JSON or a CSV row, using only its description, and finds its time.
//
// Thread safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lapwing/schema.h"
#include "lapwing/sequence.h"

namespace lapwing {

// Formats a text as a CSV cell: with C escapes unless it is all printable ASCII, and quoted if CSV
// requires it.
std::string csv_cell(std::string_view text);

class RecordFormat {
 public:
  // null: the records are not described.
  explicit RecordFormat(std::shared_ptr<const Schema> schema = nullptr);

  // The text of a line, without its line end, with or without the record's number. Spare bytes are
  // omitted. Records that are not described, or whose size differs from their description, are
  // shown as hexadecimal digits.
  std::string text(Sequence n, std::span<const std::byte> record) const;
  std::string text(std::span<const std::byte> record) const;
  // Prices, times and flags are numbers, as in the record; a value that has a name is shown by
  // name. ASCII letters are unchanged. A non-finite float is null.
  nlohmann::ordered_json json(Sequence n, std::span<const std::byte> record) const;
  // The columns of the header or of a row: the number, then the fields as in json(). Letters and
  // non-finite floats are as in text().
  std::string csv_header() const;
  std::string csv(Sequence n, std::span<const std::byte> record) const;

  // The time from which a latency is measured, UTC ns: the publish time, or else the record's own
  // time. nullopt if the record has neither.
  std::optional<std::uint64_t> latency_time_ns(std::span<const std::byte> record) const;

 private:
  bool fits(std::span<const std::byte> record) const {
    return schema_ != nullptr && record.size() == schema_->record_bytes;
  }

  std::shared_ptr<const Schema> schema_;
  const Field* time_ = nullptr;
};

}  // namespace lapwing

// How a record looks as text, JSON or a row of CSV, by its description, and by nothing else; and
// where its time stands.
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

// A text as a cell of CSV: escapes as in C where not all of it is printable ASCII, quoted where CSV
// needs that.
std::string csv_cell(std::string_view text);

class RecordFormat {
 public:
  // null: the records are not described.
  explicit RecordFormat(std::shared_ptr<const Schema> schema = nullptr);

  // For a line, without its end, after the record's number or alone. Spare bytes are left out.
  // Records that are not described, or have not the size of their description, are shown as
  // hexadecimal digits.
  std::string text(Sequence n, std::span<const std::byte> record) const;
  std::string text(std::span<const std::byte> record) const;
  // Prices, times and flags as numbers, as they are in the record; a value that has a name by that.
  // Letters as they are, if they are ASCII. A float that is not finite is null.
  nlohmann::ordered_json json(Sequence n, std::span<const std::byte> record) const;
  // Columns of a header, or of a row: the number, then the fields as in json(), letters and
  // floats that are not finite as in text().
  std::string csv_header() const;
  std::string csv(Sequence n, std::span<const std::byte> record) const;

  // The time from which a latency counts, UTC ns: that of publishing, else that of the record, as it
  // stands there. Nothing where records have neither.
  std::optional<std::uint64_t> latency_time_ns(std::span<const std::byte> record) const;

 private:
  bool fits(std::span<const std::byte> record) const {
    return schema_ != nullptr && record.size() == schema_->record_bytes;
  }

  std::shared_ptr<const Schema> schema_;
  const Field* time_ = nullptr;
};

}  // namespace lapwing

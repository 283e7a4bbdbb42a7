#include "subscribers/instrument_filter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/order_entry.h"
#include "lapwing/subscriber.h"
#include "snapshot/dbn/instrument_name.h"
#include "snapshot/fold/order_fold.h"
#include "snapshot/schema/field_reader.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDayNs = 86'400'000'000'000;

const Field* find_instrument(const Schema& schema) {
  const Field* const named = schema.find("instrument_id");
  if (named != nullptr && is_unsigned(named->type)) return named;
  const auto found = std::ranges::find_if(schema.fields, [](const Field& field) {
    return field.role == FieldRole::kKey && is_unsigned(field.type);
  });
  return found == schema.fields.end() ? nullptr : &*found;
}

// The value of an unsigned integer field.
std::uint64_t number_in(const Field& field, std::span<const std::byte> record) {
  switch (field.bytes) {
    case sizeof(std::uint8_t):
      return load_field<std::uint8_t>(field, record);
    case sizeof(std::uint16_t):
      return load_field<std::uint16_t>(field, record);
    case sizeof(std::uint32_t):
      return load_field<std::uint32_t>(field, record);
    default:
      return load_field<std::uint64_t>(field, record);
  }
}

bool fits(std::uint64_t number, const Field& field) {
  return field.bytes == sizeof number || number >> (8 * field.bytes) == 0;
}

absl::StatusOr<Symbols> symbols_in(const std::string& metadata) {
  if (metadata.empty()) return Symbols();
  return Symbols::of_metadata(std::as_bytes(std::span(metadata)));
}

// True if this is the `orders` fold's entry for the whole bus, not for one instrument.
bool is_loss_of_bus(const FoldShape& shape, std::span<const std::byte> bytes) {
  OrderEntry entry;
  if (shape.name != kFoldOrders || bytes.size() != sizeof entry) return false;
  std::memcpy(&entry, bytes.data(), sizeof entry);
  return kind_of(entry) == OrderEntryKind::kLoss;
}

}  // namespace

absl::Status check_instruments(const std::vector<std::string>& instruments) {
  if (instruments.size() > kInstrumentsMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("instruments has ", instruments.size(), " names, but at most ",
                                   kInstrumentsMax, " are allowed. Remove it to take all records"));
  }
  for (const std::string& text : instruments) {
    const absl::StatusOr<InstrumentName> name = parse_instrument(text);
    if (name.ok()) continue;
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("instruments: ", name.status().message()));
  }
  return absl::OkStatus();
}

InstrumentFilter::InstrumentFilter(const std::vector<std::string>& instruments, std::string option)
    : option_(std::move(option)) {
  for (const std::string& text : instruments) {
    absl::StatusOr<InstrumentName> name = parse_instrument(text);
    if (!name.ok()) continue;  // the caller did not check it; it chooses nothing
    if (name->is_symbol()) {
      names_.push_back(std::move(name->symbol));
    } else {
      numbers_.push_back(*name->number);
    }
  }
}

absl::Status InstrumentFilter::begin(const std::string& bus_directory, const Schema* description,
                                     const Id128& session_id) {
  record_bytes_ = 0;
  symbols_ = {};
  days_ = {};
  absl::Status found = find_field(bus_directory, description);
  if (found.ok() && !names_.empty()) found = find_symbols(bus_directory, session_id);
  if (!found.ok()) return found;
  clock_ = RecordClock(*description);
  record_bytes_ = description->record_bytes;
  turn_to(0);
  return absl::OkStatus();
}

absl::Status InstrumentFilter::find_field(const std::string& bus_directory,
                                          const Schema* description) {
  if (description == nullptr) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("the records of bus ", bus_directory,
                     "are not described, so they cannot be chosen by instrument. Describe them "
                     "(PublisherOptions::schema), or take all records"));
  }
  const Field* const field = find_instrument(*description);
  if (field == nullptr) {
    const Field* const key = description->find(FieldRole::kKey);
    const bool has_text_key = key != nullptr && key->type == FieldType::kText;
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("bus ", bus_directory, " carries ", description->name,
                     ", which has neither a field instrument_id nor an unsigned number in its key",
                     has_text_key ? absl::StrCat(" (its key ", key->name, " is text)") : "",
                     ", so no record can be chosen by its instrument. Take all records"));
  }
  for (const std::uint64_t number : numbers_) {
    if (fits(number, *field)) continue;
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat(option_, " ", kInstrumentNumberPrefix, number, ": in the ", description->name,
                     " records of bus ", bus_directory, " the field ", field->name,
                     " is a number of ", field->bytes, " bytes. Give a number that fits"));
  }
  field_ = *field;
  return absl::OkStatus();
}

absl::Status InstrumentFilter::find_symbols(const std::string& bus_directory,
                                            const Id128& session_id) {
  if (!metadata_) metadata_.emplace(bus_directory);
  const absl::StatusOr<std::string> metadata = metadata_->of(session_id);
  if (!metadata.ok()) return metadata.status();
  const absl::StatusOr<Symbols> symbols = symbols_in(*metadata);
  if (!symbols.ok()) return symbols.status();
  for (const std::string& name : names_) {
    if (!symbols->instrument_ids(name).empty()) continue;
    const absl::StatusOr<bool> is_later =
        metadata_->is_later(session_id, [&name](const std::string& later) {
          return !symbols_in(later).value_or(Symbols()).instrument_ids(name).empty();
        });
    if (!is_later.ok()) return is_later.status();
    if (*is_later) continue;
    return unknown_symbol(absl::StrCat(option_, " ", name), name, bus_directory,
                          std::as_bytes(std::span(*metadata)));
  }
  symbols_ = symbols->select(names_);
  return absl::OkStatus();
}

void InstrumentFilter::turn_to(std::uint64_t day) {
  const auto kept = std::ranges::find(days_, day, &Day::day);
  if (kept != days_.end()) {
    now_ = static_cast<std::size_t>(kept - days_.begin());
    return;
  }
  now_ = (now_ + 1) % kDaysKept;
  days_[now_] = {day, numbers_};
  std::vector<std::uint64_t>& chosen = days_[now_].chosen;
  for (const std::string& name : names_) {
    const std::optional<std::uint32_t> id = symbols_.instrument_id(name, day * kDayNs);
    if (id && symbols_.stands_for(name, *id, day * kDayNs)) chosen.push_back(*id);
  }
  std::ranges::sort(chosen);
}

bool InstrumentFilter::matches(std::uint64_t instrument_id, std::uint64_t utc_ns) {
  if (record_bytes_ == 0) return false;
  const std::uint64_t day = utc_ns / kDayNs;
  if (day != days_[now_].day && !names_.empty()) turn_to(day);
  return std::ranges::binary_search(days_[now_].chosen, instrument_id);
}

bool InstrumentFilter::is_chosen(std::span<const std::byte> record) {
  return matches(number_in(field_, record), names_.empty() ? 0 : clock_.pacing_time_ns(record));
}

bool InstrumentFilter::matches(std::span<const std::byte> record) {
  return record_bytes_ != 0 && record.size() == record_bytes_ && is_chosen(record);
}

bool InstrumentFilter::matches_entry(const FoldShape& shape, std::span<const std::byte> entry) {
  if (shape.entry_record_bytes == 0 || is_loss_of_bus(shape, entry)) return true;
  return entry.size() >= shape.entry_record_bytes && matches(entry.first(shape.entry_record_bytes));
}

template <bool kChosen>
std::size_t InstrumentFilter::count_leading(std::span<const std::byte> records) {
  if (record_bytes_ == 0) return 0;
  std::size_t at = 0;
  while (at < records.size() && is_chosen(records.subspan(at, record_bytes_)) == kChosen) {
    at += record_bytes_;
  }
  return at / record_bytes_;
}

std::size_t InstrumentFilter::count_chosen(std::span<const std::byte> records) {
  return count_leading<true>(records);
}

std::size_t InstrumentFilter::count_others(std::span<const std::byte> records) {
  return count_leading<false>(records);
}

}  // namespace lapwing

#include "monitor/view/record_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lapwing/dbn.h"
#include "monitor/time_text.h"
#include "snapshot/schema/field_reader.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

constexpr char kNone[] = "-";
// Names that lines use in addition to the fields. A field with that name gets the prefix `record.`.
constexpr std::array<std::string_view, 5> kOwnNames = {"seq", "state", "conflated", "event",
                                                       "as_of"};

// 4500.25, 12, -0.000000001.
std::string price_text(std::int64_t price) {
  constexpr auto kPriceScale = static_cast<std::uint64_t>(dbn::kPriceScale);
  if (price == dbn::kUndefPrice) return kNone;
  const std::uint64_t magnitude = price < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(price)
                                            : static_cast<std::uint64_t>(price);
  std::string text = absl::StrFormat("%s%d.%09d", price < 0 ? "-" : "", magnitude / kPriceScale,
                                     magnitude % kPriceScale);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// The shortest digits that identify this number; or nan, inf, -inf. The sign of a NaN has no
// meaning.
template <typename Float>
std::string float_text(Float value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

// Escapes all characters except printable ASCII, because a publisher may write control sequences
// for a terminal.
std::string letters(std::string_view text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
  return is_plain ? std::string(text)
                  : absl::CHexEscape(absl::string_view(text.data(), text.size()));
}

// For JSON output, which has its own escapes for ASCII control characters.
std::string json_letters(std::string_view text) {
  const bool is_ascii = std::ranges::all_of(
      text, [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); });
  return is_ascii ? std::string(text) : letters(text);
}

std::string hex_text(Bytes bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// The name of an enumeration value; nullptr if it has none.
const std::string* name_of(const Field& field, std::uint64_t bits) {
  if (field.unit == FieldUnit::kFlags || field.type == FieldType::kChar) return nullptr;
  const auto found = std::ranges::find_if(field.values, [&](const FieldValue& value) {
    return static_cast<std::uint64_t>(value.value) == bits;
  });
  return found == field.values.end() ? nullptr : &found->name;
}

// last|snapshot|0x1: the names of the set bits, and the bits without a name.
std::string flags_text(const Field& field, std::uint64_t bits) {
  std::string text;
  for (const FieldValue& flag : field.values) {
    const auto bit = static_cast<std::uint64_t>(flag.value);
    if ((bits & bit) == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : "|", flag.name);
    bits &= ~bit;
  }
  if (bits != 0) absl::StrAppend(&text, text.empty() ? "" : "|", "0x", absl::Hex(bits));
  return text.empty() ? "0" : text;
}

// A value in the format for users.
struct Reading {
  const Field& field;

  std::string operator()(std::uint64_t value) const {
    if (field.unit == FieldUnit::kFlags) return flags_text(field, value);
    const bool is_time = field.unit == FieldUnit::kUtcNs;
    if (is_time && value == dbn::kUndefTimestamp) return kNone;
    if (is_time) return time_text(value);
    const std::string* const name = name_of(field, value);
    return name == nullptr ? absl::StrCat(value) : *name;
  }
  std::string operator()(std::int64_t value) const {
    if (field.unit == FieldUnit::kPrice) return price_text(value);
    const std::string* const name = name_of(field, static_cast<std::uint64_t>(value));
    return name == nullptr ? absl::StrCat(value) : *name;
  }
  std::string operator()(float value) const { return float_text(value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(char value) const { return letters({&value, 1}); }
  std::string operator()(std::string_view value) const { return letters(value); }
  std::string operator()(Bytes value) const { return hex_text(value); }
};

// A value in the format for programs.
struct Json {
  using Value = nlohmann::ordered_json;
  const Field& field;

  template <typename Integer>
    requires std::integral<Integer> && (!std::same_as<Integer, char>)
  Value operator()(Integer value) const {
    const std::string* const name = name_of(field, static_cast<std::uint64_t>(value));
    return name == nullptr ? Value(value) : Value(*name);
  }
  // The digits of the shorter type, not those of the nearest double. JSON cannot represent
  // non-finite numbers: they become null.
  Value operator()(float value) const { return std::strtod(float_text(value).c_str(), nullptr); }
  Value operator()(double value) const { return value; }
  Value operator()(char value) const { return json_letters({&value, 1}); }
  Value operator()(std::string_view value) const { return json_letters(value); }
  Value operator()(Bytes value) const { return hex_text(value); }
};

// Quotes the text if CSV requires it.
std::string quoted(std::string text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Letters and non-finite numbers are formatted as in text, and all other values as in JSON.
std::string csv_text(const Field& field, Bytes record) {
  if (field.type == FieldType::kChar || field.type == FieldType::kText) {
    return quoted(visit_field(field, record, Reading{field}));
  }
  const nlohmann::ordered_json value = visit_field(field, record, Json{field});
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return visit_field(field, record, Reading{field});
  }
  return quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string shown_name(const Field& field) {
  const bool is_taken = std::ranges::find(kOwnNames, field.name) != kOwnNames.end();
  return is_taken ? absl::StrCat("record.", field.name) : field.name;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  return quoted(letters(text));
}

RecordFormat::RecordFormat(std::shared_ptr<const Schema> schema) : schema_(std::move(schema)) {
  if (schema_ == nullptr) return;
  time_ = schema_->find(FieldRole::kPublishTime);
  if (time_ == nullptr) time_ = schema_->find(FieldRole::kTime);
}

std::string RecordFormat::text(Sequence n, Bytes record) const {
  return absl::StrFormat("%12d  %s", n, text(record));
}

std::string RecordFormat::text(Bytes record) const {
  if (!fits(record)) return hex_text(record);
  std::string line;
  for (const Field& field : schema_->fields) {
    if (field.role == FieldRole::kSpare) continue;
    absl::StrAppend(&line, line.empty() ? "" : " ", field.name, "=",
                    visit_field(field, record, Reading{field}));
  }
  return line;
}

nlohmann::ordered_json RecordFormat::json(Sequence n, Bytes record) const {
  nlohmann::ordered_json line{{"seq", n}};
  if (!fits(record)) {
    line["bytes"] = hex_text(record);
    return line;
  }
  for (const Field& field : schema_->fields) {
    if (field.role == FieldRole::kSpare) continue;
    line[shown_name(field)] = visit_field(field, record, Json{field});
  }
  return line;
}

std::string RecordFormat::csv_header() const {
  if (schema_ == nullptr) return "seq,bytes";
  std::string header = "seq";
  for (const Field& field : schema_->fields) {
    if (field.role != FieldRole::kSpare) absl::StrAppend(&header, ",", shown_name(field));
  }
  return header;
}

std::string RecordFormat::csv(Sequence n, Bytes record) const {
  std::string row = absl::StrCat(n);
  if (!fits(record)) return absl::StrCat(row, ",", hex_text(record));
  for (const Field& field : schema_->fields) {
    if (field.role != FieldRole::kSpare) absl::StrAppend(&row, ",", csv_text(field, record));
  }
  return row;
}

std::optional<std::uint64_t> RecordFormat::latency_time_ns(Bytes record) const {
  if (!fits(record) || time_ == nullptr) return std::nullopt;
  return load_field<std::uint64_t>(*time_, record);
}

}  // namespace lapwing

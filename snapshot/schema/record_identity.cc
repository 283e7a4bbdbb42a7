#include "snapshot/schema/record_identity.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

constexpr char kPlainBytes[] = "bytes";  // a schema that allows any record size

// Why this cannot be the description of these records; empty if it can.
std::string why_not(const Schema& description, const std::string& schema,
                    std::uint32_t record_bytes) {
  if (description.name != schema) {
    return absl::StrCat("the bus calls its records ", schema, ", and their description is of ",
                        description.name);
  }
  if (description.record_bytes != record_bytes) {
    return absl::StrCat("the bus has records of ", record_bytes, " bytes, and the description of ",
                        schema, " is of ", description.record_bytes);
  }
  return mismatch_with_known(description);
}

}  // namespace

RecordIdentity identify_records(std::string schema, std::uint32_t record_bytes,
                                absl::StatusOr<Schema> described) {
  RecordIdentity records{.schema = std::move(schema), .record_bytes = record_bytes};
  const auto taken_for_bytes = [&records](std::string why) {
    records.note = absl::StrCat(std::move(why),
                                ". They are treated as plain bytes. The publisher must describe "
                                "them correctly, or name another schema");
    records.schema = kPlainBytes;
    records.undescribed = Errc::kDamaged;
    return records;
  };
  const std::optional<Schema> newest = known_schema(records.schema);
  std::optional<Schema> shipped = known_schema_of_size(records.schema, record_bytes);
  if (newest && !shipped) {
    return taken_for_bytes(absl::StrCat("the bus calls its records of ", record_bytes, " bytes ",
                                        records.schema, ", whose records have ",
                                        newest->record_bytes));
  }
  if (described.ok()) {
    std::string why = why_not(*described, records.schema, record_bytes);
    if (!why.empty()) return taken_for_bytes(std::move(why));
    records.description = std::make_shared<const Schema>(*std::move(described));
    return records;
  }
  if (shipped) {
    records.description = std::make_shared<const Schema>(*std::move(shipped));
    return records;
  }
  if (errc_of(described.status()) != Errc::kNotFound) {
    records.undescribed = errc_of(described.status());
    records.note = absl::StrCat(described.status().message());
  }
  return records;
}

RecordIdentity records_of(const BusDescription& bus) {
  RecordIdentity records = identify_records(
      bus.schema, bus.record_bytes,
      bus.description.empty() ? make_error(Errc::kNotFound, "the records are not described")
                              : Schema::parse(bus.description));
  records.is_restamped = bus.restamped;
  return records;
}

absl::Status check_expected(const Schema& expected, const RecordIdentity& found) {
  if (found.description != nullptr) {
    const std::string why = mismatch(expected, *found.description);
    if (why.empty()) return absl::OkStatus();
    return make_error(Errc::kRecordSize,
                      absl::StrCat("the bus does not carry what this subscriber expects: ", why,
                                   "; use another bus, or the program that fits this one"));
  }
  return make_error(
      found.undescribed == Errc::kOk ? Errc::kRecordSize : found.undescribed,
      absl::StrCat(
          "this subscriber expects ", expected.name, ", and the bus does not describe its ",
          "records (", found.record_bytes, " bytes, schema ", found.schema, ")",
          found.note.empty() ? "" : ": ", found.note,
          found.note.empty() ? ": give its publisher the description, or leave `expect` out" : ""));
}

}  // namespace lapwing

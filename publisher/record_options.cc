#include "publisher/record_options.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

absl::Status contradicts(const char* option, const std::string& given,
                         const std::string& described) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(option, " is ", given, ", but the schema has ", described,
                                 ". Leave ", option, " out"));
}

// Records under a shipped name are what everybody takes them for.
absl::Status check_shipped(const Schema& description) {
  if (!known_schema(description.name)) return absl::OkStatus();
  const bool is_known = known_schema(description.name, description.version).has_value();
  std::string why = mismatch_with_known(description);
  if (why.empty() && is_known) return absl::OkStatus();
  if (why.empty()) why = absl::StrCat("it has no version ", description.version);
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("Lapwing ships the schema ", description.name, ", and ", why,
                                 ": give your own schema another name"));
}

absl::Status take_schema(PublisherOptions& options) {
  const Schema& schema = *options.schema;
  if (absl::Status valid = schema.check(); !valid.ok()) return valid;
  const PublisherOptions unset;
  if (options.schema_name != unset.schema_name && options.schema_name != schema.name) {
    return contradicts("schema_name", options.schema_name, schema.name);
  }
  if (options.record_bytes != unset.record_bytes && options.record_bytes != schema.record_bytes) {
    return contradicts("record_bytes", absl::StrCat(options.record_bytes),
                       absl::StrCat(schema.record_bytes));
  }
  options.schema_name = schema.name;
  options.record_bytes = schema.record_bytes;
  return check_shipped(schema);
}

}  // namespace

absl::Status settle_record_options(PublisherOptions& options) {
  if (options.schema) return take_schema(options);
  const std::optional<Schema> newest = known_schema(options.schema_name);
  if (!newest) return absl::OkStatus();
  options.schema = known_schema_of_size(options.schema_name, options.record_bytes);
  if (options.schema) return absl::OkStatus();
  return make_error(
      Errc::kRecordSize,
      absl::StrCat("records of ", options.record_bytes, " bytes are not ", options.schema_name,
                   ", whose records have ", newest->record_bytes,
                   ": give the schema another name, or publish records of that size"));
}

}  // namespace lapwing

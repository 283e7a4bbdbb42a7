#include "publisher/publisher_options.h"

#include <bit>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "bus/ring_file.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "os/thread_placement.h"
#include "proto/journal_format.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

template <auto kMember>
bool is_set(const PublisherOptions& given) {
  return given.*kMember != PublisherOptions().*kMember;
}

constexpr JournalOption kJournalOptions[] = {
    {"resume", is_set<&PublisherOptions::resume>},
    {"journal_directory", is_set<&PublisherOptions::journal_directory>},
    {"segment_bytes", is_set<&PublisherOptions::segment_bytes>},
    {"sync_interval", is_set<&PublisherOptions::sync_interval>},
    {"retain_bytes", is_set<&PublisherOptions::retain_bytes>},
    {"retain_age", is_set<&PublisherOptions::retain_age>},
    {"on_journal_lag", is_set<&PublisherOptions::on_journal_lag>},
    {"on_journal_failure", is_set<&PublisherOptions::on_journal_failure>},
};

absl::Status make_absolute(std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return make_system_error(error.value(), absl::StrCat("resolving ", path));
  path = absolute.lexically_normal().string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return absl::OkStatus();
}

absl::Status contradicts(const char* option, const std::string& given,
                         const std::string& described) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(option, " is ", given, ", but the schema has ", described,
                                 ". Leave ", option, " out"));
}

// Users rely on the definition of a shipped schema name.
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

absl::Status settle_records(PublisherOptions& options) {
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

absl::Status check_sizes(const PublisherOptions& options) {
  if (options.record_bytes < kRecordBytesMin || options.record_bytes > kRecordBytesMax) {
    return make_error(
        Errc::kRecordSize,
        absl::StrCat("records of ", options.record_bytes, " bytes are not supported: use ",
                     kRecordBytesMin, " to ", kRecordBytesMax, " bytes"));
  }
  if (options.segment_bytes < kSegmentSlotBytesMin ||
      options.segment_bytes > kSegmentSlotBytesMax || !std::has_single_bit(options.segment_bytes)) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("segment size ", options.segment_bytes, ": give a power of two from ",
                     kSegmentSlotBytesMin, " to ", kSegmentSlotBytesMax, " bytes"));
  }
  if (options.capacity == 0) return absl::OkStatus();
  return check_capacity(options.capacity, slot_bytes_for(options.record_bytes));
}

// Refuses options that would otherwise have no effect.
absl::Status check_together(const PublisherOptions& options) {
  for (const auto& [option, value, otherwise] :
       {std::tuple("sync_interval", options.sync_interval, "on request"),
        std::tuple("retain_age", options.retain_age, "never")}) {
    if (value > std::chrono::nanoseconds::zero()) continue;
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat(option, " is ", value.count(), " ns. Give a time above 0, or ", otherwise));
  }
  if (options.resume && options.source_offset != 0) {
    return make_error(Errc::kInvalidArgument,
                      "source_offset and resume are both set, but with resume the journal "
                      "determines the first record of the source. Remove one of them");
  }
  if (options.journal) return absl::OkStatus();
  for (const JournalOption& option : kJournalOptions) {
    if (option.is_set(options)) return requires_journal(option.name, "journal is false");
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const JournalOption> journal_options() {
  return kJournalOptions;
}

absl::Status requires_journal(const std::string& option, const std::string& why_none) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(option, " requires a journal, but ", why_none, ". Remove ", option,
                                 " or enable the journal."));
}

absl::Status settle_options(PublisherOptions& options) {
  if (!options.log) options.log = [](const LogEntry&) {};
  // Paths are absolute, because processes with other working directories read bus.json and
  // `sessions`.
  for (std::string* const path :
       {&options.directory, &options.journal_directory, &options.ring_directory}) {
    if (absl::Status made = make_absolute(*path); !made.ok()) return made;
  }
  if (absl::Status agree = settle_records(options); !agree.ok()) return agree;
  if (absl::Status together = check_together(options); !together.ok()) return together;
  if (absl::Status placed = check_placement(options.threads); !placed.ok()) return placed;
  return check_sizes(options);
}

}  // namespace lapwing

// lapwing export: write a range of a bus's records into a DBN file, from journal and ring file.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/number_option.h"
#include "cli/stop_signal.h"
#include "lapwing/dbn.h"
#include "os/posix_io.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/recording/record_writer.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Write a range of a bus's records into a DBN file, raw or zstd by its name.\n\n"
    "  lapwing export --bus ./es --out es.dbn.zst                 all retained records, up to now\n"
    "  lapwing export --bus ./es --out part.dbn --first 1000 --last 1999";

struct ExportOptions {
  std::string bus;
  std::string out;
  Sequence first = kNoSequence;  // 0: the oldest retained
  Sequence last = kNoSequence;   // 0: what there is now
  bool summary = false;
};

FollowOptions follow_options(const ExportOptions& options) {
  FollowOptions follow;
  follow.bus = options.bus;
  follow.from = options.first == kNoSequence ? "start" : absl::StrCat("seq:", options.first);
  follow.reattach_seconds = 0;
  follow.last = options.last;
  if (options.last != kNoSequence && options.first != kNoSequence) {
    follow.count = options.last - options.first + 1;
  }
  return follow;
}

// What is there now has been seen: the join is complete, or no publisher is left to add to it.
bool at_the_end(const Event* event) {
  return event != nullptr &&
         (event->kind == ItemKind::kCaughtUp || event->kind == ItemKind::kClosed ||
          event->kind == ItemKind::kPublisherGone);
}

class Export {
 public:
  explicit Export(const ExportOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status open(const FollowedRecords& records);
  absl::Status write(const FollowedRecords& records);

  const ExportOptions& options_;
  PosixDisk disk_;
  std::unique_ptr<RecordWriter> writer_;
};

absl::Status Export::open(const FollowedRecords& records) {
  if (dbn::find_schema(records.schema) == nullptr) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat("the bus carries records of schema ", records.schema,
                                   ", which a DBN file cannot hold"));
  }
  const absl::StatusOr<std::string> metadata = read_feed_metadata(options_.bus);
  if (!metadata.ok()) return metadata.status();
  const auto parsed = dbn::parse_metadata(std::as_bytes(std::span(*metadata)));
  if (!parsed.ok()) return parsed.status();
  const std::optional<Schema> schema = known_schema(records.schema, parsed->version);
  if (!schema || schema->record_bytes != records.record_bytes) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat("the bus's records of ", records.record_bytes, " bytes are not ",
                                   records.schema, " of DBN version ", parsed->version,
                                   ", which its metadata is of; publish it with the metadata of "
                                   "its own feed"));
  }
  absl::StatusOr<std::unique_ptr<RecordWriter>> writer =
      RecordWriter::create(disk_, options_.out, *metadata, schema->record_bytes);
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status Export::write(const FollowedRecords& records) {
  if (writer_ == nullptr) {
    if (absl::Status opened = open(records); !opened.ok()) return opened;
  }
  return writer_->write(records.bytes);
}

int Export::run() {
  if (options_.last != kNoSequence && options_.first > options_.last) {
    return fail(
        make_error(Errc::kInvalidArgument,
                   absl::StrCat("--first ", options_.first, " is after --last ", options_.last)));
  }
  const FollowOptions follow_options_now = follow_options(options_);
  absl::StatusOr<RecordSource> source = open_source(follow_options_now, "export");
  if (!source.ok()) return fail(source.status());
  FollowHandlers handlers;
  handlers.on_records = [&](const FollowedRecords& records) { return write(records); };
  handlers.on_event = [](const Event& event) {
    if (event.kind == ItemKind::kLost || event.kind == ItemKind::kReset) print_event(event);
    return absl::OkStatus();
  };
  handlers.done = [&](const Event* event, Sequence last) {
    return at_the_end(event) || (options_.last != kNoSequence && last >= options_.last);
  };
  catch_stop_signals();
  FollowResult result = follow(*source, follow_options_now, handlers);
  if (writer_ != nullptr) result.status.Update(writer_->finish());
  if (options_.summary) print_summary(result, nullptr);
  if (!result.status.ok()) fail(result.status);
  return result.exit_code(/*until_closed=*/false);
}

}  // namespace

void add_export(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App& command = add_command(app, "export", kAbout);
  add_bus_option(command, options->bus);
  command.add_option("--out", options->out, "the DBN file; zstd if its name ends in .zst")
      ->required()
      ->type_name("FILE");
  command.add_option("--first", options->first, "first sequence (default: the oldest retained)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--last", options->last, "last sequence (default: the newest)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--summary", options->summary,
                   "print one line of JSON on standard output at the end");
  command.callback([options, &run] { run = [options] { return Export(*options).run(); }; });
}

}  // namespace lapwing::cli

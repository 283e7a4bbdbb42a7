// lapwing export: writes a range of a bus's records to a DBN or record file, from the journal and
// the ring file.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/option_checks.h"
#include "cli/other_feed.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "lapwing/dbn.h"
#include "lapwing/recording.h"
#include "os/posix_io.h"
#include "snapshot/recording/record_writer.h"
#include "subscribers/recorder/recording_format.h"

namespace lapwing::cli {
namespace {

constexpr char kExportAbout[] =
    "Write a range of a bus's records into a file, raw or zstd by its name.\n\n"
    "  lapwing export --bus ./es --out es.dbn.zst                 all retained records, up to now\n"
    "  lapwing export --bus ./es --out part.dbn --first 1000 --last 1999\n"
    "  lapwing export --bus ./kv --out kv.records\n\n"
    "Records of DBN become a DBN file. All others become a record file, which begins with the\n"
    "description of its records; `lapwing publish --source file:FILE` publishes it again. Call\n"
    "it *.records or *.records.zst. With such a name, DBN's records also become a record file.\n\n"
    "The file appears when it is complete: until then it is FILE.new, which is removed if the\n"
    "export fails or is interrupted (exit code 1). An existing FILE is not replaced.\n\n"
    "A bus has several journals if one failed. The file gets the records of all journals, oldest\n"
    "first. --first and --last are sequences of the newest journal, or of --journal-id.";

struct ExportOptions {
  std::string bus;
  std::string out;
  std::string journal_id;        // empty: all, or the newest if first or last is given
  Sequence first = kNoSequence;  // 0: the oldest retained
  Sequence last = kNoSequence;   // 0: the newest now
  bool summary = false;
};

FollowOptions follow_options(const ExportOptions& options) {
  FollowOptions follow;
  follow.bus = options.bus;
  follow.from = options.first == kNoSequence ? "oldest" : absl::StrCat("seq:", options.first);
  follow.journal_id = options.journal_id;
  follow.one_journal = options.first != kNoSequence || options.last != kNoSequence;
  follow.reattach_ns = 0;
  follow.last = options.last;
  if (options.last != kNoSequence && options.first != kNoSequence) {
    follow.count = options.last - options.first + 1;
  }
  return follow;
}

// True once all records that existed at the start have been read: the join is complete, or no
// publisher can add records.
bool at_the_end(const Event* event) {
  return event != nullptr &&
         (event->kind == EventKind::kCaughtUp || event->kind == EventKind::kClosed ||
          event->kind == EventKind::kPublisherGone);
}

absl::Status interrupted(const std::string& out, std::uint64_t records) {
  return make_error(Errc::kInterrupted,
                    absl::StrCat("the export was interrupted after ", records, " records: ", out,
                                 " was not written. Run it again."));
}

class Export {
 public:
  explicit Export(const ExportOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status open(const RecordBatch& batch);
  absl::Status write(const RecordBatch& batch);

  const ExportOptions& options_;
  PosixDisk disk_;
  std::optional<RecordingFormat> format_;  // set by the first records
  std::unique_ptr<RecordWriter> writer_;
  Id128 session_;  // session of the last records
};

absl::Status Export::open(const RecordBatch& batch) {
  absl::StatusOr<RecordingFormat> format =
      RecordingFormat::choose(batch, options_.out, dbn_metadata_of(options_.bus));
  if (!format.ok()) return format.status();
  const absl::StatusOr<std::string> head = format->head(dbn::kUndefTimestamp, session_of(batch));
  if (!head.ok()) return head.status();
  absl::StatusOr<std::unique_ptr<RecordWriter>> writer =
      RecordWriter::create_whole(disk_, options_.out, *head, format->record_bytes());
  if (!writer.ok()) return writer.status();
  format_ = *std::move(format);
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status Export::write(const RecordBatch& batch) {
  if (writer_ == nullptr) {
    if (absl::Status opened = open(batch); !opened.ok()) return opened;
  }
  if (absl::Status fits = format_->check(batch); !fits.ok()) return fits;
  const Id128 before = std::exchange(session_, session_of(batch));
  if (before != session_ && !before.is_zero()) {
    const absl::StatusOr<bool> is_same = format_->is_same_feed(before, session_);
    if (!is_same.ok()) return is_same.status();
    if (!*is_same) say(other_feed(options_.out));
  }
  return writer_->write(batch.records);
}

int Export::run() {
  if (options_.last != kNoSequence && options_.first > options_.last) {
    return fail_usage(absl::StrCat("--first ", options_.first, " is after --last ", options_.last));
  }
  const FollowOptions follow_options_now = follow_options(options_);
  absl::StatusOr<RecordSource> source = open_source(follow_options_now, "export");
  if (!source.ok()) return fail(source.status());
  FollowHandlers handlers;
  handlers.on_records = [&](const FollowedRecords& records) {
    return write(RecordBatch::of(source->subscriber(), records.bytes));
  };
  handlers.on_event = [](const Event& event) {
    if (event.kind == EventKind::kLost || event.kind == EventKind::kReset) print_event(event);
    return absl::OkStatus();
  };
  bool complete = false;
  handlers.done = [&](const Event* event, Sequence last) {
    complete = at_the_end(event) || (options_.last != kNoSequence && last >= options_.last);
    return complete;
  };
  catch_stop_signals();
  FollowResult result = follow(*source, follow_options_now, handlers);
  if (stop_requested() && !complete && !result.counted)
    result.status.Update(interrupted(options_.out, result.records));
  if (result.status.ok() && writer_ != nullptr) result.status = writer_->finish();
  writer_.reset();  // removes the file unless finish() was called
  if (options_.summary) print_summary(result, nullptr);
  if (!result.status.ok()) fail(result.status);
  return result.exit_code(/*until_closed=*/false);
}

}  // namespace

void add_export(CLI::App& app, Run& run) {
  const auto [command, options] =
      add_command<ExportOptions>(app, run, "export", kExportAbout,
                                 [](const ExportOptions& given) { return Export(given).run(); });
  add_bus_option(command, options.bus);
  command.add_option("--out", options.out, "the file; zstd if its name ends in .zst")
      ->required()
      ->type_name("FILE");
  command.add_option("--first", options.first, "first sequence (default: the oldest retained)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--last", options.last, "last sequence (default: the newest)")
      ->check(whole_number(1))
      ->type_name("N");
  command
      .add_option("--journal-id", options.journal_id,
                  "only the records of this journal, by its id in `lapwing info`")
      ->type_name("ID");
  add_summary_option(command, options.summary);
}

}  // namespace lapwing::cli

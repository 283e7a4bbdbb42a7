// lapwing publish: publishes a feed on a bus.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/group_option.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "cli/thread_options.h"
#include "lapwing/histogram.h"
#include "lapwing/publisher.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "os/kernel.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/pacer.h"
#include "publisher/publisher_options.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing::cli {
namespace {

constexpr char kPublishAbout[] =
    "Publish a feed on a bus.\n\n"
    "  lapwing publish --bus ./es --source dbn:es.mbo.dbn.zst --pace recorded\n"
    "  zstd -dc day.dbn.zst | lapwing publish --bus ./day --source dbn:-\n"
    "  lapwing publish --bus ./syn --source synthetic:records=5000000 --pace 1000000 \\\n"
    "      --await 2 --summary\n"
    "  lapwing publish --bus ./again --source journal:./es --pace recorded*10\n"
    "  lapwing publish --bus ./again --source file:day.records\n"
    "  lapwing publish --bus ./es --source dbn:es.mbo.dbn.zst --resume   after a kill\n"
    "  taskset -c 2 lapwing publish --bus ./es --source dbn:- --thread-cpus 0-1\n\n"
    "SIGTERM, SIGINT and SIGHUP close the session cleanly, after everything is durable. If the\n"
    "journal fails or is shed, live delivery continues. At the end a message reports the\n"
    "records that the journal lost, and the exit code is 6.";

constexpr std::uint64_t kAwaitPollNs = 10'000'000;

struct PublishOptions {
  PublisherOptions publisher;  // options that need no conversion
  std::string source;
  std::string pace = "max";
  std::uint64_t loop = 1;
  std::string on_new_source = "refuse";
  std::uint64_t await = 0;
  std::string schema;  // which schema to publish if a DBN source has several
  std::string journal;
  std::uint64_t sync_interval_ns = 10'000'000;  // 0: on request only
  std::string on_journal_lag = "wait";
  std::string on_journal_failure = "continue";
  std::string group;
  std::string of_journal;  // a given option that requires a journal
  std::uint64_t linger_ns = 0;
  bool summary = false;
};

// True if a stop was requested while the source was idle. This is a normal end, not an error.
bool stopped_while_waiting(const absl::Status& status) {
  return stop_requested() && errc_of(status) == Errc::kClosed;
}

class Publish {
 public:
  explicit Publish(const PublishOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status open();
  absl::Status identify_source();
  absl::StatusOr<PublisherOptions> publisher_options();
  absl::StatusOr<std::uint64_t> resume(const ResumePoint& point);
  void await_subscribers();
  absl::Status play();
  absl::Status publish(FeedBatch batch);
  void linger();
  void print_summary() const;
  std::uint64_t lost_in_source() const {
    return resumed_.lost_first == kNoSequence ? 0 : resumed_.lost_last - resumed_.lost_first + 1;
  }
  bool warn_of_records_not_journaled(const absl::Status& closed);
  void warn(const std::string& line) { progress_.say({LogLevel::kWarning, "not-journaled", line}); }

  const PublishOptions& options_;
  std::unique_ptr<Feed> feed_;
  std::optional<Publisher> publisher_;
  std::optional<Pacer> pacer_;
  SystemPaceClock clock_;
  std::optional<RecordClock> restamped_;  // set with --restamp
  std::uint64_t fingerprint_ = 0;         // of the source; 0 for a stream
  ResumedFeed resumed_;
  std::uint64_t in_journal_ = 0;  // source records that --resume did not republish
  std::size_t subscribers_most_ = 0;
  ServiceWatchdog watchdog_;
  FineHistogram publish_ns_;
  Progress progress_;
};

absl::StatusOr<PublisherOptions> Publish::publisher_options() {
  absl::StatusOr<std::optional<unsigned>> gid = find_group(options_.group);
  if (!gid.ok()) return gid.status();
  const FeedDescription& feed = feed_->description();
  PublisherOptions publisher = options_.publisher;
  publisher.schema = feed.records;
  publisher.schema_name = feed.schema;
  publisher.record_bytes = feed.record_bytes;
  publisher.metadata = feed.metadata;
  publisher.source_id = feed.source_id;
  publisher.source_fingerprint = fingerprint_;
  if (publisher.resume) {
    publisher.on_resume = [this](const ResumePoint& point) { return resume(point); };
  } else {
    publisher.source_offset = feed_->first_position();
  }
  publisher.journal = options_.journal != "none";
  if (publisher.journal) publisher.journal_directory = options_.journal;
  publisher.sync_interval = options_.sync_interval_ns == 0
                                ? kOnRequest
                                : std::chrono::nanoseconds(options_.sync_interval_ns);
  publisher.on_journal_lag =
      options_.on_journal_lag == "shed" ? OnJournalLag::kShed : OnJournalLag::kWait;
  publisher.on_journal_failure =
      options_.on_journal_failure == "stop" ? OnJournalFailure::kStop : OnJournalFailure::kContinue;
  publisher.group = *gid;
  publisher.log = [](const LogEntry& entry) { say(entry); };  // called from any of its threads
  return publisher;
}

// If the source can be read again, identifies it by its content, so that a later --resume finds it.
absl::Status Publish::identify_source() {
  // Two passes over a journal differ if retention has removed segments in between.
  if (options_.publisher.resume && options_.loop != 1 &&
      absl::StartsWith(options_.source, "journal:")) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("--resume: passes over ", options_.source,
                                   " cannot be continued, because a pass has only what the "
                                   "retention of that journal has kept. Remove --loop or "
                                   "--resume."));
  }
  const absl::Status again = feed_->rewind();
  if (again.ok()) {
    const absl::StatusOr<std::uint64_t> fingerprint = feed_->fingerprint();
    if (fingerprint.ok()) fingerprint_ = *fingerprint;
    return fingerprint.status();
  }
  if (errc_of(again) != Errc::kUnsupported) return again;
  if (!options_.publisher.resume) return absl::OkStatus();
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("--resume: ", feed_->description().name,
                                 " is a stream, and cannot be compared with what the journal holds "
                                 "of it. Save it to a file and give the file, or remove "
                                 "--resume."));
}

// Called after journal recovery and before the session begins.
absl::StatusOr<std::uint64_t> Publish::resume(const ResumePoint& point) {
  const std::string& source = options_.source;
  // Without a fingerprint and a record to compare, the source is identified only by its path.
  const bool is_known = point.is_listed && (point.by_content || !point.last_record.empty());
  if (!is_known && point.has_records && options_.on_new_source == "refuse") {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("--resume: the journal of ", options_.publisher.directory,
                     " holds nothing of ", source,
                     ". To publish all of it after the records in the journal, add "
                     "--on-new-source publish or remove --resume. To continue an earlier source, "
                     "give that one: its metadata and first record must be unchanged."));
  }
  if (!is_known) return feed_->first_position();
  FeedWait wait{.stop_fd = stop_fd()};
  if (watchdog_.is_watched()) wait.tick = [this] { watchdog_.tick(); };
  absl::StatusOr<ResumedFeed> resumed =
      feed_->resume(point, restamped_ ? &*restamped_ : nullptr, wait);
  if (!resumed.ok()) return resumed.status();
  resumed_ = *resumed;
  in_journal_ = resumed_.position - feed_->first_position();
  say(absl::StrCat("--resume: ", source, " continues after its record ", resumed_.position));
  if (resumed_.lost_first != kNoSequence) {
    warn(absl::StrCat("records ", resumed_.lost_first, " to ", resumed_.lost_last, " of ", source,
                      " are not published: retention has removed them from that journal"));
  }
  return resumed_.position;
}

absl::Status Publish::open() {
  const absl::StatusOr<Pace> pace = parse_pace(options_.pace);
  if (!pace.ok()) return pace.status();
  if (options_.journal == "none" && !options_.of_journal.empty()) {
    return requires_journal(options_.of_journal, "--journal none is set");
  }
  FeedOptions feed_options;
  feed_options.schema = options_.schema;
  feed_options.batch_by_burst = pace->by_burst();
  feed_options.passes = options_.loop;
  feed_options.stopped = stop_requested;
  absl::StatusOr<std::unique_ptr<Feed>> feed = open_feed(options_.source, feed_options);
  if (errc_of(feed.status()) == Errc::kInvalidArgument) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("--source: ", feed.status().message()));
  }
  if (!feed.ok()) return feed.status();
  feed_ = *std::move(feed);
  const FeedDescription& records = feed_->description();
  if (!records.remark.empty()) say(records.remark);
  if (options_.publisher.restamped && records.records) restamped_.emplace(*records.records);
  if (options_.publisher.restamped && (!restamped_ || !restamped_->can_stamp())) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("--restamp: records of schema ", records.schema,
                     " have neither a time of publishing nor a ts_recv to set. Remove --restamp"));
  }
  if (absl::Status known = identify_source(); !known.ok()) return known;
  absl::StatusOr<PublisherOptions> publisher = publisher_options();
  if (!publisher.ok()) return publisher.status();
  absl::StatusOr<Publisher> opened = Publisher::open(*std::move(publisher));
  if (!opened.ok()) return opened.status();
  publisher_.emplace(*std::move(opened));
  pacer_.emplace(*pace, clock_, [this] {
    watchdog_.tick();
    return stop_requested();
  });
  return absl::OkStatus();
}

void Publish::await_subscribers() {
  if (options_.await == 0) return;
  notify_status(absl::StrCat("waiting for ", count_text(options_.await, "subscriber"), " of ",
                             options_.publisher.directory));
  while (publisher_->subscriber_count() < options_.await && !stop_requested()) {
    watchdog_.tick();
    sleep_unless_stopped(kAwaitPollNs);
  }
  notify_status(absl::StrCat("publishing on ", options_.publisher.directory));
}

absl::Status Publish::publish(FeedBatch batch) {
  const std::size_t count = batch.records.size() / publisher_->record_bytes();
  if (!pacer_->wait(batch.time_ns, count)) return absl::OkStatus();  // stopped: play() ends
  if (restamped_) restamped_->stamp(batch.records, wall_ns());
  const std::uint64_t began = options_.summary ? monotonic_ns() : 0;
  if (!publisher_->publish_batch(batch.records).ok()) {
    return publisher_->last_error();
  }
  if (options_.summary) publish_ns_.add((monotonic_ns() - began) / count, count);
  return absl::OkStatus();
}

absl::Status Publish::play() {
  FeedWait wait{.stop_fd = stop_fd()};
  if (watchdog_.is_watched()) wait.tick = [this] { watchdog_.tick(); };
  absl::StatusOr<FeedBatch> batch = resumed_.rest;
  if (batch->records.empty()) batch = await_batch(*feed_, wait);
  while (batch.ok() && !stop_requested()) {
    if (!batch->records.empty()) {
      if (absl::Status published = publish(*batch); !published.ok()) return published;
      subscribers_most_ = std::max(subscribers_most_, publisher_->subscriber_count());
      progress_.show("published", in_journal_ + publisher_->head() - publisher_->first() + 1,
                     feed_->total());
    }
    batch = await_batch(*feed_, wait);
    if (batch.ok() && batch->ended()) return absl::OkStatus();
  }
  return stopped_while_waiting(batch.status()) ? absl::OkStatus() : batch.status();
}

void Publish::linger() {
  const std::uint64_t end = after_ns(monotonic_ns(), options_.linger_ns);
  for (std::uint64_t now = monotonic_ns(); now < end && !stop_requested(); now = monotonic_ns()) {
    watchdog_.tick();
    sleep_unless_stopped(std::min(end - now, watchdog_.interval_ns()));
  }
}

void Publish::print_summary() const {
  const PublisherCounters counters = publisher_->counters();
  const std::uint64_t records = publisher_->head() + 1 - publisher_->first();
  const nlohmann::ordered_json summary = {
      {"session", publisher_->session_id().hex()},
      {"first", records > 0 ? publisher_->first() : 0},
      {"last", records > 0 ? publisher_->head() : 0},
      {"records", records},
      {"durable", publisher_->durable()},
      {"journal_stalls", counters.journal_stalls},
      {"journal_stall_ns_max", counters.journal_stall_ns_max},
      {"publish_ns", latency_json(publish_ns_)},
      {"subscribers", subscribers_most_},
      {"skipped", feed_->skipped()},
      {"already_in_journal", in_journal_},
      {"lost_in_source", lost_in_source()},
  };
  std::cout << json_text(summary) << '\n';
}

// Returns true if the journal ended before the feed, and prints which records are not in it.
bool Publish::warn_of_records_not_journaled(const absl::Status& closed) {
  const Sequence durable = publisher_->durable();
  const Sequence head = publisher_->head();
  if (errc_of(closed) != Errc::kJournalFailed || durable >= head) return false;
  warn(absl::StrCat("records ", durable + 1, " to ", head, " (", head - durable,
                    " records) are not in the journal; only live subscribers have them"));
  return true;
}

int Publish::run() {
  catch_stop_signals();
  if (absl::Status opened = open(); !opened.ok()) {
    if (stopped_while_waiting(opened)) return kExitDone;
    const int code = fail(opened);
    // Opening times out because the disk is slow, not because another process holds the bus.
    return errc_of(opened) == Errc::kTimedOut ? kExitOther : code;
  }
  notify_ready(absl::StrCat("publishing on ", options_.publisher.directory));
  await_subscribers();
  const absl::Status played = play();
  progress_.clear();
  if (!played.ok()) warn(std::string(played.message()));
  if (feed_->skipped() > 0) {
    warn(absl::StrCat(feed_->skipped(), " records whose type is not ", feed_->description().schema,
                      " were skipped"));
  }
  if (played.ok()) linger();
  notify_stopping("making the journal durable");
  const absl::Status closed = publisher_->close();
  if (options_.summary) print_summary();
  const bool lost = warn_of_records_not_journaled(closed);
  if (!played.ok()) return exit_code_for(errc_of(played));
  if (closed.ok()) return lost_in_source() > 0 ? kExitLost : kExitDone;
  const int code = fail(closed);
  return lost ? kExitLost : code;
}

void add_feed_options(CLI::App& command, PublishOptions& options) {
  command
      .add_option("--source", options.source,
                  "dbn:PATH (DBN file, raw or zstd), file:PATH (record file, raw or zstd), dbn:- "
                  "or file:- (standard input), journal:DIR (bus directory), "
                  "synthetic[:key=value,…] (order flow), or kv16[:key=value,…] (numbered keys)")
      ->required();
  command
      .add_option("--pace", options.pace,
                  "max, recorded (pauses cut to one second), recorded*N (N times as fast), or a "
                  "number of records a second")
      ->check(parsed_by(parse_pace))
      ->capture_default_str();
  command.add_option("--loop", options.loop, "passes over the source; 0: repeat forever")
      ->check(whole_number(0))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--resume", options.publisher.resume,
                   "continue the source after the records of it that the journal holds; a source "
                   "that differs from them, or a stream, is refused");
  CLI::Option* const resume = command.get_option("--resume");
  command
      .add_option(
          "--on-new-source", options.on_new_source,
          "with --resume, if the journal holds nothing of the source: refuse it, or publish it "
          "from its beginning")
      ->capture_default_str()
      ->needs(resume)
      ->check(CLI::IsMember({"refuse", "publish"}));
  command
      .add_option("--await", options.await,
                  "wait for this many subscribers before the first record")
      ->check(whole_number(0))
      ->type_name("N");
  command
      .add_option(
          "--schema", options.schema,
          "the schema to publish of a DBN source that mixes schemas (default: that of its first "
          "record); other records are counted. mbp-1 and tbbo have the same record type: "
          "either takes both")
      ->type_name("NAME");
  command.add_flag(
      "--restamp", options.publisher.restamped,
      "set the records' time of publishing, or else ts_recv, for --measure and tail --latency");
  command
      .add_option("--linger", options.linger_ns,
                  "keep the bus open for this long after the source ends")
      ->default_str("0s")
      ->transform(as_duration_ns({.zero = true}))
      ->type_name("DURATION");
}

void add_ring_options(CLI::App& command, PublishOptions& options) {
  command
      .add_option("--capacity", options.publisher.capacity,
                  "slots of the ring, a power of two (default: what fits, up to 1048576)")
      ->check(whole_number(1))
      ->type_name("SLOTS");
  command
      .add_option("--ring-dir", options.publisher.ring_directory,
                  "directory on tmpfs for the ring file (default: the bus directory if it is on "
                  "tmpfs, else a private directory in /dev/shm)")
      ->type_name("DIR");
  command.add_flag("--huge-pages", options.publisher.huge_pages,
                   "use huge pages for the ring; fail if there are none");
  command.add_option("--group", options.group, "group whose members may read the bus")
      ->check(not_empty())
      ->check(parsed_by(find_group))
      ->type_name("G");
}

void add_journal_options(CLI::App& command, PublishOptions& options) {
  command
      .add_option("--journal", options.journal,
                  "directory of the journal (default: in the bus directory), or none")
      ->type_name("DIR|none");
  command
      .add_option("--segment-bytes", options.publisher.segment_bytes,
                  "bytes of records in one journal file, a power of two")
      ->transform(size_in_bytes(1))
      ->capture_default_str()
      ->type_name("BYTES");
  command
      .add_option("--sync-interval", options.sync_interval_ns,
                  "time between syncs; on-request: sync only when a program requests it")
      ->default_str("10ms")
      ->transform(as_duration_ns({.word = "on-request", .word_ns = 0}))
      ->type_name("DURATION|on-request");
  command
      .add_option("--retain-bytes", options.publisher.retain_bytes,
                  "remove the oldest journal files beyond this many bytes, of all journals "
                  "together (default: keep all)")
      ->transform(size_in_bytes(0))
      ->type_name("BYTES");
  command
      .add_option("--on-journal-lag", options.on_journal_lag,
                  "when the disk is a whole ring behind: wait for it, or shed: end the journal as "
                  "failed and continue live without it (exit code 6)")
      ->capture_default_str()
      ->check(CLI::IsMember({"wait", "shed"}));
  command
      .add_option("--on-journal-failure", options.on_journal_failure,
                  "when a write or a sync fails: continue live without a journal (exit code 6), or "
                  "stop (exit code 1)")
      ->capture_default_str()
      ->check(CLI::IsMember({"continue", "stop"}));
}

}  // namespace

void add_publish(CLI::App& app, Run& run) {
  auto options = std::make_shared<PublishOptions>();
  CLI::App& command = add_command(app, "publish", kPublishAbout);
  add_bus_option(command, options->publisher.directory);
  add_feed_options(command, *options);
  add_ring_options(command, *options);
  add_journal_options(command, *options);
  add_thread_options(command, options->publisher.threads);
  add_summary_option(command, options->summary);
  add_config_option(command);
  command.callback([options, &command, &run] {
    for (const JournalOption& option : journal_options()) {
      const std::string name = absl::StrCat("--", absl::StrReplaceAll(option.name, {{"_", "-"}}));
      const CLI::Option* const given = command.get_option_no_throw(name);
      if (given != nullptr && given->count() > 0) options->of_journal = name;
    }
    run = [options] { return Publish(*options).run(); };
  });
}

}  // namespace lapwing::cli

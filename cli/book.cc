// lapwing book: prints the order books of a bus: once, at given records, or live.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "lapwing/order_books.h"
#include "monitor/json_text.h"
#include "monitor/view/book_format.h"
#include "os/kernel.h"
#include "subscribers/instrument_filter.h"

namespace lapwing::cli {
namespace {

constexpr char kBookAbout[] =
    "Show the order books of a bus of market-by-order records (dbn.mbo).\n\n"
    "  lapwing book --bus ./es                          as of now, then end\n"
    "  lapwing book --bus ./es --follow                 live: in place on a terminal\n"
    "  lapwing book --bus ./es --instrument ESH4 --depth 20\n"
    "  lapwing book --bus ./es --at 1000,2000 --format json    right after those records\n"
    "  lapwing book --bus ./es --depth 0 --format csv   every level of every book\n"
    "  lapwing book --bus ./es --until-closed --summary\n\n"
    "Each line has orders, size and price of a bid, then price, size and orders of an ask. More\n"
    "than four books are shown as a list of their best prices. A book is shown only between two\n"
    "events of the venue. Only --at shows it right after the given record, with a note if that\n"
    "is inside an event. STALE marks a book that lost records, until its next clear or snapshot.\n"
    "If the bus keeps no journal, the books begin with the oldest record in the ring. --format\n"
    "json prints one object a line for each book, --format csv a row for each level. Both use the\n"
    "names of the records' fields, and prices in units of 1e-9. The digest of --summary is that\n"
    "of the state of all books as of its sequence: if both are equal, the states are equal.";

constexpr std::size_t kBooksInFullMax = 4;
constexpr std::uint64_t kBlockNs = 1'000'000'000;   // between blocks not redrawn in place
constexpr std::uint64_t kSettleNs = 1'000'000'000;  // maximum wait for the end of an event

struct BookOptions {
  FollowOptions follow;
  std::string instrument;
  std::size_t depth = 10;
  std::vector<Sequence> at;  // ascending
  std::string format = "text";
  bool json = false;  // short for --format json
  bool live = false;
  // True if the user did not choose the start (--from) or the gap policy (--on-gap).
  bool free_start = false;
  bool free_policy = false;
};

class Book {
 public:
  explicit Book(const BookOptions& options)
      : options_(options),
        output_(parse_format(options.format)),
        view_(options.follow.bus),
        screen_(shows_live()) {
    if (!options.instrument.empty()) filter_.emplace(std::vector{options.instrument}, kInstrument);
  }

  int run();

 private:
  FollowResult follow_bus();
  bool use_ring_alone();
  FollowHandlers handlers(const Subscriber& subscriber);
  absl::Status take_state(std::span<const std::byte> entry, const Fold& fold);
  absl::Status take_records(const FollowedRecords& records);
  absl::Status take_event(const Event& event);
  absl::Status check_schema(const std::string& schema) const;
  absl::Status check_beginning(Sequence first);
  absl::Status tick();
  bool done() const;

  std::vector<const OrderBook*> selected();
  bool settled();
  absl::Status show_where_asked();
  absl::Status show_live();
  absl::Status show();
  std::size_t depth_for(std::size_t books) const;
  std::string lines(const std::vector<const OrderBook*>& books);
  absl::Status finish(const FollowResult& result);
  void print_summary(const FollowResult& result) const;

  bool all_asked_shown() const { return asked_ == options_.at.size(); }
  bool shows_in_place() const { return output_ == OutputFormat::kText && screen_.is_in_place(); }
  // With --at, only the chosen records are shown, and --follow waits for them.
  bool shows_live() const { return options_.live && options_.at.empty(); }

  BookOptions options_;
  const OutputFormat output_;
  BookFormat view_;
  Screen screen_;
  std::optional<InstrumentFilter> filter_;
  OrderBooks books_;
  std::size_t asked_ = 0;  // elements of options_.at shown so far
  std::uint64_t caught_up_ns_ = 0;
  std::uint64_t shown_ns_ = 0;
  Sequence shown_ = kNoSequence;
  bool ever_shown_ = false;
  bool snapshot_is_too_new_ = false;  // than the first record of --at
  bool due_ = false;                  // show once the book is settled
  bool has_header_ = false;           // the CSV header has been printed
};

absl::Status Book::check_schema(const std::string& schema) const {
  if (schema.empty() || schema == dbn::kSchemaMbo) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("the bus ", options_.follow.bus, " carries ", schema, ": a book needs ",
                   dbn::kSchemaMbo, "; `lapwing tail` shows its records"));
}

// Returns an error if the first record of --at precedes `first`, the first available record.
absl::Status Book::check_beginning(Sequence first) {
  if (books_.sequence() != kNoSequence || options_.at.empty() || options_.at.front() >= first) {
    return absl::OkStatus();
  }
  snapshot_is_too_new_ = options_.follow.from != "oldest";
  return make_error(
      Errc::kNotFound,
      absl::StrCat("--at ", options_.at.front(), ": the books begin at record ", first,
                   snapshot_is_too_new_ ? "; try --from oldest, which may begin earlier" : ""));
}

absl::Status Book::take_state(std::span<const std::byte> entry, const Fold& fold) {
  const Item item{.kind = ItemKind::kState, .sequence = fold.place_of(entry), .record = entry};
  if (books_.take(item)) return absl::OkStatus();
  return make_error(
      Errc::kRecordSize,
      "an entry of the state is not one of the fold orders; the books cannot be shown");
}

absl::Status Book::take_records(const FollowedRecords& records) {
  if (auto status = check_schema(records.schema); !status.ok()) return status;
  if (auto status = check_beginning(records.first); !status.ok()) return status;
  Sequence next = records.first;
  for (std::size_t at = 0; at < records.bytes.size() && !done(); at += records.record_bytes) {
    if (!books_.apply(next++, records.bytes.subspan(at, records.record_bytes))) {
      return check_schema(absl::StrCat("records of ", records.record_bytes, " bytes"));
    }
    if (!all_asked_shown()) {
      if (auto status = show_where_asked(); !status.ok()) return status;
    }
    if (due_) {
      if (auto status = show_live(); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Book::take_event(const Event& event) {
  if (auto status = check_schema(event.schema_name); !status.ok()) return status;
  const bool begins = event.kind == EventKind::kSession || event.kind == EventKind::kReset;
  if (begins) view_ = BookFormat(options_.follow.bus, event.session_id);
  if (filter_ && begins) {
    const absl::Status chosen =
        filter_->begin(options_.follow.bus, event.schema.get(), event.session_id);
    if (!chosen.ok()) return chosen;
  }
  if (event.is_first_session) {
    books_.take(event);
    return absl::OkStatus();
  }
  if (event.kind != EventKind::kCaughtUp || options_.live) {
    print_event(event);
    screen_.keep();
  }
  if (event.kind == EventKind::kCaughtUp) caught_up_ns_ = monotonic_ns();
  const bool is_loss = event.kind == EventKind::kLost && event.gap.count() > 0;
  const bool is_skipped = event.kind == EventKind::kGap && options_.follow.on_gap == "skip";
  if (event.kind == EventKind::kSnapshotComplete || is_loss) {
    const Sequence first = is_loss ? event.gap.last + 1 : event.sequence;
    if (auto status = check_beginning(first); !status.ok()) return status;
  }
  if (is_skipped) {
    books_.lose(event.gap);
  } else {
    books_.take(event);
  }
  due_ = due_ || (shows_live() && (is_loss || is_skipped));
  return show_where_asked();
}

std::vector<const OrderBook*> Book::selected() {
  std::vector<const OrderBook*> books = books_.books();
  if (filter_) {
    std::erase_if(books, [this](const OrderBook* book) {
      return !filter_->matches(book->instrument_id(), book->last_ts_recv());
    });
  }
  return books;
}

// Ignores stale books: a book that lost records may never receive the end of its event.
bool Book::settled() {
  if (books_.loading()) return false;
  return books_.settled() || std::ranges::all_of(selected(), [](const OrderBook* book) {
           return book->settled() || book->stale();
         });
}

absl::Status Book::show_where_asked() {
  for (; !all_asked_shown() && books_.sequence() >= options_.at[asked_]; ++asked_) {
    if (auto status = show(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Book::show_live() {
  if (!settled()) return absl::OkStatus();
  due_ = false;
  return show();
}

// Levels per side. If the screen is redrawn in place, few enough for all books to fit.
std::size_t Book::depth_for(std::size_t books) const {
  constexpr std::size_t kHeadLines = 3;
  if (!shows_in_place() || books == 0) return options_.depth;
  const std::size_t lines = std::max(screen_.lines_max() / books, kHeadLines + 1);
  const std::size_t wanted = options_.depth == 0 ? lines : options_.depth;
  return std::min(wanted, lines - kHeadLines);
}

std::string Book::lines(const std::vector<const OrderBook*>& books) {
  std::string out;
  const std::size_t depth = depth_for(books.size());
  const bool with_digest = !options_.at.empty();
  if (output_ == OutputFormat::kJson) {
    for (const OrderBook* book : books) {
      absl::StrAppend(&out, view_.json(*book, books_.sequence(), depth, with_digest), "\n");
    }
  } else if (output_ == OutputFormat::kCsv) {
    if (!std::exchange(has_header_, true)) out = BookFormat::csv_header(with_digest);
    for (const OrderBook* book : books) {
      absl::StrAppend(&out, view_.csv(*book, books_.sequence(), depth, with_digest));
    }
  } else if (books.size() > kBooksInFullMax) {
    out = BookFormat::list_heading(books_.sequence(), books.size());
    for (const OrderBook* book : books) absl::StrAppend(&out, view_.list_line(*book));
  } else {
    for (const OrderBook* book : books) {
      absl::StrAppend(&out, view_.text(*book, books_.sequence(), depth));
    }
  }
  return out;
}

absl::Status Book::show() {
  shown_ = books_.sequence();
  shown_ns_ = monotonic_ns();
  const std::vector<const OrderBook*> books = selected();
  if (books.empty()) return absl::OkStatus();
  ever_shown_ = true;
  if (output_ == OutputFormat::kNone) return absl::OkStatus();
  if (output_ == OutputFormat::kText) return screen_.show(lines(books));
  std::cout << lines(books);
  return flush_output();
}

absl::Status Book::tick() {
  if (!shows_live() || caught_up_ns_ == 0 || shown_ == books_.sequence()) return absl::OkStatus();
  if (books_.loading()) return absl::OkStatus();
  const bool in_blocks = output_ == OutputFormat::kText && !screen_.is_in_place();
  if (in_blocks && ever_shown_ && monotonic_ns() < shown_ns_ + kBlockNs) return absl::OkStatus();
  due_ = true;
  return show_live();
}

// True if no more records are needed.
bool Book::done() const {
  if (!options_.at.empty() && all_asked_shown()) return true;
  if (options_.live || options_.follow.until_closed || caught_up_ns_ == 0) return false;
  return !options_.at.empty() || books_.settled() || monotonic_ns() >= caught_up_ns_ + kSettleNs;
}

// Prints the remaining output after the last record.
absl::Status Book::finish(const FollowResult& result) {
  if (!result.status.ok() && !options_.at.empty()) return result.status;
  if (!all_asked_shown()) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("--at ", options_.at[asked_], ": the last record is ",
                                   books_.sequence(), "; add --follow to wait for more"));
  }
  if (books_.loading()) {
    say("stopped while the state was being loaded: there are no books to show");
    return result.status;
  }
  if (options_.at.empty() && (shown_ != books_.sequence() || !ever_shown_)) {
    if (auto status = show(); !status.ok()) return status;
  }
  if (ever_shown_ || !result.status.ok()) return result.status;
  if (!filter_ || books_.books().empty()) {
    say("there is no book yet: the bus has no records");
    return absl::OkStatus();
  }
  return make_error(Errc::kNotFound,
                    absl::StrCat("no book of ", options_.instrument,
                                 "; leave out --instrument to show all ", books_.books().size()));
}

void Book::print_summary(const FollowResult& result) const {
  const std::vector<const OrderBook*> books = books_.books();
  nlohmann::ordered_json summary = {
      {"sequence", books_.sequence()},
      {"digest", absl::StrFormat("%016x", books_.digest())},
      {"books", books.size()},
      {"stale", std::ranges::count_if(books, [](const OrderBook* book) { return book->stale(); })},
      {"orders", books_.order_count()},
      {"records", result.records},
      {"gaps", result.counters.gaps},
      {"lost", result.counters.lost},
      {"filled", result.counters.filled},
      {"in_state", result.counters.in_state},
  };
  if (result.state_as_of != kNoSequence) summary["state_as_of"] = result.state_as_of;
  std::cout << json_text(summary) << '\n';
}

FollowHandlers Book::handlers(const Subscriber& subscriber) {
  FollowHandlers handlers;
  handlers.on_state = [this, &subscriber](std::span<const std::byte> entry) {
    return take_state(entry, *subscriber.fold());
  };
  handlers.on_records = [this](const FollowedRecords& records) { return take_records(records); };
  handlers.on_event = [this](const Event& event) { return take_event(event); };
  handlers.done = [this](const Event*, Sequence) { return done(); };
  handlers.on_tick = [this] { return tick(); };
  return handlers;
}

FollowResult Book::follow_bus() {
  absl::StatusOr<RecordSource> source =
      open_source(options_.follow, "book", [this](SubscriberOptions& subscriber) {
        subscriber.observes = is_for_a_person(options_.follow);
        if (subscriber.start.kind != Start::Kind::kSnapshot) return;
        subscriber.start = Start::snapshot(kFoldOrders);
      });
  if (source.ok()) return follow(*source, options_.follow, handlers(source->subscriber()));
  FollowResult result;
  result.status = source.status();
  return result;
}

// For options that the user did not set, chooses values that a bus without a journal supports.
// Returns false if the user set both.
bool Book::use_ring_alone() {
  if (!options_.free_start && !options_.free_policy) return false;
  if (options_.free_start) options_.follow.from = "oldest";
  if (options_.free_policy) options_.follow.on_gap = "skip";
  say(absl::StrCat("bus ", options_.follow.bus,
                   " keeps no journal: the books begin with the oldest record in its ring, and "
                   "lapped records are lost"));
  return true;
}

int Book::run() {
  if (!options_.at.empty() && options_.follow.on_gap == "snapshot") {
    return fail_usage(
        "--at needs every record, and --on-gap snapshot passes over some: leave "
        "one of them out");
  }
  catch_stop_signals();
  FollowResult result = follow_bus();
  const bool has_begun = books_.sequence() != kNoSequence;
  if (errc_of(result.status) == Errc::kNoJournal && !has_begun && use_ring_alone()) {
    result = follow_bus();
  } else if (snapshot_is_too_new_ && options_.free_start) {
    books_.clear();
    options_.follow.from = "oldest";
    result = follow_bus();
  }
  result.status = finish(result);
  if (options_.follow.summary) print_summary(result);
  if (!result.status.ok()) fail(result.status);
  return result.exit_code(options_.follow.until_closed && options_.at.empty());
}

}  // namespace

void add_book(CLI::App& app, Run& run) {
  auto options = std::make_shared<BookOptions>();
  options->follow.from = "snapshot";
  CLI::App& command = add_command(app, "book", kBookAbout);
  add_bus_option(command, options->follow.bus);
  command
      .add_option(
          "--from", options->follow.from,
          "where to begin: snapshot (the newest checkpoint; without one, oldest), or oldest "
          "(the first retained record)")
      ->capture_default_str()
      ->check(CLI::IsMember({"snapshot", "oldest"}))
      ->transform(renamed("start", "oldest"));
  add_instrument_option(command, options->instrument);
  add_journal_option(command, options->follow);
  command.add_option("--depth", options->depth, "levels of each side; 0: all")
      ->check(whole_number(0))
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command
      .add_option("--at", options->at,
                  "show the books right after these records, then end: a number or a list, 100,200")
      ->delimiter(',')
      ->check(whole_number(1))
      ->type_name("SEQUENCE,…");
  CLI::Option* const format = add_format_option(command, options->format);
  command.add_flag("--json", options->json, "the same as --format json")->excludes(format);
  command.add_flag("--follow", options->live, "continue as records arrive");
  add_policy_options(command, options->follow, /*keeps_state=*/true);
  add_end_options(command, options->follow);
  command.callback([options, &run, &command] {
    if (options->json) options->format = "json";
    options->free_start = command.count("--from") == 0;
    options->free_policy = command.count("--on-gap") == 0;
    options->follow.one_journal = !options->at.empty();
    // A checkpoint belongs to the newest journal.
    if (options->free_start && !options->follow.journal_id.empty()) options->follow.from = "oldest";
    std::ranges::sort(options->at);
    options->at.erase(std::ranges::unique(options->at).begin(), options->at.end());
    run = [options] { return Book(*options).run(); };
  });
}

}  // namespace lapwing::cli

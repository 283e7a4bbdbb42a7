// For tests: a bus in which the test controls every step. It has a real ring, a real control server
// and real journal files (JournalFixture), but no thread and no clock of its own. Records are
// archived, flushes answered and sessions ended only when the test requests it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/control/server.h"
#include "lapwing/subscriber.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "snapshot/bus_directory.h"
#include "testing/came.h"
#include "testing/journal_fixture.h"
#include "testing/open_descriptors.h"
#include "testing/quiet_publisher.h"
#include "testing/ring_spec.h"

namespace lapwing {

enum class FlushManner { kAnswer, kIgnore };

class TestBus : public QuietPublisher {
 public:
  static constexpr std::uint64_t kCapacity = 1024;  // the minimum for 56-byte records

  // `reservation`: number of sequences that each session reserves, a multiple of a block.
  explicit TestBus(bool with_journal = true, Sequence reservation = 1 << 20)
      : with_journal_(with_journal), reservation_(reservation) {}

  const std::string& directory() const { return directory_.path(); }
  SubscriberOptions options(Start start = Start::oldest()) const {
    SubscriberOptions options;
    options.directory = directory();
    options.name = "test";
    options.start = start;
    if (!with_journal_) options.on_gap = OnGap::kSkip;
    return options;
  }

  // Applies to the next sessions. Adding a journal starts a new one.
  void set_journal(bool with_journal) {
    with_journal_ = with_journal;
    if (with_journal) begin_journal();
  }
  // Begins the next session: its entries, its ring and bus.json. The socket does not answer yet. A
  // failed journal is not continued; a new one begins.
  void begin_session() {
    ++session_;
    if (std::exchange(journal_failed_, false)) begin_journal();
    const Sequence first = with_journal_ ? next_ : 1;
    next_ = first;
    archived_ = durable_ = first - 1;
    if (with_journal_) {
      journal.begin(session_, first, 0, 0, schema);
      journal.reserve(session_, reserved_ += reservation_);
    }
    RingSpec spec = test_spec(directory(), 56, capacity);
    spec.session_id = fixture_id(session_);
    spec.journal_id = with_journal_ ? journal.current_journal_id() : fixture_id(100 + session_);
    spec.boot_id = boot_id().value();
    spec.has_journal = with_journal_;
    spec.owner = directory_identity(with_journal_ ? journal.root() : directory()).value();
    spec.schema = schema;
    spec.session_first = spec.ring_first = first;
    ring = std::make_unique<RingFile>(make_ring(spec));
    store_oldest(ring->words(), oldest);
    beat();
    describe(description(false));
  }
  void open_socket() {
    auto started = ControlServer::start({directory_ / kControlSocketName, std::nullopt}, *this);
    REQUIRE(started.ok());
    server = *std::move(started);
  }
  void start() {
    begin_session();
    open_socket();
  }

  // Publishes `count` records. First archives as much as the gate requires.
  void publish(std::uint64_t count) {
    for (; count > 0; --count) {
      store_next();
      store_head(ring->words(), next_ - 1);
    }
  }
  // The same, but as if killed before head could move.
  void publish_without_head(std::uint64_t count) {
    for (; count > 0; --count) store_next();
  }
  // Writes to the journal and syncs.
  void archive(Sequence through) {
    archive_unsynced(through);
    journal.write_sums(durable_ + 1, through);
    durable_ = through;
    store_durable(ring->words(), through);
  }
  void archive_unsynced(Sequence through) {
    journal.write_slots(archived_ + 1, through);
    archived_ = through;
    store_archived(ring->words(), through);
  }
  // In a mirror: the origin does not have the next `count` sequences. They end with a block.
  void pass_absent(std::uint64_t count, GapCause cause) {
    if (durable_ < head()) archive(head());
    journal.write_absent(next_, next_ + count - 1, cause);
    next_ += count;
    archived_ = durable_ = next_ - 1;
    store_head(ring->words(), durable_);
    store_archived(ring->words(), durable_);
    store_durable(ring->words(), durable_);
  }
  // Live publishing continues. The session's end is recorded immediately, as of `durable`.
  void fail_journal(JournalCondition condition = {JournalState::kFailed, 5}) {
    journal_failed_ = true;
    journal.end(session_, durable_, SessionEnd::kFailed);
    store_journal_condition(ring->words(), condition);
  }
  // Simulates retention: removes all segments below this one.
  void prune_below_segment(std::uint64_t segment, bool ring_says_so = true) {
    oldest = journal.geometry().segment_first(segment);
    if (ring_says_so) store_oldest(ring->words(), oldest);
    journal.retain_from_segment(segment);
  }

  // One turn of the service thread: handles all client requests.
  void turn() {
    beat();
    if (server == nullptr || !beating) return;
    server->turn(monotonic_ns());
    if (flush == FlushManner::kIgnore || !server->flushes_waiting()) return;
    if (!journal_failed_ && durable_ < head()) archive(head());
    server->answer_flushes(durable_, load_journal_condition(ring->words()));
    server->turn(monotonic_ns());
  }
  void beat() {
    if (ring != nullptr && beating) store_heartbeat(ring->words(), monotonic_ns());
  }

  // The process ends; its files remain.
  void kill() {
    server->close();
    server.reset();
  }
  // The first step of the next publisher if the ring file exists.
  void recover() {
    if (durable_ < next_ - 1) archive(next_ - 1);
    journal.end(session_, next_ - 1, SessionEnd::kRecovered);
    REQUIRE(ring->unlink().ok());
  }
  // Its first step if not: records that were not durable are lost.
  void cut(Sequence durable) {
    journal.end(session_, durable, SessionEnd::kCut, reserved_);
    next_ = reserved_ + 1;
    REQUIRE(ring->unlink().ok());
  }
  // Simulates restoring an older copy of the journal, in which the session ends with this record …
  void put_back(Sequence last) {
    journal.end(session_, last, SessionEnd::kRecovered);
    next_ = last + 1;
    REQUIRE(ring->unlink().ok());
  }
  // … or one from before the first session.
  void forget_history() {
    for (const char* suffix : {"", kCopySuffix}) {
      std::filesystem::remove(absl::StrCat(journal.root(), "/", kSessionsFileName, suffix));
    }
    journal.remove_segments();
    next_ = 1;
    reserved_ = 0;
  }
  void close_journal() {
    if (durable_ < head()) archive(head());
    journal.end(session_, next_ - 1, SessionEnd::kClosed);
  }
  void close() {
    if (with_journal_ && !journal_failed_) close_journal();
    store_ring_state(ring->words(), RingState::kClosed);
    if (server != nullptr) kill();
    describe(description(true));
    REQUIRE(ring->unlink().ok());
  }

  // bus.json as written by the publisher.
  BusDescription description(bool closed) const {
    BusDescription bus;
    bus.name = "test";
    bus.schema = schema.name;
    bus.description = described_as;
    bus.ring_path = ring->path();
    bus.journal_root = with_journal_ ? journal.root() : "";
    bus.journal_id = ring->header().journal_id;
    bus.session_id = ring->header().session_id;
    bus.record_bytes = 56;
    bus.slot_bytes = 64;
    bus.capacity = capacity;
    bus.closed = closed;
    return bus;
  }
  void describe(const BusDescription& bus) {
    REQUIRE(write_bus_description(directory(), bus, std::nullopt).ok());
  }

  Sequence head() const { return load_head(ring->words()); }
  Sequence next() const { return next_; }
  Sequence archived() const { return archived_; }
  Sequence durable() const { return durable_; }
  Sequence reserved() const { return reserved_; }

  JournalFixture journal;
  std::unique_ptr<RingFile> ring;
  std::unique_ptr<ControlServer> server;
  FlushManner flush = FlushManner::kAnswer;
  bool beating = true;
  Sequence oldest = 1;
  // Applies to the next session. Its records stay the same.
  std::uint64_t capacity = kCapacity;
  SchemaLabel schema = "bytes";
  std::string described_as;  // Schema::text()

 private:
  void begin_journal() {
    journal.begin_journal(fixture_id(static_cast<std::uint8_t>(200 + session_)));
    next_ = 1;
    reserved_ = 0;
    oldest = 1;
  }
  Sequence gate() const { return journal.geometry().floor_block(archived_) + capacity; }
  void store_next() {
    if (with_journal_ && !journal_failed_ && next_ > gate()) archive(next_ - 1);
    store_record(writer_of(*ring), next_, journal.record(next_).data());
    ++next_;
  }

  WelcomeFrame welcome() override {
    const RingHeader& header = ring->header();
    WelcomeFrame frame = make_frame<WelcomeFrame>(FrameType::kWelcome);
    frame.session_id = header.session_id;
    frame.journal_id = header.journal_id;
    frame.session_first_sequence = header.session_first_sequence;
    frame.durable = durable_;
    frame.head = head();
    frame.capacity = header.capacity;
    frame.slot_bytes = header.slot_bytes;
    frame.record_bytes = header.record_bytes;
    frame.has_journal = with_journal_ ? 1 : 0;
    const JournalCondition condition = load_journal_condition(ring->words());
    frame.journal_state = static_cast<std::uint32_t>(condition.state);
    frame.journal_errno = condition.sys_errno;
    set_schema(frame, schema);
    set_text(frame.bus_name, "test");
    set_text(frame.ring_path, ring->path());
    set_text(frame.journal_path, with_journal_ ? journal.root() : "");
    return frame;
  }

  bool with_journal_;
  const Sequence reservation_;
  TestDirectory directory_;
  std::uint8_t session_ = 0;
  Sequence next_ = 1;
  Sequence archived_ = 0;
  Sequence durable_ = 0;
  Sequence reserved_ = 0;
  bool journal_failed_ = false;
};

inline Subscriber open_subscriber(SubscriberOptions options) {
  absl::StatusOr<Subscriber> opened = Subscriber::open(std::move(options));
  REQUIRE(opened.ok());
  return *std::move(opened);
}

// Takes as many records as are available and fit, packed. Stops before an event, which stays due.
inline std::size_t take_records(Subscriber& subscriber, std::span<std::byte> out,
                                std::size_t record_bytes = 56) {
  std::size_t count = 0;
  while ((count + 1) * record_bytes <= out.size()) {
    const auto room = out.subspan(count * record_bytes, record_bytes);
    if (!subscriber.read_one(room, Deadline::now()).ok()) break;
    ++count;
  }
  return count;
}

// A subscriber and a trace of its results as lines: "1..50" for records, "state x 3" for entries of
// a state, and one line for each event except the first session. Every record is compared with the
// published one.
class Trace {
 public:
  Trace(TestBus& bus, SubscriberOptions options)
      : subscriber(open_subscriber(std::move(options))), bus_(&bus) {}

  // Polls until `wanted` has been delivered. Returns false after a long time, or at the end.
  bool until(Came wanted) {
    return until_true([wanted](const Result<Item>& item) { return came(item) == wanted; });
  }
  bool until_record(Sequence n) {
    return until_true([n](const Result<Item>& item) {
      return item->kind == ItemKind::kRecord && item->sequence >= n;
    });
  }
  // Polls until the bus has a subscriber, or one with a waiting flush request.
  bool until_attached() {
    return until_true(
        [this](const Result<Item>&) { return bus_->server->subscriber_count() == 1; });
  }
  bool until_flush_waits() {
    return until_true([this](const Result<Item>&) { return bus_->server->flushes_waiting(); });
  }
  // Polls until many polls in a row delivered nothing, so that all upkeep has run, or until the
  // end.
  void until_quiet() {
    const std::uint64_t deadline_ns = far_deadline();
    for (int quiet = 0; quiet < 1000;) {
      const Result<Item> item = step();
      if (came(item) == Came::kEnd) return;
      quiet = item.ok() ? 0 : quiet + 1;
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }
  Result<Item> step() {
    bus_->turn();
    const Result<Item> item = subscriber.next(Deadline::now());
    if (item.ok()) {
      write_down(*item);
    } else if (came(item) == Came::kEnd) {
      write_down_end();
    }
    return item;
  }

  // True if the last event's text contains `words`.
  bool says(const std::string& words) const {
    UNSCOPED_INFO(text);
    return text.find(words) != std::string::npos;
  }

  std::vector<std::string> lines;
  Subscriber subscriber;
  std::string text;         // of the last event
  std::string schema_note;  // of the last session

 private:
  // Only ends a hang.
  static std::uint64_t far_deadline() { return monotonic_ns() + 60'000'000'000; }

  template <typename Predicate>
  bool until_true(Predicate wanted) {
    const std::uint64_t deadline_ns = far_deadline();
    while (monotonic_ns() < deadline_ns) {
      const Result<Item> item = step();
      if (wanted(item)) return true;
      if (came(item) == Came::kEnd) return false;
    }
    return false;
  }

  void write_down(const Item& item) {
    if (item.event != nullptr) text = item.event->text;
    if (item.is(EventKind::kSession)) schema_note = item.event->schema_note;
    if (item.event != nullptr && item.event->is_first_session) return;
    if (item.kind == ItemKind::kRecord) {
      const std::vector<std::byte> expected = bus_->journal.record(item.sequence);
      REQUIRE(std::equal(item.record.begin(), item.record.end(), expected.begin(), expected.end()));
      if (item.sequence == run_last_ + 1 && run_last_ != 0) {
        lines.back() = absl::StrCat(run_first_, "..", run_last_ = item.sequence);
        return;
      }
      run_first_ = run_last_ = item.sequence;
      lines.push_back(absl::StrCat(run_first_, "..", run_last_));
      return;
    }
    run_last_ = 0;
    if (item.kind != ItemKind::kState) entries_ = 0;
    if (item.kind == ItemKind::kState) {
      if (++entries_ > 1) lines.pop_back();
      lines.push_back(absl::StrCat("state x ", entries_));
      return;
    }
    std::string line = name_of(item.event->kind);
    if (item.is(EventKind::kGap) || item.is(EventKind::kLost)) {
      const Gap& gap = item.event->gap;
      absl::StrAppend(&line, " ", gap.first, "..", gap.last, " ", name_of(gap.cause),
                      gap.fillable ? " fillable" : "");
    } else {
      absl::StrAppend(&line, " ", item.sequence);
    }
    lines.push_back(std::move(line));
  }

  void write_down_end() {
    run_last_ = 0;
    text = std::string(subscriber.status().message());
    lines.push_back(absl::StrCat("ended ", subscriber.position().sequence));
  }

  TestBus* bus_;
  Sequence run_first_ = 0;
  Sequence run_last_ = 0;
  std::uint64_t entries_ = 0;  // of the state being delivered
};

// A bus with the given number of records, and a subscriber that has delivered all of them, starting
// from the oldest.
struct CaughtUp {
  explicit CaughtUp(std::uint64_t published, bool with_journal = true)
      : bus(with_journal), trace(bus, bus.options()) {
    bus.start();
    bus.publish(published);
    REQUIRE(trace.until(EventKind::kCaughtUp));
  }
  TestBus bus;
  Trace trace;
};

using Lines = std::vector<std::string>;

}  // namespace lapwing

#include <poll.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr std::size_t kRowBytesMax = 4096;
constexpr std::int64_t kNsPerMs = 1'000'000;

Handles<lapwing_cursor>& cursors() {
  static auto* const all = new Handles<lapwing_cursor>;
  return *all;
}

void keep_position(const Step& step, const lapwing_position& position) {
  positions().put(step.text("as"), new lapwing_position(position));
}

Lines open(const Step& step) {
  auto options = sized<lapwing_subscriber_options>();
  options.directory = step.text_or_null("directory");
  options.start = step.choice("start", {"live", "oldest", "sequence", "time", "snapshot", "after"},
                              LAPWING_START_LIVE, LAPWING_START_LIVE);
  options.start_value = step.number("value");
  if (const auto* position = positions().at(step.text("position"))) {
    options.start_position = *position;
  }
  options.fold = step.text_or_null("fold");
  options.expect = step.text_or_null("expect");
  const std::vector<std::string> names = step.list("instruments");
  std::vector<const char*> instruments;
  for (const std::string& name : names) instruments.push_back(name.c_str());
  options.instruments = instruments.empty() ? nullptr : instruments.data();
  options.instrument_count = instruments.size();
  options.on_gap =
      step.choice("on_gap", {"fill", "skip", "stop"}, LAPWING_ON_GAP_FILL, LAPWING_ON_GAP_FILL);
  options.wait =
      step.choice("wait", {"busy", "backoff", "park"}, LAPWING_WAIT_BUSY, LAPWING_WAIT_BACKOFF);
  if (step.number("end_at_close") != 0) options.flags |= LAPWING_SUBSCRIBER_END_AT_CLOSE;
  step.set_ns("reattach_ms", options.reattach_ns);
  step.set_ns("stale_after_ms", options.stale_after_ns);
  options.behind_records = static_cast<std::uint32_t>(step.number("behind_records"));
  if (step.has("conflate_ms")) options.flags |= LAPWING_SUBSCRIBER_CONFLATE;
  step.set_ns("conflate_ms", options.conflate_interval_ns);
  lapwing_subscriber* opened = nullptr;
  const lapwing_result result = lapwing_subscriber_open(&options, &opened, nullptr);
  if (result == LAPWING_OK) subscribers().put(step.text("as"), opened);
  return line(result);
}

std::size_t row_bytes_of(lapwing_subscriber* subscriber) {
  auto info = sized<lapwing_subscriber_info>();
  (void)!lapwing_subscriber_inspect(subscriber, &info, nullptr);
  return info.record_bytes == 0 ? kRowBytesMax : info.record_bytes;
}

Lines read(const Step& step) {
  lapwing_subscriber* const subscriber = subscribers().of(step);
  const std::size_t rows = step.number("rows");
  ReadBatch into(rows, step.number("bytes", rows * row_bytes_of(subscriber)));
  const lapwing_result result =
      lapwing_subscriber_read(subscriber, &into.batch, step.timeout_ns(), nullptr);
  if (result == LAPWING_ERROR_TOO_SMALL) {
    return {absl::StrCat(name_of_result(result), " row_bytes=", into.batch.row_bytes)};
  }
  if (result != LAPWING_OK) return line(result);
  return {into.batch.kind == LAPWING_BATCH_EVENT ? event_line(into.batch.event)
                                                 : rows_line(into.batch)};
}

// The rows between two events, regardless of how they are batched.
class Run {
 public:
  void add(const lapwing_batch& batch) {
    if (count_ == 0) first_ = batch.first;
    kind_ = batch.kind;
    is_sparse_ = (batch.flags & LAPWING_BATCH_SPARSE) != 0;
    row_bytes_ = batch.row_bytes;
    count_ += batch.count;
    last_ = batch.sequences[batch.count - 1];
    digest_.add({static_cast<const std::byte*>(batch.rows), batch.count * batch.row_bytes});
    conflated_ = std::accumulate(batch.conflated, batch.conflated + batch.count, conflated_);
  }
  void end(Lines& lines) {
    if (count_ > 0) lines.push_back(text());
    *this = Run();
  }

 private:
  std::string text() const {
    const std::string tail =
        absl::StrCat("count=", count_, " row_bytes=", row_bytes_, " digest=", digest_.text());
    if (kind_ == LAPWING_BATCH_STATE) return absl::StrCat("ok state ", tail);
    return absl::StrCat("ok records first=", first_, " last=", last_, " ", tail,
                        is_sparse_ ? absl::StrCat(" conflated=", conflated_) : "");
  }

  std::uint32_t kind_ = LAPWING_BATCH_NOTHING;
  bool is_sparse_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::size_t count_ = 0;
  std::uint32_t row_bytes_ = 0;
  std::uint64_t conflated_ = 0;
  Digest digest_;
};

Lines read_all(const Step& step) {
  constexpr std::size_t kRows = 64;
  Lines lines;
  Run run;
  ReadBatch into(kRows, kRows * kRowBytesMax);
  for (;;) {
    const lapwing_result result =
        lapwing_subscriber_read(subscribers().of(step), &into.batch, step.timeout_ns(), nullptr);
    if (result != LAPWING_OK) {
      run.end(lines);
      lines.push_back(name_of_result(result));
      return lines;
    }
    if (into.batch.kind != LAPWING_BATCH_EVENT) {
      run.add(into.batch);
      continue;
    }
    run.end(lines);
    lines.push_back(event_line(into.batch.event));
    if (step.text("until") != event_name(into.batch.event.kind)) continue;
    lines.push_back(name_of_result(LAPWING_OK));
    return lines;
  }
}

Lines take(const Step& step) {
  lapwing_subscriber* const subscriber = subscribers().of(step);
  std::vector<std::byte> record(step.number("bytes", row_bytes_of(subscriber)));
  std::uint64_t sequence = 0;
  const lapwing_result result = lapwing_subscriber_read_one(
      subscriber, record.data(), record.size(), step.timeout_ns(), &sequence, nullptr);
  return line(result, absl::StrCat("sequence=", sequence, " digest=", digest_of(record)));
}

Lines inspect(const Step& step) {
  auto info = sized<lapwing_subscriber_info>();
  const lapwing_result result = lapwing_subscriber_inspect(subscribers().of(step), &info, nullptr);
  return line(result, absl::StrCat("record_bytes=", info.record_bytes, " schema=", info.schema_name,
                                   " records=", info.records, " first=", info.first,
                                   " last=", info.last, " gaps=", info.gaps, " lost=", info.lost,
                                   " filled=", info.filled, " sessions=", info.sessions,
                                   " filtered=", info.filtered, " conflated=", info.conflated));
}

Lines position(const Step& step) {
  lapwing_position found{};
  const lapwing_result result =
      lapwing_subscriber_position(subscribers().of(step), step.number("sequence"), &found, nullptr);
  if (result == LAPWING_OK) keep_position(step, found);
  return line(result, absl::StrCat("sequence=", found.sequence));
}

Lines descriptor(const Step& step) {
  std::int32_t fd = -1;
  const lapwing_result result = lapwing_subscriber_fd(subscribers().of(step), &fd, nullptr);
  if (result != LAPWING_OK) return line(result);
  pollfd polled{fd, POLLIN, 0};
  const int ready = poll(&polled, 1, static_cast<int>(step.timeout_ns() / kNsPerMs));
  return line(result, absl::StrCat("readable=", ready > 0 ? 1 : 0));
}

Lines open_cursor(const Step& step) {
  lapwing_cursor* opened = nullptr;
  const lapwing_result result = lapwing_cursor_open(
      step.text_or_null("path"), step.number("durable") != 0 ? LAPWING_CURSOR_DURABLE : 0,
      step.timeout_ns(), &opened, nullptr);
  if (result == LAPWING_OK) cursors().put(step.text("as"), opened);
  return line(result);
}

Lines cursor_position(const Step& step) {
  lapwing_position found{};
  std::uint64_t bytes = 0;
  std::uint64_t file = 0;
  const lapwing_result result =
      lapwing_cursor_position(cursors().of(step), &found, &bytes, &file, nullptr);
  if (result == LAPWING_OK) keep_position(step, found);
  return line(result, absl::StrCat("sequence=", found.sequence, " bytes=", bytes, " file=", file));
}

Lines commit(const Step& step) {
  return line(lapwing_cursor_commit(cursors().of(step), positions().at(step.text("position")),
                                    step.number("bytes"), step.number("file"), nullptr));
}

}  // namespace

Handles<lapwing_subscriber>& subscribers() {
  static auto* const all = new Handles<lapwing_subscriber>;
  return *all;
}

Handles<const lapwing_position>& positions() {
  static auto* const all = new Handles<const lapwing_position>;
  return *all;
}

ReadBatch::ReadBatch(std::size_t rows_max, std::size_t bytes)
    : batch(sized<lapwing_batch>()), rows(bytes), sequences(rows_max), conflated(rows_max) {
  batch.rows = rows.data();
  batch.rows_bytes = rows.size();
  batch.sequences = sequences.data();
  batch.conflated = conflated.data();
  batch.rows_max = rows_max;
}

std::string rows_line(const lapwing_batch& batch) {
  Run run;
  run.add(batch);
  Lines lines;
  run.end(lines);
  return lines.front();
}

const char* event_name(std::uint32_t kind) {
  switch (kind) {
    case LAPWING_EVENT_GAP:
      return "gap";
    case LAPWING_EVENT_LOST:
      return "lost";
    case LAPWING_EVENT_SESSION:
      return "session";
    case LAPWING_EVENT_RESET:
      return "reset";
    case LAPWING_EVENT_CAUGHT_UP:
      return "caught-up";
    case LAPWING_EVENT_STALE:
      return "stale";
    case LAPWING_EVENT_PUBLISHER_GONE:
      return "publisher-gone";
    case LAPWING_EVENT_CLOSED:
      return "closed";
    case LAPWING_EVENT_SNAPSHOT_COMPLETE:
      return "snapshot-complete";
    case LAPWING_EVENT_NO_SNAPSHOT:
      return "no-snapshot";
    case LAPWING_EVENT_BEHIND:
      return "behind";
    case LAPWING_EVENT_LIVE:
      return "live";
    default:
      return "unknown";
  }
}

std::string event_line(const lapwing_event& event) {
  constexpr const char* kCauses[] = {"none", "lapped", "session", "void", "pruned", "damaged"};
  std::string text =
      absl::StrCat("ok event kind=", event_name(event.kind), " sequence=", event.sequence);
  if (event.kind == LAPWING_EVENT_GAP || event.kind == LAPWING_EVENT_LOST) {
    absl::StrAppend(&text, " first=", event.first, " last=", event.last,
                    " cause=", kCauses[event.cause], " fillable=", event.fillable);
  }
  if (event.kind == LAPWING_EVENT_SESSION || event.kind == LAPWING_EVENT_RESET) {
    absl::StrAppend(&text, " record_bytes=", event.record_bytes, " schema=", event.schema_name);
  }
  if (event.kind == LAPWING_EVENT_SNAPSHOT_COMPLETE) {
    absl::StrAppend(&text, " entries=", event.state_entries);
  }
  return text;
}

Operations subscriber_operations() {
  return {
      {"subscriber.open", open},
      {"subscriber.read", read},
      {"subscriber.read-all", read_all},
      {"subscriber.take", take},
      {"subscriber.inspect", inspect},
      {"subscriber.position", position},
      {"subscriber.fd", descriptor},
      {"subscriber.interrupt",
       [](const Step& step) {
         return interrupt(subscribers(), step, lapwing_subscriber_interrupt);
       }},
      {"subscriber.destroy",
       [](const Step& step) { return destroy(subscribers(), step, lapwing_subscriber_destroy); }},
      {"cursor.open", open_cursor},
      {"cursor.position", cursor_position},
      {"cursor.commit", commit},
      {"cursor.destroy",
       [](const Step& step) { return destroy(cursors(), step, lapwing_cursor_destroy); }},
  };
}

}  // namespace lapwing::conformance

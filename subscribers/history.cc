#include "lapwing/history.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "snapshot/bus_directory.h"
#include "subscribers/attachment.h"

namespace lapwing {
namespace {

absl::StatusOr<Attachment> attach(const std::string& directory) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (!bus.ok()) return bus.status();
  if (bus->journal_root.empty()) {
    return make_error(Errc::kNoJournal, absl::StrCat("the bus in ", directory,
                                                     " keeps no journal: there is no history"));
  }
  return Attachment::to_remains(directory, *bus);
}

// Attaches to the journal with this id: the journal of `newest`, or a discarded one.
absl::StatusOr<Attachment> attach_to(Attachment newest, const Id128& journal_id) {
  if (newest.journal_id() == journal_id) return newest;
  for (const ListedJournal& journal : newest.journals()) {
    if (journal.id() == journal_id) return Attachment::to_discarded(newest, journal);
  }
  return make_error(Errc::kNotFound, absl::StrCat("the bus has no journal ", journal_id.hex(),
                                                  ". `lapwing info --json` lists its journals"));
}

HistoryInfo info_of(const Attachment& attachment) {
  const JournalBounds bounds = attachment.bounds();
  return {.schema_name = attachment.schema(),
          .schema = attachment.records().description,
          .record_bytes = attachment.record_bytes(),
          .journal_id = attachment.journal_id(),
          .oldest = bounds.oldest,
          .archived = bounds.archived,
          .durable = bounds.durable,
          .is_discarded = attachment.is_discarded()};
}

}  // namespace

struct History::State {
  absl::Status open();
  absl::Status go_on();

  std::string directory;
  std::optional<Id128> journal_id;  // set by open()
  std::optional<Attachment> attachment;
  absl::Status status;
  ForkWatch fork{"history"};
};

absl::Status History::State::open() {
  absl::StatusOr<Attachment> newest = attach(directory);
  if (!newest.ok()) return newest.status();
  const Id128 wanted = journal_id.value_or(newest->journal_id());
  absl::StatusOr<Attachment> attached = attach_to(*std::move(newest), wanted);
  if (!attached.ok()) return attached.status();
  attachment.emplace(*std::move(attached));
  journal_id = wanted;
  return absl::OkStatus();
}

// Called when all records have been read. Attaches again if another session may have followed, or
// if the end of a dead session may have been settled in the meantime.
absl::Status History::State::go_on() {
  if (attachment->is_discarded()) return absl::OkStatus();
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (!bus.ok()) return bus.status();
  const bool same = bus->session_id == attachment->session_id() && !bus->closed;
  if (same && attachment->map() != nullptr && !attachment->ring_closed()) return absl::OkStatus();
  return open();
}

absl::StatusOr<History> History::open(StateHandle state) {
  if (absl::Status opened = state->open(); !opened.ok()) return opened;
  return History(std::move(state));
}

absl::StatusOr<History> History::open(const std::string& directory) {
  StateHandle state(new State);
  state->directory = directory;
  return open(std::move(state));
}

absl::StatusOr<History> History::open(const std::string& directory, const Id128& journal_id) {
  StateHandle state(new State);
  state->directory = directory;
  state->journal_id = journal_id;
  return open(std::move(state));
}

absl::StatusOr<std::vector<HistoryInfo>> History::journals(const std::string& directory) {
  const absl::StatusOr<Attachment> newest = attach(directory);
  if (!newest.ok()) return newest.status();
  std::vector<HistoryInfo> infos;
  for (const ListedJournal& journal : newest->journals()) {
    if (journal.id() == newest->journal_id()) {
      infos.push_back(info_of(*newest));
      continue;
    }
    const absl::StatusOr<Attachment> discarded = Attachment::to_discarded(*newest, journal);
    if (!discarded.ok()) return discarded.status();
    infos.push_back(info_of(*discarded));
  }
  return infos;
}

History::History(StateHandle state) : state_(std::move(state)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;
void History::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}

HistoryInfo History::info() const {
  if (state_->fork.in_child()) return {};
  return info_of(*state_->attachment);
}

Result<Batch> History::read(Sequence first, std::span<std::byte> rows) {
  State& state = *state_;
  if (state.fork.in_child()) return Errc::kForked;
  const auto failed = [&state](absl::Status why) -> Result<Batch> {
    state.status = std::move(why);
    return errc_of(state.status);
  };
  if (first == kNoSequence || first > kSequenceMax) {
    return failed(make_error(Errc::kInvalidArgument,
                             absl::StrCat(first, " is not a sequence: the first record is 1")));
  }
  const std::uint32_t record_bytes = state.attachment->record_bytes();
  if (rows.size() < record_bytes) return {Errc::kTooSmall, {.row_bytes = record_bytes}};
  if (first > state.attachment->bounds().archived) {
    if (absl::Status went_on = state.go_on(); !went_on.ok()) return failed(std::move(went_on));
  }
  const JournalBounds bounds = state.attachment->bounds();
  if (first > bounds.archived) return Errc::kWouldBlock;
  const absl::StatusOr<JournalRun> run = state.attachment->journal()->read(first, bounds, rows);
  if (!run.ok()) return failed(run.status());
  if (run->count > 0) {
    return Batch{
        .kind = ItemKind::kRecord, .first = first, .count = run->count, .row_bytes = record_bytes};
  }
  if (!run->gap) return Errc::kWouldBlock;
  Batch batch{.kind = ItemKind::kEvent};
  batch.event = std::make_shared<const Event>(
      Event{.kind = EventKind::kLost,
            .sequence = first,
            .gap = {first, run->gap_last, run->gap_last + 1, run->cause, false},
            .record_bytes = record_bytes,
            .schema_name = state.attachment->schema(),
            .schema = state.attachment->records().description,
            .journal_id = state.attachment->journal_id(),
            .text = run->detail});
  return batch;
}

absl::StatusOr<MappedSegment> History::map(Sequence n) {
  State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  if (n > state.attachment->bounds().durable) {
    if (absl::Status went_on = state.go_on(); !went_on.ok()) return went_on;
  }
  absl::StatusOr<MappedRun> run = state.attachment->journal()->map(n, state.attachment->bounds());
  if (!run.ok()) return run.status();
  const JournalGeometry& geometry = state.attachment->journal()->geometry();
  return MappedSegment{.first = run->first,
                       .count = run->count,
                       .record_bytes = geometry.record_bytes,
                       .stride = geometry.slot_bytes,
                       .records = run->mapping.slots.data() + kStampBytes,
                       .mapping = std::make_shared<Pages>(std::move(run->mapping.pages))};
}

absl::StatusOr<Sequence> History::find_time(std::uint64_t utc_ns) {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->attachment->journal()->find_time(utc_ns, state_->attachment->bounds());
}

const absl::Status& History::status() const {
  return state_->fork.in_child() ? state_->fork.error() : state_->status;
}

}  // namespace lapwing

#include "subscribers/attachment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "snapshot/schema/kept_schemas.h"
#include "subscribers/described_ring.h"

namespace lapwing {

absl::StatusOr<Attachment> Attachment::to_publisher(ControlClient control,
                                                    const std::string& bus_directory) {
  Attachment attachment;
  const WelcomeFrame welcome = control.welcome();
  attachment.control_ = std::move(control);
  attachment.has_publisher_ = true;
  const std::string ring_path = get_text(welcome.ring_path);
  absl::StatusOr<RingMap> map =
      is_ring_path(ring_path, welcome.session_id)
          ? RingMap::attach(ring_path)
          : make_error(Errc::kNotFound, absl::StrCat(ring_path, " is not the path of a ring"));
  if (!map.ok()) return map.status();
  if (map->header().session_id != welcome.session_id) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(map->path(), " is the ring of another session"));
  }
  attachment.map_ = std::make_shared<const RingMap>(*std::move(map));
  attachment.ring_.emplace(*attachment.map_);
  const RingHeader& header = attachment.map_->header();
  attachment.session_id_ = header.session_id;
  attachment.journal_id_ = header.journal_id;
  attachment.records_.record_bytes = header.record_bytes;
  if (header.has_journal != 0) {
    absl::Status opened = attachment.open_journal(get_text(welcome.journal_path));
    if (!opened.ok()) return opened;
  }
  const SchemaLabel label = get_schema(header);
  if (welcome.schema_hash != 0 && welcome.schema_hash != label.hash) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(attachment.map_->path(),
                                   " is a ring of other records than those of its publisher"));
  }
  const absl::StatusOr<BusDescription> bus = read_bus_description(bus_directory);
  absl::StatusOr<Schema> description =
      attachment.find_description(label.hash, bus.ok() ? bus->description : "");
  // The publisher wrote bus.json before it listened. If the file is missing or belongs to another
  // session, the answering session is about to end, or its directory is being moved.
  const bool is_moving = label.hash != 0 && (!bus.ok() || bus->session_id != header.session_id);
  if (errc_of(description.status()) == Errc::kDamaged && is_moving) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(description.status().message(), "; ", kBusFileName,
                                   " is not of the session of the publisher that answered"));
  }
  attachment.records_ = identify_records(label.name, header.record_bytes, std::move(description));
  attachment.records_.is_restamped =
      bus.ok() && bus->session_id == header.session_id && bus->restamped;
  return attachment;
}

// Reads the description from bus.json, or else from the journal. Errors: kNotFound (the bus has no
// description), kDamaged, kUnsupported.
absl::StatusOr<Schema> Attachment::find_description(std::uint64_t hash,
                                                    const std::string& bus_text) {
  if (hash == 0) return make_error(Errc::kNotFound, "the records are not described");
  absl::StatusOr<Schema> found = parse_with_hash(bus_text, hash, kBusFileName);
  if (found.ok() || errc_of(found.status()) == Errc::kUnsupported) return found;
  std::string why =
      absl::StrCat("the description of the records cannot be read: ", found.status().message());
  if (journal_ != nullptr) {
    absl::StatusOr<Schema> kept = read_kept_schema(*disk_, journal_root_, hash);
    if (kept.ok() || errc_of(kept.status()) == Errc::kUnsupported) return kept;
    absl::StrAppend(&why, "; ", kept.status().message());
  }
  return make_error(Errc::kDamaged, why);
}

absl::StatusOr<Attachment> Attachment::without_place(const std::string& bus_directory,
                                                     const BusDescription& bus, std::string why) {
  absl::StatusOr<Attachment> attachment = described(bus_directory, bus, /*needs_ring=*/true);
  if (!attachment.ok()) return attachment;
  if (!attachment->ring_ || attachment->ring_closed()) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(bus.ring_path, " no longer exists, or its session is closing"));
  }
  attachment->has_publisher_ = true;
  attachment->why_no_place_ = std::move(why);
  return attachment;
}

// Attaches to the session that bus.json describes. `needs_ring`: map the ring even if the journal
// has all records. The ring may still be missing.
absl::StatusOr<Attachment> Attachment::described(const std::string& bus_directory,
                                                 const BusDescription& bus, bool needs_ring) {
  Attachment attachment;
  attachment.session_id_ = bus.session_id;
  attachment.journal_id_ = bus.journal_id;
  attachment.records_.record_bytes = bus.record_bytes;
  const bool has_journal = !bus.journal_root.empty();
  if (has_journal) {
    if (absl::Status opened = attachment.open_journal(bus.journal_root); !opened.ok())
      return opened;
  }
  if (needs_ring || !has_journal || !attachment.journal_has_all()) {
    absl::Status mapped = attachment.map_remaining_ring(bus_directory, bus);
    if (!mapped.ok()) return mapped;
  }
  const std::uint64_t hash = attachment.described_hash(bus);
  attachment.records_ = identify_records(bus.schema, bus.record_bytes,
                                         attachment.find_description(hash, bus.description));
  attachment.records_.is_restamped = bus.restamped;
  return attachment;
}

absl::StatusOr<Attachment> Attachment::to_remains(const std::string& bus_directory,
                                                  const BusDescription& bus) {
  absl::StatusOr<Attachment> attachment = described(bus_directory, bus, /*needs_ring=*/false);
  if (!attachment.ok() || attachment->ring_) return attachment;
  if (attachment->journal_ == nullptr) {
    return make_error(
        Errc::kNoBus,
        absl::StrCat("the last publisher of bus ", bus.name, " has ended, its ring ", bus.ring_path,
                     " is gone and it kept no journal: there is nothing to read"));
  }
  absl::StatusOr<JournalBounds> settled = attachment->journal_->settled_bounds();
  if (!settled.ok()) return settled.status();
  attachment->settled_ = *settled;
  return attachment;
}

absl::StatusOr<Attachment> Attachment::to_discarded(const Attachment& newest,
                                                    const ListedJournal& journal) {
  const SessionBegin& begin = journal.last.begin;
  Attachment attachment;
  attachment.is_discarded_ = true;
  attachment.session_id_ = begin.session_id;
  attachment.journal_id_ = begin.journal_id;
  attachment.records_.record_bytes = begin.record_bytes;
  if (absl::Status opened = attachment.open_journal(newest.journal_root_); !opened.ok())
    return opened;
  absl::StatusOr<JournalBounds> settled = attachment.journal_->settled_bounds();
  if (!settled.ok()) return settled.status();
  attachment.settled_ = *settled;
  const SchemaLabel label = get_schema(begin);
  const Schema* const described = newest.records_.description.get();
  attachment.records_ = identify_records(
      label.name, begin.record_bytes,
      attachment.find_description(label.hash, described != nullptr ? described->text() : ""));
  return attachment;
}

// Uses the most reliable source that exists: the session log, then the ring, then bus.json itself.
std::uint64_t Attachment::described_hash(const BusDescription& bus) const {
  if (journal_ != nullptr) return journal_->sessions().find(session_id_)->begin.schema_hash;
  if (map_ != nullptr) return map_->header().schema_hash;
  return bus.description.empty() ? 0 : Schema::hash_of(bus.description);
}

absl::Status Attachment::open_journal(const std::string& root) {
  journal_root_ = root;
  disk_ = std::make_unique<PosixDisk>();
  absl::StatusOr<std::unique_ptr<JournalReader>> journal =
      JournalReader::open(*disk_, root, journal_id_);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  if (journal_->geometry().record_bytes != records_.record_bytes) {
    return make_error(Errc::kDamaged,
                      absl::StrCat("the journal in ", root, " keeps records of ",
                                   journal_->geometry().record_bytes, " bytes, but the bus has ",
                                   records_.record_bytes, "; run `lapwing verify`"));
  }
  const SessionRecord* const session = journal_->sessions().find(session_id_);
  if (session == nullptr) {
    return make_error(
        Errc::kDamaged,
        absl::StrCat(root, "/", kSessionsFileName, " does not list session ", session_id_.hex(),
                     ", which is the last session according to the bus; run `lapwing verify`"));
  }
  session_first_ = session->first();
  const SessionLog& log = journal_->sessions();
  follows_journal_ = log.dropped() > 0 || log.sessions().front().begin.journal_id != journal_id_;
  return absl::OkStatus();
}

// A session whose end is recorded needs no ring, because records in the ring beyond the end were
// cut. The exception is a failed journal, which ends before its session does.
bool Attachment::journal_has_all() const {
  const SessionRecord* const session = journal_->sessions().find(session_id_);
  return session != nullptr && session->end && session->end->how != SessionEnd::kFailed;
}

// A ring file from an earlier boot proves nothing, because memory does not survive a boot.
absl::Status Attachment::map_remaining_ring(const std::string& bus_directory,
                                            const BusDescription& bus) {
  const absl::StatusOr<OpenRing> ring = open_described_ring(bus_directory, bus);
  if (errc_of(ring.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!ring.ok()) return ring.status();
  absl::StatusOr<RingMap> map = RingMap::attach(*ring);
  if (!map.ok()) return map.status();
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  if (map->header().boot_id != *boot || map->header().session_id != session_id_) {
    return absl::OkStatus();
  }
  // Records are copied with the ring's record size into buffers sized according to bus.json.
  if (map->header().record_bytes != records_.record_bytes) {
    return make_error(
        Errc::kDamaged,
        absl::StrCat(kBusFileName, " gives a record size of ", records_.record_bytes,
                     " bytes, but records in ", map->path(), " have ", map->header().record_bytes,
                     "; restart the publisher, which rewrites both"));
  }
  map_ = std::make_shared<const RingMap>(*std::move(map));
  ring_.emplace(*map_);
  return absl::OkStatus();
}

JournalBounds Attachment::bounds() const {
  if (!map_) return settled_;
  const RingWords& words = map_->words();
  JournalBounds bounds;
  bounds.durable = load_durable(words);
  bounds.archived = load_archived(words);
  bounds.oldest = load_oldest(words);  // last, because files below it may be gone when read
  return bounds;
}

bool Attachment::archiving() const {
  return has_publisher_ && load_journal_condition(map_->words()).state == JournalState::kGood;
}

Sequence Attachment::newest() const {
  if (!ring_) return settled_.archived;
  return has_publisher_ ? ring_->head() : newest_ready();
}

Sequence Attachment::newest_ready() const {
  const Sequence head = ring_->head();
  std::vector<std::byte> record(records_.record_bytes);
  Sequence next = head + 1;
  while (next <= head + ring_->capacity() &&
         ring_->try_read(next, record.data()).outcome == RingRead::kRecord) {
    ++next;
  }
  return next - 1;
}

void Attachment::take_place(ControlClient control) {
  control_ = std::move(control);
  why_no_place_.clear();
}

void Attachment::hang_up() {
  has_publisher_ = false;
  control_.reset();
  // If the read fails now, the next attachment repeats it and reports the error.
  if (journal_) journal_->refresh().IgnoreError();
}

bool Attachment::ring_closed() const {
  return map_ && load_ring_state(map_->words()) == RingState::kClosed;
}

bool Attachment::closed() const {
  if (ring_closed()) return true;
  if (!journal_) return false;
  const SessionRecord* const session = journal_->sessions().find(session_id_);
  return session != nullptr && session->end && session->end->how == SessionEnd::kClosed;
}

std::uint64_t Attachment::heartbeat_age_ns(std::uint64_t now_ns) {
  if (!has_publisher_) return 0;
  if (!heartbeat_) heartbeat_.emplace(map_->header());
  return heartbeat_->age_ns(map_->words(), now_ns);
}

std::vector<ListedJournal> Attachment::journals() const {
  if (!journal_) return {};
  std::vector<ListedJournal> journals = listed_journals(journal_->sessions().sessions());
  while (journals.back().id() != journal_id_) journals.pop_back();  // a publisher is starting now
  return journals;
}

absl::StatusOr<bool> Attachment::holds_records(const ListedJournal& journal) const {
  return lapwing::holds_records(*disk_, journal_root_, journal);
}

std::vector<SessionLeg> Attachment::sessions() const {
  std::vector<SessionLeg> legs;
  if (journal_) {
    for (const SessionRecord& session : journal_->sessions().sessions_of(journal_id_)) {
      legs.push_back({session.begin.session_id, session.first()});
    }
  }
  const bool listed = std::any_of(legs.begin(), legs.end(),
                                  [&](const SessionLeg& leg) { return leg.id == session_id_; });
  if (!listed) legs.push_back({session_id_, session_first_});
  return legs;
}

}  // namespace lapwing

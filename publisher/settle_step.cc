#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/open_ring.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "publisher/session_start.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/recovery/forgotten_sessions.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

PastSession past_of(const Locked& bus) {
  PastSession past;
  const absl::StatusOr<BusDescription>& last = bus.last_described;
  if (!last.ok()) return past;
  past.end = last->closed ? SessionEnd::kClosed : SessionEnd::kNone;
  if (last->closed || !is_ring_path(last->ring_path, last->session_id)) return past;
  const absl::StatusOr<OpenRing> ring = OpenRing::open(last->ring_path);
  if (ring.ok() && ring->belongs_to(bus.left_rings.owner())) {
    past.publisher_pid = ring->header().publisher_pid;
  }
  return past;
}

// Reads the last session's list, and marks it with this session before bus.json names this session.
// So after a kill at any time, the next start finds that the list belongs to the session in
// bus.json. An invalid list is removed, so that it is reported only once.
std::vector<SubscriberInfoFrame> read_expected(const SettledBus& bus, uid_t owner) {
  const std::string& directory = bus.options->directory;
  absl::StatusOr<Roster> roster = read_roster(*bus.bus_disk, directory);
  if (errc_of(roster.status()) == Errc::kNotFound) return {};
  const absl::StatusOr<BusDescription>& last = bus.last_described;
  std::string why;
  std::vector<SubscriberInfoFrame> expected;
  if (!roster.ok()) {
    why = absl::StrCat(" cannot be read: ", roster.status().message());
  } else if (!last.ok() || !roster->is_of(last->session_id, bus.roster.directory_inode)) {
    why = " is not of the last session of this bus";
  }
  if (why.empty()) {
    expected = expected_by(*roster, bus.roster.boot_id, owner);
    roster->sessions = {last->session_id, bus.begin.session_id};
    const absl::Status marked = write_roster(*bus.bus_disk, directory, *roster);
    if (marked.ok()) return expected;
    why = absl::StrCat(" cannot be written: ", marked.message());
  } else {
    remove_roster(*bus.bus_disk, directory).IgnoreError();  // the log entry names it
  }
  const std::string path = absl::StrCat(directory, "/", kRosterFileName);
  bus.options->log(
      log_entry(LogEvent::kJournalTrouble,
                absl::StrCat(path, why, ". Monitors will not list subscribers that do not return."),
                {{"path", path}}));
  return expected;
}

// Reads the newest record of a source. Returns an empty record if retention removed it.
absl::StatusOr<std::vector<std::byte>> read_record(Disk& disk, const std::string& journal_root,
                                                   const SourceProgress& source) {
  const auto reader = JournalReader::open(disk, journal_root, source.journal_id);
  if (!reader.ok()) return reader.status();
  const auto bounds = (*reader)->settled_bounds();
  if (!bounds.ok()) return bounds.status();
  std::vector<std::byte> record((*reader)->geometry().record_bytes);
  const auto run = (*reader)->read(source.last, *bounds, record);
  if (!run.ok()) return run.status();
  if (run->count == 0) record.clear();
  return record;
}

// Returns the session's source_offset. Called before the session begins, so a refused source leaves
// nothing behind.
absl::StatusOr<std::uint64_t> resume_source(const SettledBus& bus) {
  const PublisherSetUp& options = *bus.options;
  ResumePoint point;
  point.has_records = std::ranges::any_of(
      bus.sessions->sessions(),
      [](const SessionRecord& session) { return session.end->last >= session.first(); });
  absl::StatusOr<std::vector<std::byte>> record;
  if (const auto found =
          find_source(*bus.sessions, options.source_id, options.source_fingerprint)) {
    point.is_listed = true;
    point.by_content = found->by_content;
    point.offset = found->offset;
    point.records = found->records;
    point.last = found->last;
    if (point.last != kNoSequence) {
      record = read_record(*bus.disk, bus.places.journal_root(), *found);
      if (!record.ok()) return record.status();
      point.last_record = *record;
    }
  }
  if (options.on_resume) return options.on_resume(point);
  return point.offset + point.records;
}

// Returns the description of the records in a continued journal. Readers of the old records must
// also decode the new ones correctly (docs/reference/records.md).
absl::StatusOr<Schema> continue_schema(const SettledBus& bus, std::uint64_t hash) {
  const std::optional<Schema>& given = bus.options->schema;
  if (given && given->hash() == hash) return *given;
  const std::string root = bus.places.journal_root();
  absl::StatusOr<Schema> kept = read_kept_schema(*bus.disk, root, hash);
  if (errc_of(kept.status()) == Errc::kUnsupported) return kept.status();
  if (!kept.ok()) {
    return make_error(Errc::kDamaged,
                      absl::StrCat("the journal ", root,
                                   " no longer describes its records: ", kept.status().message(),
                                   "; restore that file, or move the journal away"));
  }
  if (!given) return kept;
  const std::string why = mismatch(*kept, *given);
  if (why.empty()) return *given;
  return make_error(Errc::kRecordSize,
                    absl::StrCat("the journal ", root, " holds ", kept->name, " version ",
                                 kept->version, ", which the new description does not continue: ",
                                 why, "; use another bus directory, or move the old journal away"));
}

// A continued journal keeps its schema, record size and segment size.
absl::Status continue_journal(SettledBus& bus) {
  const PublisherSetUp& options = *bus.options;
  const std::optional<JournalGeometry>& geometry = bus.settled.geometry;
  const SessionRecord* const last = bus.sessions->last();
  if (!geometry || last == nullptr) return absl::OkStatus();
  const std::string schema = get_text(last->begin.schema);
  if (geometry->record_bytes != options.record_bytes || schema != options.schema_name) {
    return make_error(
        Errc::kRecordSize,
        absl::StrCat("the journal ", bus.places.journal_root(), " holds records of ",
                     geometry->record_bytes, " bytes, schema ", schema,
                     ". The feed has records of ", options.record_bytes, " bytes, schema ",
                     options.schema_name,
                     ". Use another bus directory for this feed, or move the old journal away"));
  }
  bus.begin.journal_id = bus.settled.journal_id;
  bus.begin.segment_slots = geometry->segment_slots;
  const std::uint64_t described = newest_description(*bus.sessions, bus.begin.journal_id);
  // The definition of a shipped schema does not change, although later releases name more values.
  if (described == 0 || known_schema(options.schema_name)) return absl::OkStatus();
  absl::StatusOr<Schema> continued = continue_schema(bus, described);
  if (!continued.ok()) return continued.status();
  bus.begin.schema_hash = continued->hash();
  bus.schema = *std::move(continued);
  return absl::OkStatus();
}

// Writes the last session's end to the journal.
absl::Status settle_journal(SettledBus& bus) {
  const std::string root = bus.places.journal_root();
  absl::StatusOr<SessionLog> sessions =
      SessionLog::open(*bus.disk, root, kSessionsFileName, bus.options->take_over_ns);
  if (!sessions.ok()) return sessions.status();
  bus.sessions = std::make_shared<SessionLog>(*std::move(sessions));
  absl::StatusOr<Settled> settled =
      settle(*bus.disk, root, *bus.sessions, bus.begin.boot_id, bus.left_rings.opener());
  if (!settled.ok()) return settled.status();
  for (const LogEntry& entry : settled->log) bus.options->log(entry);
  bus.settled = *std::move(settled);
  if (const SessionRecord* const last = bus.sessions->last(); last != nullptr && last->end) {
    if (bus.past.end != SessionEnd::kClosed) bus.past.end = last->end->how;
    bus.past.last = last->end->last;
  }
  bus.begin.first = bus.settled.next;
  if (bus.settled.next > kSequenceMax) {
    return make_error(
        Errc::kLimit,
        absl::StrCat("the journal ", root, " has reached the last sequence, ", kSequenceMax,
                     ": use another bus directory, or move the journal away"));
  }
  return forget_empty_sessions(*bus.disk, root, *bus.sessions);
}

}  // namespace

absl::StatusOr<Roster> new_roster(const std::string& bus_directory, const Id128& session_id) {
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(bus_directory);
  if (!directory.ok()) return directory.status();
  return Roster{.sessions = {session_id},
                .directory_inode = directory->inode,
                .boot_id = *boot,
                .namespaces = own_namespaces(),
                .subscribers = {}};
}

absl::StatusOr<SettledBus> settle_bus(Locked locked) {
  const PublisherSetUp& options = *locked.options;
  options.on_step("settle");
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  const absl::StatusOr<Id128> session = random_id();
  if (!session.ok()) return session.status();
  const absl::StatusOr<Id128> journal = random_id();
  if (!journal.ok()) return journal.status();
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(options.directory);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<Roster> roster = new_roster(options.directory, *session);
  if (!roster.ok()) return roster.status();
  SettledBus bus(std::move(locked));
  bus.schema = options.schema;
  SessionEntry& begin = bus.begin;
  begin.kind = SessionEntryKind::kBegin;
  begin.journal_id = *journal;
  begin.session_id = *session;
  begin.boot_id = *boot;
  begin.first = bus.settled.next;
  begin.slot_bytes = slot_bytes_for(options.record_bytes);
  begin.record_bytes = options.record_bytes;
  begin.segment_slots = options.segment_bytes / begin.slot_bytes;
  begin.source_id = options.source_id;
  begin.source_fingerprint = options.source_fingerprint;
  begin.source_offset = options.source_offset;
  begin.metadata_hash = metadata_hash_of(options.metadata);
  set_schema(begin, {options.schema_name, options.schema ? options.schema->hash() : 0});
  // Read this before anything is settled, because settling removes a killed publisher's ring.
  bus.past = past_of(bus);
  bus.roster = *std::move(roster);
  bus.expected = read_expected(bus, directory->owner);
  if (!options.journal) return bus;
  if (absl::Status settled = settle_journal(bus); !settled.ok()) return settled;
  if (absl::Status fits = continue_journal(bus); !fits.ok()) return fits;
  if (!options.resume) return bus;
  const absl::StatusOr<std::uint64_t> offset = resume_source(bus);
  if (!offset.ok()) return offset.status();
  begin.source_offset = *offset;
  return bus;
}

}  // namespace lapwing

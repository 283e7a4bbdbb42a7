#include "publisher/mirror/given_session.h"

#include "absl/strings/str_cat.h"
#include "bus/ring_file.h"
#include "lapwing/error.h"
#include "proto/text_field.h"
#include "publisher/mirror/mirrored_session.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

constexpr unsigned kDirectoryPermissions = 0700;  // the disk adds those of the group

absl::Status refuse(const RelaySession& session, const std::string& why) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("session ", session.session_id.hex(), " cannot begin: ", why));
}

absl::Status check_values(const MirrorBegin& begin) {
  const RelaySession& session = begin.session;
  const std::string defect = session_geometry_defect(mirrored_begin(session));
  if (!defect.empty()) return refuse(session, defect);
  if (session.segment_slots * session.slot_bytes > kSegmentSlotBytesMax) {
    return refuse(session,
                  absl::StrCat("a segment has more than ", kSegmentSlotBytesMax, " bytes"));
  }
  if (session.begin_hash == 0) return refuse(session, "its begin row has no hash");
  if (begin.oldest < 1 || (begin.oldest - 1) % session.segment_slots != 0) {
    return refuse(session, absl::StrCat("no segment begins at sequence ", begin.oldest));
  }
  if (metadata_hash_of(begin.metadata) != session.metadata_hash) {
    return make_error(Errc::kDamaged,
                      absl::StrCat("the metadata of session ", session.session_id.hex(),
                                   " does not have its hash: fetch it again"));
  }
  if (begin.description.empty() == (session.schema_hash == 0)) return absl::OkStatus();
  return refuse(session, "its description is missing");
}

}  // namespace

absl::StatusOr<GivenSession> GivenSession::check(MirrorBegin begin) {
  if (absl::Status valid = check_values(begin); !valid.ok()) return valid;
  std::optional<Schema> schema;
  if (!begin.description.empty()) {
    absl::StatusOr<Schema> parsed = parse_with_hash(
        begin.description, begin.session.schema_hash,
        absl::StrCat("the description of the records in session ", begin.session.session_id.hex()));
    if (!parsed.ok()) return parsed.status();
    schema = *std::move(parsed);
  }
  return GivenSession(std::move(begin), std::move(schema));
}

JournalFiles GivenSession::files(Disk& disk, const std::string& journal_root) const {
  return journal_files_of(disk, journal_root, mirrored_begin(session()));
}

absl::Status GivenSession::keep(Disk& disk, const std::string& journal_root,
                                bool is_new_journal) const {
  const JournalFiles journal = files(disk, journal_root);
  absl::Status status = disk.make_directory(journal.directory, kDirectoryPermissions);
  if (status.ok()) status = disk.sync_directory(journal_root);
  if (status.ok() && schema_) status = keep_schema(disk, journal_root, *schema_);
  if (status.ok() && !begin_.metadata.empty()) {
    status = keep_metadata(disk, journal_root, begin_.metadata);
  }
  if (!status.ok() || !is_new_journal || begin_.oldest == 1) return status;
  absl::StatusOr<RetentionFile> retention = RetentionFile::open(journal);
  if (!retention.ok()) return retention.status();
  status = retention->write(begin_.oldest);
  return status.ok() ? disk.sync(retention->get()) : status;
}

void GivenSession::describe(PublisherSetUp& options, std::uint64_t capacity) const {
  const RelaySession& given = session();
  const bool fits = check_capacity(begin_.bus.capacity, given.slot_bytes).ok();
  options.name = get_text(begin_.bus.name);
  options.schema = schema_;
  options.schema_name = get_text(given.schema);
  options.record_bytes = given.record_bytes;
  options.capacity = capacity != 0 || !fits ? capacity : begin_.bus.capacity;
  options.segment_bytes = given.segment_slots * given.slot_bytes;
  options.metadata = begin_.metadata;
  options.restamped = begin_.bus.restamped != 0;
}

}  // namespace lapwing

#include "snapshot/schema/kept_schemas.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "snapshot/journal/kept_files.h"

namespace lapwing {
absl::StatusOr<Schema> parse_with_hash(std::string_view text, std::uint64_t hash,
                                       const std::string& where) {
  if (Schema::hash_of(text) != hash) {
    return make_error(
        Errc::kDamaged,
        absl::StrFormat("%s is not the description whose hash is %016x", where, hash));
  }
  absl::StatusOr<Schema> schema = Schema::parse(text);
  if (schema.ok()) return schema;
  return make_error(
      Errc::kUnsupported,
      absl::StrCat(where, " holds a description of a later release: ", schema.status().message()));
}

absl::Status keep_schema(Disk& disk, const std::string& journal_root, const Schema& schema) {
  const std::string text = schema.text();
  return keep_file(disk, journal_root, kKeptSchemas, Schema::hash_of(text), text);
}

std::uint64_t newest_description(const SessionLog& sessions, const Id128& journal_id) {
  std::uint64_t hash = 0;
  for (const SessionRecord& session : sessions.sessions_of(journal_id)) {
    if (session.begin.schema_hash != 0) hash = session.begin.schema_hash;
  }
  return hash;
}

absl::StatusOr<Schema> read_kept_schema(Disk& disk, const std::string& journal_root,
                                        std::uint64_t hash) {
  const auto text = read_kept_file(disk, journal_root, kKeptSchemas, hash);
  if (!text.ok()) return text.status();
  return parse_with_hash(*text, hash, kKeptSchemas.path(journal_root, hash));
}

}  // namespace lapwing

#include "snapshot/schema/kept_schemas.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/small_file.h"

namespace lapwing {
namespace {

constexpr unsigned kDirectoryPermissions = 0700;  // the disk adds the group's

std::string schemas_directory(const std::string& journal_root) {
  return absl::StrCat(journal_root, "/", kSchemasDirectoryName);
}

std::string name_of(std::uint64_t hash) {
  return absl::StrFormat("%016x.json", hash);
}

}  // namespace

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
  const std::uint64_t hash = Schema::hash_of(text);
  const std::string directory = schemas_directory(journal_root);
  absl::Status status = disk.make_directory(directory, kDirectoryPermissions);
  if (status.ok()) status = disk.sync_directory(journal_root);
  if (!status.ok()) return status;
  // Whoever wrote it may have been killed before its name was synced.
  if (read_kept_schema(disk, journal_root, hash).ok()) return disk.sync_directory(directory);
  return replace_file(disk, directory, name_of(hash), text);
}

std::uint64_t newest_description(const SessionLog& sessions, const Id128& journal_id) {
  std::uint64_t hash = 0;
  for (const SessionRecord& session : sessions.sessions()) {
    const bool is_here = session.begin.journal_id == journal_id;
    if (is_here && session.begin.schema_hash != 0) hash = session.begin.schema_hash;
  }
  return hash;
}

absl::StatusOr<Schema> read_kept_schema(Disk& disk, const std::string& journal_root,
                                        std::uint64_t hash) {
  const std::string path = absl::StrCat(schemas_directory(journal_root), "/", name_of(hash));
  const absl::StatusOr<std::string> text = read_small_file(disk, path, kSchemaTextBytesMax);
  if (!text.ok()) return text.status();
  return parse_with_hash(*text, hash, path);
}

}  // namespace lapwing

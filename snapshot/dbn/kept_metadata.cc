#include "snapshot/dbn/kept_metadata.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

std::uint64_t metadata_hash_of(std::string_view metadata) {
  if (metadata.empty()) return 0;
  const std::uint64_t hash = XXH3_64bits(metadata.data(), metadata.size());
  return hash != 0 ? hash : 1;
}

bool names_metadata(const SessionBegin& session) {
  return session.version >= 2 && (session.metadata_hash != 0 || session.has_ring);
}

absl::Status keep_metadata(Disk& disk, const std::string& journal_root,
                           const std::string& metadata) {
  if (metadata.size() > kMetadataBytesMax) {
    return make_error(Errc::kLimit, absl::StrCat("the feed's metadata has ", metadata.size(),
                                                 " bytes, more than ", kMetadataBytesMax));
  }
  return keep_file(disk, journal_root, kKeptMetadata, metadata_hash_of(metadata), metadata);
}

absl::StatusOr<std::string> read_kept_metadata(Disk& disk, const std::string& journal_root,
                                               const SessionBegin& session) {
  if (!names_metadata(session)) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("session ", session.session_id.hex(), " in ", journal_root,
                                   " does not name the metadata of its feed"));
  }
  if (session.metadata_hash == 0) return std::string();
  auto metadata = read_kept_file(disk, journal_root, kKeptMetadata, session.metadata_hash);
  if (!metadata.ok() || metadata_hash_of(*metadata) == session.metadata_hash) return metadata;
  return make_error(Errc::kDamaged,
                    absl::StrCat(kKeptMetadata.path(journal_root, session.metadata_hash),
                                 ": its content has another hash than its name. Restore the file "
                                 "from a copy."));
}

}  // namespace lapwing

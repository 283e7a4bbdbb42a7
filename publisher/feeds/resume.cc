#include "publisher/feeds/resume.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

std::uint64_t fingerprint_of(const std::string& metadata, const std::string& schema,
                             std::span<const std::byte> first_record) {
  std::string content = absl::StrCat(metadata, schema);
  content.append(reinterpret_cast<const char*>(first_record.data()), first_record.size());
  const std::uint64_t hash = XXH3_64bits(content.data(), content.size());
  return hash != 0 ? hash : 1;
}

bool is_same_record(std::span<const std::byte> in_source, std::span<const std::byte> in_journal,
                    const RecordClock* stamped) {
  if (std::ranges::equal(in_source, in_journal)) return true;
  if (stamped == nullptr || in_source.size() != in_journal.size()) return false;
  std::vector<std::byte> one(in_source.begin(), in_source.end());
  std::vector<std::byte> other(in_journal.begin(), in_journal.end());
  stamped->stamp(one, 0);
  stamped->stamp(other, 0);
  return one == other;
}

absl::Status source_mismatch(const std::string& source, const std::string& why) {
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("--resume: ", source, " does not continue its records in the journal: ", why,
                   ". If it is another source, remove --resume to publish all of it after the "
                   "records in the journal, or use another bus directory."));
}

absl::StatusOr<std::uint64_t> Feed::fingerprint() {
  auto first = await_batch(*this);
  if (!first.ok()) return first.status();
  const FeedDescription& records = description();
  const std::size_t bytes = first->ended() ? 0 : records.record_bytes;
  const std::uint64_t hash =
      fingerprint_of(records.metadata, records.schema, first->records.first(bytes));
  if (const absl::Status again = rewind(); !again.ok()) return again;
  return hash;
}

absl::StatusOr<ResumedFeed> Feed::resume(const ResumePoint& point, const RecordClock* stamped,
                                         const FeedWait& wait) {
  const std::string& name = description().name;
  const std::size_t record_bytes = description().record_bytes;
  const std::uint64_t position = point.offset + point.records;
  if (position == 0) return ResumedFeed{};
  for (std::uint64_t before = 0;;) {
    auto batch = await_batch(*this, wait);
    if (!batch.ok()) return batch.status();
    if (batch->ended()) {
      return source_mismatch(name, absl::StrCat("it has ", before, " records, and the journal has ",
                                                position, " records of it"));
    }
    const std::uint64_t here = batch->records.size() / record_bytes;
    if (before + here < position) {
      before += here;
      continue;
    }
    const std::size_t end = static_cast<std::size_t>(position - before) * record_bytes;
    const auto last = batch->records.subspan(end - record_bytes, record_bytes);
    if (!point.last_record.empty() && !is_same_record(last, point.last_record, stamped)) {
      return source_mismatch(name, absl::StrCat("its record ", position, " differs from record ",
                                                point.last, " of the journal"));
    }
    batch->records = batch->records.subspan(end);
    return ResumedFeed{.position = position, .rest = *batch};
  }
}

}  // namespace lapwing

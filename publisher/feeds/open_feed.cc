#include <xxhash.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"
#include "publisher/feeds/dbn_feed.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/journal_feed.h"
#include "publisher/feeds/kv16_feed.h"
#include "publisher/feeds/looping_feed.h"
#include "publisher/feeds/synthetic_feed.h"

namespace lapwing {
namespace {

absl::StatusOr<std::unique_ptr<Feed>> open_source(const std::string& specification,
                                                  const FeedOptions& options) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(specification, absl::MaxSplits(':', 1));
  const auto& [kind, what] = parts;
  if (kind == "dbn" && !what.empty()) return DbnFeed::open(what, options);
  if (kind == "journal" && !what.empty()) return JournalFeed::open(what, options.batch_by_burst);
  if (kind == "synthetic") {
    const auto synthetic = parse_synthetic_options(what);
    if (!synthetic.ok()) return synthetic.status();
    return SyntheticFeed::open(*synthetic, options.batch_by_burst);
  }
  if (kind == "kv16") {
    const auto numbered = parse_kv16_options(what);
    if (!numbered.ok()) return numbered.status();
    return Kv16Feed::open(*numbered);
  }
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("\"", specification,
                                 "\" is not a source; the forms are dbn:PATH, dbn:- (standard "
                                 "input), journal:DIR, synthetic[:key=value,...] and "
                                 "kv16[:key=value,...]"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> open_feed(const std::string& specification,
                                                const FeedOptions& options) {
  auto source = open_source(specification, options);
  if (!source.ok() || options.passes == 1) return source;
  return LoopingFeed::open(*std::move(source), options.passes);
}

absl::StatusOr<FeedBatch> skip_records(Feed& feed, std::uint64_t count) {
  const std::size_t record_bytes = feed.description().record_bytes;
  for (;;) {
    auto batch = feed.next();
    if (!batch.ok() || batch->records.empty()) return batch;
    const std::uint64_t here = batch->records.size() / record_bytes;
    if (here > count) {
      batch->records = batch->records.subspan(static_cast<std::size_t>(count) * record_bytes);
      return batch;
    }
    count -= here;
  }
}

std::uint64_t source_id_of(const std::string& canonical_specification) {
  const std::uint64_t id =
      XXH3_64bits(canonical_specification.data(), canonical_specification.size());
  return id != 0 ? id : 1;
}

}  // namespace lapwing

#include <poll.h>
#include <xxhash.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/system_error.h"
#include "publisher/feeds/dbn_feed.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/journal_feed.h"
#include "publisher/feeds/kv16_feed.h"
#include "publisher/feeds/looping_feed.h"
#include "publisher/feeds/record_file_feed.h"
#include "publisher/feeds/synthetic_feed.h"

namespace lapwing {
namespace {

absl::StatusOr<std::unique_ptr<Feed>> open_source(const std::string& specification,
                                                  const FeedOptions& options) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(specification, absl::MaxSplits(':', 1));
  const auto& [kind, what] = parts;
  if (kind == "dbn" && !what.empty()) return DbnFeed::open(what, options);
  if (!options.schema.empty()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("--schema works with dbn: sources only, not \"", specification,
                                   "\". Remove --schema"));
  }
  if (kind == "file" && !what.empty()) return RecordFileFeed::open(what, options);
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
                                 "\" is not a source; the forms are dbn:PATH (DBN), file:PATH (a "
                                 "record file; both also -, standard input), journal:DIR, "
                                 "synthetic[:key=value,...] and kv16[:key=value,...]"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> open_feed(const std::string& specification,
                                                const FeedOptions& options) {
  auto source = open_source(specification, options);
  if (!source.ok() || options.passes == 1) return source;
  return LoopingFeed::open(*std::move(source), options.passes);
}

absl::StatusOr<FeedBatch> await_batch(Feed& feed, const FeedWait& wait) {
  const int timeout_ms = wait.tick ? static_cast<int>(kFeedTickNs / kNsPerMs) : -1;
  for (;;) {
    if (wait.tick) wait.tick();
    auto batch = feed.next();
    if (!batch.ok() || !batch->nothing_yet) return batch;
    pollfd descriptors[] = {{feed.fd(), POLLIN, 0}, {wait.stop_fd, POLLIN, 0}};
    if (poll(descriptors, 2, timeout_ms) < 0 && errno != EINTR) {
      return make_system_error(errno, absl::StrCat("waiting for ", feed.description().name));
    }
    if (descriptors[1].revents != 0) {
      return make_error(Errc::kClosed,
                        absl::StrCat("stopped while waiting for ", feed.description().name));
    }
  }
}

absl::StatusOr<std::uint64_t> source_id_of_file(const std::string& kind, const std::string& path) {
  std::string canonical = path;
  if (path != "-") {
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) == nullptr) {
      return make_system_error(errno, absl::StrCat("cannot resolve ", path));
    }
    canonical = resolved;
  }
  return source_id_of(absl::StrCat(kind, ":", canonical));
}

std::uint64_t source_id_of(const std::string& canonical_specification) {
  const std::uint64_t id =
      XXH3_64bits(canonical_specification.data(), canonical_specification.size());
  return id != 0 ? id : 1;
}

}  // namespace lapwing

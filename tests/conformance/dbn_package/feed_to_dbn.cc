// feed_to_dbn SOURCE OUT [RECORDS]: writes a feed's records into a DBN file, like a recording of
// its bus. With RECORDS, the file is finished and continued after this many records, so that a .zst
// file gets several frames. A test program: prints the first error and exits with 1.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "os/posix_io.h"
#include "publisher/feeds/feed.h"
#include "snapshot/recording/record_writer.h"

namespace lapwing {
namespace {

absl::Status copy(const std::string& source, const std::string& out, std::size_t records_at_once) {
  auto feed = open_feed(source, {.batch_by_burst = false});
  if (!feed.ok()) return feed.status();
  const FeedDescription& description = (*feed)->description();
  PosixDisk disk;
  auto writer = RecordWriter::create(disk, out, description.metadata, description.record_bytes);
  if (!writer.ok()) return writer.status();
  for (;;) {
    const auto batch = (*feed)->next();
    if (!batch.ok()) return batch.status();
    if (batch->records.empty()) return (*writer)->finish();
    if (auto status = (*writer)->write(batch->records); !status.ok()) return status;
    if (records_at_once == 0 || (*writer)->records() < records_at_once) continue;
    const absl::StatusOr<std::uint64_t> committed = (*writer)->commit();
    if (!committed.ok()) return committed.status();
    writer = RecordWriter::resume(disk, out, *committed, description.record_bytes);
    if (!writer.ok()) return writer.status();
  }
}

}  // namespace
}  // namespace lapwing

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: feed_to_dbn SOURCE OUT [RECORDS]\n", stderr);
    return 2;
  }
  const auto records = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const absl::Status status = lapwing::copy(argv[1], argv[2], records);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

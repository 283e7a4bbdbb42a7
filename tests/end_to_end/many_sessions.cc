// Adds a long history to a closed journal: many_sessions JOURNAL_ROOT COUNT
//
// Rewrites `sessions` and its copy: the existing session keeps its records. COUNT - 1 sessions
// without records follow, as from a publisher that is restarted on a quiet feed. Exit: 0 done, 1
// failed.
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "os/posix_io.h"
#include "proto/header_checksum.h"
#include "proto/ring_layout.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {
namespace {

// Rows in order, each with the previous row's hash.
class Rows {
 public:
  Rows(std::ofstream& one, std::ofstream& other) : files_{&one, &other} {}
  void add(SessionEntry row) {
    row.version = kSessionVersion;
    row.index = next_++;
    row.previous_hash = previous_hash_;
    row.checksum = checksum_of(row);
    previous_hash_ = XXH3_64bits(&row, sizeof row);
    for (std::ofstream* file : files_) {
      file->write(reinterpret_cast<const char*>(&row), sizeof row);
    }
  }

 private:
  std::ofstream* files_[2];
  std::uint64_t next_ = 0;
  std::uint64_t previous_hash_ = 0;
};

void add_session(Rows& rows, const SessionEntry& begin, Sequence through, Sequence last) {
  rows.add(begin);
  SessionEntry row{};
  row.journal_id = begin.journal_id;
  row.session_id = begin.session_id;
  row.kind = SessionEntryKind::kReserve;
  row.through = through;
  rows.add(row);
  row.through = 0;
  row.kind = SessionEntryKind::kEnd;
  row.how = SessionEnd::kClosed;
  row.last = last;
  rows.add(row);
}

int run(const std::string& root, std::uint64_t count) {
  PosixDisk disk;
  SessionEntry begin{};
  Sequence last = 0;
  Sequence through = 0;
  {
    const auto log = SessionLog::open_read_only(disk, root);
    if (!log.ok() || log->sessions().size() != 1 || !log->last()->end) {
      std::cerr << "many_sessions: " << root << " has not one closed session\n";
      return EXIT_FAILURE;
    }
    begin = log->last()->begin.row();
    last = log->last()->end->last;
    through = log->last()->reserved_through;
  }
  std::ofstream one(root + "/sessions", std::ios::binary | std::ios::trunc);
  std::ofstream other(root + "/sessions.copy", std::ios::binary | std::ios::trunc);
  Rows rows(one, other);
  // The last session keeps its id, because bus.json contains it.
  const Id128 newest = begin.session_id;
  const std::uint64_t step = slots_per_block(begin.slot_bytes);
  for (std::uint64_t n = 1; n <= count; ++n) {
    if (n == count) {
      begin.session_id = newest;
    } else {
      std::memcpy(begin.session_id.bytes.data(), &n, sizeof n);
    }
    add_session(rows, begin, through, last);
    begin.first = last + 1;
    begin.source_offset = last;
    through = (last / step + 1) * step;
  }
  one.flush();
  other.flush();
  return one.good() && other.good() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace lapwing

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: many_sessions JOURNAL_ROOT COUNT\n";
    return EXIT_FAILURE;
  }
  return lapwing::run(argv[1], std::strtoull(argv[2], nullptr, 10));
}

// A mirror in memory for tests of relay in. It keeps the contract of MirrorWriter, and records each
// call that violates it.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "publisher/mirror/mirror.h"

namespace lapwing {

class FakeMirror final : public MirrorWriter {
 public:
  struct Absent {
    Sequence first = 0;
    Sequence last = 0;
    GapCause cause{};
  };
  // What readers of one journal would get.
  struct Journal {
    Id128 id;
    Sequence oldest = 1;
    std::map<Sequence, std::vector<std::byte>> records;     // of the journal
    std::map<Sequence, std::vector<std::byte>> unarchived;  // behind the end of a failed one
    std::vector<Absent> absent;
    std::vector<Sequence> cut;  // kept aside by an end
  };

  const std::vector<RelaySession>& sessions() const override { return sessions_; }
  Sequence next() const override { return next_; }
  Sequence durable() const override;
  absl::Status begin(const MirrorBegin& begin) override;
  absl::Status put(Sequence first, std::span<const std::byte> records, std::uint64_t time_ns,
                   Deadline deadline) override;
  absl::Status put_absent(Sequence first, Sequence last, GapCause cause,
                          Deadline deadline) override;
  absl::Status end(const RelaySession& session, Deadline deadline) override;
  void set_origin(const MirrorOrigin& origin) override { origin_ = origin; }
  absl::Status flush(Sequence through, Deadline deadline) override;
  absl::Status close(Deadline deadline) override;

  const std::vector<Journal>& journals() const { return journals_; }
  const MirrorOrigin& origin() const { return origin_; }
  const std::map<std::uint64_t, std::string>& files() const { return files_; }  // by hash
  std::uint64_t begins() const { return begins_; }
  // Each call that was out of order.
  const std::vector<std::string>& violations() const { return violations_; }

  // While the disk is stuck, calls that need it end with kTimedOut.
  void stick(bool stuck) { is_stuck_ = stuck; }
  // The next put() ends so.
  void fail_put(const absl::Status& status) { put_failure_ = status; }
  // The next put() adds that many records and ends with kTimedOut.
  void put_only(std::uint64_t records) { put_only_ = records; }
  // A kill or power cut: what is behind `durable` is lost, and the last session is not begun.
  void kill(Sequence durable);
  // The content of the mirror's record n is changed, as by a wrong sender before.
  void change_record(Sequence n);
  // A start that this mirror already has.
  void list(const RelaySession& session);

 private:
  absl::Status violation(const std::string& what);
  bool can_put(Sequence n) const;
  absl::Status check_last(Sequence last);

  std::vector<RelaySession> sessions_;
  std::vector<Journal> journals_;
  std::map<std::uint64_t, std::string> files_;
  MirrorOrigin origin_;
  std::optional<RelaySession> begun_;  // with the end that the origin has
  Sequence next_ = 0;
  std::uint64_t begins_ = 0;
  bool is_stuck_ = false;
  std::optional<absl::Status> put_failure_;
  std::optional<std::uint64_t> put_only_;
  std::vector<std::string> violations_;
};

}  // namespace lapwing

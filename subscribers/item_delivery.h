// Implements a subscriber's calls. They take steps of the machine until there is an event or a
// record, and hand it out. A call that does more than take a record closes the read path and
// reopens it at the end. The path leaves records whose age is measured (age_meter.h) to a call.
//
// A step reads ring records into the caller's memory, or many at once into the block. With a filter
// (SubscriberOptions::instruments), all records go into the block, and records of other instruments
// at its front are passed over: taken, but not handed out.
//
// Invariants
//  1. A step is taken only while no event is due and the block is empty.
//  2. While the block holds records and there is no filter, the read path is closed.
//  3. A call that overlaps a waiting one changes nothing, and returns kMisuse. In a forked child,
//     every call returns kForked.
//
// Thread safety: one thread, except for interrupt() (subscriber_wait.h). Owns all parts of the
// subscriber.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lapwing/result.h"
#include "subscribers/record_block.h"
#include "subscribers/subscriber_machine.h"
#include "subscribers/subscriber_wait.h"

namespace lapwing {

inline constexpr std::uint32_t kLooks = 1024;  // polls of the next slot before a different wait
inline constexpr int kStepsMax = 16;           // changes of phase within one call

// Memory for contiguous rows that read() copies, and optionally a column for their sequences.
struct RowSpace {
  std::span<std::byte> bytes;
  std::optional<std::span<Sequence>> sequences = {};

  bool has_room(std::size_t row_bytes) const {
    return bytes.size() >= row_bytes && (!sequences || !sequences->empty());
  }
  // The number of rows for which there is room.
  std::size_t count(std::size_t row_bytes) const {
    const std::size_t rows = bytes.size() / row_bytes;
    return sequences ? std::min(rows, sequences->size()) : rows;
  }
  std::span<std::byte> from(std::size_t row, std::size_t row_bytes) const {
    return bytes.subspan(row * row_bytes, (count(row_bytes) - row) * row_bytes);
  }
  // Numbers `rows` rows from `row` on, starting with `first`.
  void number(std::size_t row, std::size_t rows, Sequence first) const {
    for (std::size_t i = 0; sequences && i < rows; ++i) (*sequences)[row + i] = first + i;
  }
};

class ItemDelivery final : public WaitSource {
 public:
  // `interrupt` replaces its own, and must outlive it.
  explicit ItemDelivery(SubscriberOptions options, Interrupt* interrupt = nullptr)
      : options_(std::move(options)), wait_(options_, stream_, machine_, interrupt) {}

  const Stream& stream() const { return stream_; }
  // The stream, after counting all records taken since the path was opened.
  const Stream& counted_stream() {
    const ClosedPath closed(*this);
    return stream_;
  }
  const SubscriberMachine& machine() const { return machine_; }

  // Like the public calls of these names.
  detail::ReadPath& path() { return cursor_; }
  Result<Due> next(std::uint64_t deadline_ns);
  Result<Sequence> read_one(std::span<std::byte> record, std::uint64_t deadline_ns);
  Result<Due> read_event();
  // The fast part of read(), without a filter: reads the records that are available now. Returns
  // false if there are none or something else is due; then the caller must call read().
  bool read_records(std::span<std::byte> rows, Result<Batch>& batch);
  bool read_records(const RowSpace& rows, Result<Batch>& batch);
  // Does not set Batch::event for a kEvent batch: `due` is the event.
  Result<Batch> read(const RowSpace& rows, std::uint64_t deadline_ns, Due& due);
  void interrupt() noexcept { wait_.interrupt(); }
  absl::StatusOr<int> descriptor() { return wait_.descriptor(); }
  bool arm();

  // A wait set sleeps on the ring's doorbell, which rings only for subscribers that may park. If
  // there is no ring to wait for, the wait set polls every kSeekingTickNs.
  bool can_sleep() const override { return may_park(options_.wait); }
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;

  // In a forked child: ends the subscriber with kForked. Changes only single words, so it does not
  // depend on what the parent's other threads were doing. position() and counters() remain.
  void end_in_child() noexcept;

 private:
  // Keeps the read path closed during its lifetime. A call that overlaps a waiting one does not
  // touch the path.
  struct ClosedPath {
    explicit ClosedPath(ItemDelivery& of) : delivery(of), refusal(of.why_refused()) {
      if (refusal != Errc::kMisuse) delivery.cursor_.close();
    }
    ~ClosedPath() {
      if (refusal == Errc::kOk) delivery.open_path();
    }
    ClosedPath(const ClosedPath&) = delete;

    ItemDelivery& delivery;
    const Errc refusal;
  };

  // Aligned, because callers may read a record in place with wide moves.
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  // Skips the initial spin when parked or backed off.
  void open_path() {
    if (!block_.empty() && !stream_.filter) return;
    const bool spins = wait_.spins() && !machine_.upkeep().awaits_live();
    cursor_.open(spins ? kLooks : 0);
  }
  Errc why_refused() const {
    if (wait_.another_rests()) return Errc::kMisuse;
    return cursor_.phase == Phase::kForked ? Errc::kForked : Errc::kOk;
  }
  // True if the next item depends on other processes and a poll may cost a system call.
  bool may_pause() const { return machine_.pause_from(0).has_value(); }
  bool has_something() const { return !stream_.outbox.empty() || !block_.empty(); }
  Errc why_ended() const { return stream_.status.ok() ? Errc::kClosed : errc_of(stream_.status); }

  Step step(std::span<std::byte> out);
  bool advance();
  void pass_over();
  bool event_is_due();
  Due poll(std::span<std::byte> record);
  std::size_t poll_batch(std::span<std::byte> out);
  Result<Due> wait_for_due(std::span<std::byte> record, std::uint64_t deadline_ns);
  void await_measured(std::uint64_t deadline_ns);

  Due deliver_event();
  Due deliver(const std::byte* record);
  void deliver(Batch& batch, std::span<const std::byte> rows, std::size_t count);
  void deliver_state(Batch& batch, const RowSpace& rows, const Due& first);
  void add_chosen(Batch& batch, const RowSpace& rows);
  // Measures records first … last in `rows`, which are being handed out.
  void measure(Sequence first, Sequence last, std::span<const std::byte> rows) {
    if (last >= cursor_.measured_from) [[unlikely]]
      machine_.upkeep().measure(first, rows);
  }

  const SubscriberOptions options_;
  ReadCursor cursor_;
  RecordBlock block_;
  std::vector<Line> lines_;  // the cursor's `place`: a record that is handed out in place
  Stream stream_{options_, cursor_};
  SubscriberMachine machine_{options_, stream_};
  SubscriberWait wait_;
};

}  // namespace lapwing

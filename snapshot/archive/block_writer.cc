#include "snapshot/archive/block_writer.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "proto/slot_stamp.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {

BlockWriter::BlockWriter(SegmentPool& segments, const Options& options)
    : segments_(segments),
      journal_(segments.journal()),
      options_(options),
      archived_(options.first - 1),
      submitted_(options.first - 1) {}

absl::Status BlockWriter::load_first_block() {
  const JournalGeometry& geometry = journal_.geometry;
  const Sequence last_before = options_.first - 1;
  if (last_before % geometry.block_slots() == 0) return absl::OkStatus();
  const Sequence first = geometry.block_first(geometry.block_of(last_before));
  OpenSegment* const segment = segments_.find(geometry.segment_of(first));
  private_first_ = first;
  private_open_ = true;
  const std::uint64_t offset = geometry.offset_of(first);
  const auto got = journal_.disk->read_at(segment->data.get(), offset, private_page_.bytes);
  if (!got.ok()) return got.status();
  for (Sequence n = first; n <= last_before; ++n) {
    std::byte* const slot = private_page_.bytes.data() + (n - first) * geometry.slot_bytes;
    Word stamp;
    std::memcpy(&stamp, slot, sizeof stamp);
    if (*got == kPageBytes && stamp == ready_stamp(n)) continue;
    if (options_.origin != nullptr && options_.origin->is_absent(n)) continue;
    return make_error(
        Errc::kDamaged,
        absl::StrCat(journal_.path(segment->number, "jnl"), ", offset ", geometry.offset_of(n),
                     ": record ", n, " of an earlier session is not there; run `lapwing verify`"));
  }
  std::memset(private_page_.bytes.data() + (last_before + 1 - first) * geometry.slot_bytes, 0,
              kPageBytes - (last_before + 1 - first) * geometry.slot_bytes);
  return absl::OkStatus();
}

void BlockWriter::submit(WriteQueue& queue, Sequence head, bool partial_due) {
  for (std::uint64_t i = flights_begin_; i != flights_end_; ++i) {
    if (flights_[i % kWritesInFlightMax].unsent) send(queue, i % kWritesInFlightMax);
  }
  while (flights_end_ - flights_begin_ < kWritesInFlightMax && submitted_ < head) {
    const bool launched =
        private_open_ ? submit_private(queue, head, partial_due) : submit_run(queue, head);
    if (launched) continue;
    const bool may_begin = partial_due && !private_open_ && !private_in_flight_ &&
                           !missing_segment_ && submitted_ < head;
    if (!may_begin) return;
    begin_private(submitted_ + 1);
  }
}

// Submits whole blocks that are contiguous in both ring and segment.
// Returns false if there are none.
bool BlockWriter::submit_run(WriteQueue& queue, Sequence head) {
  const JournalGeometry& geometry = journal_.geometry;
  if (geometry.floor_block(head) <= submitted_) return false;
  const Sequence first = submitted_ + 1;
  const std::uint64_t to_ring_end = options_.capacity - ((first - 1) & (options_.capacity - 1));
  const std::uint64_t to_segment_end =
      geometry.segment_last(geometry.segment_of(first)) - submitted_;
  const std::uint64_t slots = std::min({geometry.floor_block(head) - submitted_, to_ring_end,
                                        to_segment_end, kRunBytesMax / geometry.slot_bytes});
  OpenSegment* const segment = segment_for(first);
  if (segment == nullptr) return false;
  launch(queue, *segment, ring_slot(first), first, submitted_ + slots, slots * geometry.slot_bytes,
         false);
  return true;
}

void BlockWriter::begin_private(Sequence first) {
  std::memset(private_page_.bytes.data(), 0, kPageBytes);
  private_first_ = first;
  private_open_ = true;
}

// Submits the private copy, updated from the ring, once it is whole or due. Returns false if not.
bool BlockWriter::submit_private(WriteQueue& queue, Sequence head, bool partial_due) {
  const JournalGeometry& geometry = journal_.geometry;
  const Sequence block_last = private_first_ + geometry.block_slots() - 1;
  const bool whole = head >= block_last;
  if (private_in_flight_ || !(whole || partial_due)) return false;
  OpenSegment* const segment = segment_for(private_first_);
  if (segment == nullptr) return false;
  const Sequence last = std::min(head, block_last);
  std::memcpy(private_page_.bytes.data() + (submitted_ + 1 - private_first_) * geometry.slot_bytes,
              ring_slot(submitted_ + 1), (last - submitted_) * geometry.slot_bytes);
  private_open_ = !whole;
  private_in_flight_ = true;
  launch(queue, *segment, private_page_.bytes.data(), private_first_, last, kPageBytes, true);
  return true;
}

void BlockWriter::launch(WriteQueue& queue, OpenSegment& segment, const std::byte* slots,
                         Sequence first, Sequence last, std::uint64_t bytes, bool from_private) {
  const std::size_t index = flights_end_++ % kWritesInFlightMax;
  const WriteRequest request{WriteRequest::Kind::kWrite, segment.data.get(),
                             journal_.geometry.offset_of(first), std::span(slots, bytes),
                             options_.tag_base + index};
  flights_[index] = {OngoingRequest(request, {segment.number, "jnl"}),
                     &segment,
                     slots,
                     first,
                     last,
                     from_private,
                     true,
                     false};
  submitted_ = last;
  ++writes_;
  bytes_written_ += bytes;
  send(queue, index);
}

void BlockWriter::send(WriteQueue& queue, std::size_t flight) {
  flights_[flight].unsent = !queue.submit(flights_[flight].request.remaining());
}

absl::Status BlockWriter::complete(std::uint64_t tag, std::int64_t result) {
  Flight& flight = flights_[tag - options_.tag_base];
  switch (flight.request.take(result)) {
    case OngoingRequest::Outcome::kFailed:
      return flight.request.failure(journal_.directory);
    case OngoingRequest::Outcome::kAgain:
      flight.unsent = true;
      break;
    case OngoingRequest::Outcome::kDone:
      flight.done = true;
      flight.segment->data_dirty = true;
      land();
      break;
  }
  return absl::OkStatus();
}

void BlockWriter::land() {
  while (flights_begin_ != flights_end_ && flights_[flights_begin_ % kWritesInFlightMax].done) {
    const Flight& flight = flights_[flights_begin_ % kWritesInFlightMax];
    keep_sums(flight);
    if (flight.from_private) private_in_flight_ = false;
    archived_ = flight.last;
    ++flights_begin_;
  }
}

void BlockWriter::keep_sums(const Flight& flight) {
  const JournalGeometry& geometry = journal_.geometry;
  const std::byte* slots = flight.slots;
  for (Sequence n = flight.first; n <= flight.last; n += geometry.block_slots()) {
    const auto count =
        static_cast<std::uint32_t>(std::min(flight.last - n + 1, geometry.block_slots()));
    const std::uint64_t block = geometry.block_of(n);
    flight.segment->sum_entries[block % geometry.blocks_per_segment()] =
        make_sum(journal_.journal_id, block,
                 std::span(slots, std::size_t{count} * geometry.slot_bytes), count);
    slots += kPageBytes;
  }
}

OpenSegment* BlockWriter::segment_for(Sequence n) {
  const std::uint64_t number = journal_.geometry.segment_of(n);
  const bool unused = journal_.geometry.segment_first(number) > submitted_;
  OpenSegment* const segment = unused ? segments_.find_unused(number) : segments_.find(number);
  if (segment == nullptr && missing_segment_ != number) ++segment_waits_;
  missing_segment_ = segment == nullptr ? std::optional(number) : std::nullopt;
  return segment;
}

const std::byte* BlockWriter::ring_slot(Sequence n) const {
  return options_.ring_slots + ((n - 1) & (options_.capacity - 1)) * journal_.geometry.slot_bytes;
}

}  // namespace lapwing

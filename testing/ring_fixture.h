// The ring of an ended session in plain memory, for tests of recovery. Test code only; not
// thread-safe.
#pragma once

#include <cstring>
#include <vector>

#include "proto/ring_layout.h"
#include "proto/ring_words.h"
#include "proto/slot_form.h"
#include "snapshot/recovery/recovery.h"
#include "testing/journal_fixture.h"

namespace lapwing {

class RingFixture {
 public:
  RingFixture(const JournalFixture& journal, std::uint8_t session, Sequence first,
              std::uint64_t capacity = 1024)
      : journal_(journal), slots_(capacity * journal.geometry().slot_bytes) {
    image_.header.slot_bytes = journal.geometry().slot_bytes;
    image_.header.record_bytes = journal.geometry().record_bytes;
    image_.header.capacity = capacity;
    image_.header.journal_id = JournalFixture::journal_id();
    image_.header.session_id = fixture_id(session);
    image_.header.boot_id = JournalFixture::boot_id();
    image_.header.session_first_sequence = first;
    image_.header.ring_first_sequence = first;
    image_.words = &words_;
    image_.slots = slots_.data();
    set_words(first - 1, first - 1, first - 1);
  }

  // Publishes first … last as in the slot protocol, with head last.
  void publish(Sequence first, Sequence last) {
    for (Sequence n = first; n <= last; ++n) {
      SlotForm::store_slot(at(n), n, journal_.record(n).data(), journal_.geometry().record_bytes);
    }
    store_head(words_, last);
  }
  // Publishes the session's records up to `head`, and sets archived and durable.
  void reach(Sequence head, Sequence archived, Sequence durable) {
    publish(image_.header.session_first_sequence, head);
    set_words(head, archived, durable);
  }
  // The publisher died within record n: after W1, or after W3 and before W4.
  void begin_slot(Sequence n) {
    const Word stamp = writing_stamp(n);
    std::memcpy(at(n), &stamp, sizeof stamp);
  }
  void finish_slot(Sequence n) {
    SlotForm::store_slot(at(n), n, journal_.record(n).data(), journal_.geometry().record_bytes);
  }
  void set_words(Sequence head, Sequence archived, Sequence durable) {
    store_head(words_, head);
    store_archived(words_, archived);
    store_durable(words_, durable);
  }
  void fail(JournalState state) { store_journal_condition(words_, {state, 5}); }
  RingHeader& header() { return image_.header; }

  RingOpener opener() {
    return [this](const std::string& path) -> absl::StatusOr<std::optional<RingImage>> {
      opened_path = path;
      return image_;
    };
  }
  static RingOpener none() {
    return
        [](const std::string&) -> absl::StatusOr<std::optional<RingImage>> { return std::nullopt; };
  }

  std::string opened_path;

 private:
  std::byte* at(Sequence n) {
    return slots_.data() +
           ((n - 1) & (image_.header.capacity - 1)) * journal_.geometry().slot_bytes;
  }

  const JournalFixture& journal_;
  std::vector<std::byte> slots_;
  RingWords words_{};
  RingImage image_{};
};

}  // namespace lapwing

#include "bench/one_way.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/lines.h"
#include "bench/stamped_record.h"
#include "bench/two_processes.h"
#include "proto/ring_layout.h"
#include "testing/closing_publisher.h"

namespace lapwing::bench {
namespace {

constexpr double kWarmUpShare = 0.1;  // share of records that are not timed

// The reader's results, returned through shared memory.
struct Arrived {
  std::atomic<int> attached{0};
  Curve curve;
  std::uint64_t slow = 0;
  std::uint64_t timed = 0;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t torn = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t early = 0;  // arrived before they were due, because the cores' clocks differ
};

class Arrivals {
 public:
  Arrivals(std::size_t records, Arrived& arrived)
      : warm_up_(static_cast<std::size_t>(kWarmUpShare * static_cast<double>(records))),
        samples_(records),
        arrived_(arrived) {}

  void take(const std::byte* bytes, Sequence expected) {
    const StampedRecord record(bytes);
    const bool whole = record.whole();
    const std::uint64_t now = ticks_after_reads();
    arrived_.torn += whole ? 0U : 1U;
    arrived_.out_of_order += record.number() == expected ? 0U : 1U;
    if (now < record.due_ticks()) ++arrived_.early;
    if (expected <= warm_up_) return;
    samples_.add(now < record.due_ticks() ? 0 : now - record.due_ticks());
  }

  void hand_over(std::uint64_t records, std::uint64_t lost) {
    arrived_.records = records;
    arrived_.lost = lost;
    arrived_.timed = samples_.size();
    arrived_.slow = samples_.count_above_ns(kSlowNs);
    if (samples_.size() > 0) arrived_.curve = samples_.curve_ns();
  }

 private:
  std::size_t warm_up_;
  Samples samples_;
  Arrived& arrived_;
};

// A carrier has a Reader, constructed in the reading process, and a Writer, constructed in the
// writing process on placement.first. The Reader's constructor returns when it cannot miss later
// records. Both readers busy-wait for the next record and take it. kNoSequence: there are no more
// records.
using Words = std::array<std::uint64_t, StampedRecord::kWords>;

class Bus {
 public:
  class Reader {
   public:
    explicit Reader(const Bus& bus)
        : subscriber_(value_or_fail(
              Subscriber::open(subscriber_options(bus.directory_.path(), WaitStrategy::kBusy)))) {
      await_join(subscriber_);
    }
    Sequence take(Words& words) {
      for (;;) {
        const Result<Sequence> sequence = subscriber_.read_one(words, deadline_);
        if (sequence.ok()) return *sequence;
        if (sequence == Errc::kTimedOut) fail("records stopped arriving in the middle of a load");
        if (sequence != Errc::kEventDue) fail(subscriber_.status().ToString());
        if (subscriber_.next(deadline_)->is(EventKind::kClosed)) return kNoSequence;
      }
    }
    std::uint64_t records() const { return subscriber_.counters().records; }
    std::uint64_t lost() const { return subscriber_.counters().lost; }

   private:
    Subscriber subscriber_;
    Deadline deadline_ = kHang;
  };

  class Writer {
   public:
    Writer(const Bus& bus, Placement placement)
        : publisher_(
              open_publisher(bus.setting_, placement, bus.directory_.path(), Journal::kNone)) {}
    void send(std::uint64_t, const StampedRecord& record) {
      publish_or_fail(*publisher_, record.bytes());
    }
    void close() { ok_or_fail(publisher_->close()); }

   private:
    ClosingPublisher publisher_;
  };

  Bus(const Setting& setting, const Schedule&)
      : setting_(setting), directory_(setting.ring_directory) {}

 private:
  const Setting& setting_;
  PrivateDirectory directory_;
};

class BareLines {
 public:
  static_assert(StampedRecord::kWords == Line::kWords - 1);  // plus the stamp

  class Reader {
   public:
    explicit Reader(const BareLines& bare) : bare_(bare) {
      // Maps every page before the load begins, as in a subscriber's ring.
      for (std::uint64_t n = 1; n <= bare.lines_.count(); n += kPageBytes / kLineBytes) {
        is_sent(bare.lines_[n], n);
      }
    }
    Sequence take(Words& words) {
      if (records_ == bare_.records_) return kNoSequence;
      const Line& line = bare_.lines_[records_ + 1];
      spin_until([&] { return is_sent(line, records_ + 1); });
      for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = line.words[i + 1].load(std::memory_order_relaxed);
      }
      bare_.headway_.took(++records_);
      return records_;
    }
    std::uint64_t records() const { return records_; }
    std::uint64_t lost() const { return 0; }

   private:
    const BareLines& bare_;
    std::uint64_t records_ = 0;
  };

  class Writer {
   public:
    Writer(const BareLines& bare, Placement placement) : bare_(bare) {
      pin_to_core(placement.first);
    }
    void send(std::uint64_t n, const StampedRecord& record) {
      Words words;
      std::memcpy(words.data(), record.bytes().data(), sizeof words);
      bare_.headway_.await(n);
      Line& line = bare_.lines_[n];
      for (std::size_t i = 0; i < words.size(); ++i) {
        line.words[i + 1].store(words[i], std::memory_order_relaxed);
      }
      bench::send(line, n);
    }
    void close() {}

   private:
    const BareLines& bare_;
  };

  BareLines(const Setting& setting, const Schedule& schedule)
      : records_(schedule.records()),
        lines_(capacity_for(setting)),
        headway_(capacity_for(setting)) {}

 private:
  std::uint64_t records_;
  Lines lines_;
  Headway headway_;
};

std::string fault_of(const Arrived& arrived, std::size_t published) {
  const std::uint64_t seen = arrived.records + arrived.lost;
  if (arrived.torn != 0) return absl::StrCat(arrived.torn, " torn records");
  if (arrived.out_of_order != 0) return absl::StrCat(arrived.out_of_order, " out of order");
  if (arrived.early != 0) return absl::StrCat(arrived.early, " arrived before they were due");
  if (seen != published) return absl::StrCat(seen, " of ", published, " records accounted for");
  if (arrived.timed == 0) return "all timed records were lost";
  return {};
}

template <typename Carrier>
void receive(const Carrier& carrier, std::size_t records, Arrived& arrived) {
  Arrivals arrivals(records, arrived);
  typename Carrier::Reader reader(carrier);
  arrived.attached = 1;
  Words words;
  while (const Sequence n = reader.take(words)) {
    arrivals.take(std::as_bytes(std::span(words)).data(), n);
  }
  arrivals.hand_over(reader.records(), reader.lost());
}

template <typename Carrier>
Passage passage(const Setting& setting, Placement placement, const Schedule& schedule) {
  const Carrier carrier(setting, schedule);
  const Shared<Arrived> arrived;
  Child reader(placement.second, [&] { receive(carrier, schedule.records(), *arrived); });
  typename Carrier::Writer writer(carrier, placement);
  spin_until([&] { return arrived->attached == 1; });
  std::uint64_t behind_ticks = 0;
  send_when_due(schedule, [&](std::size_t record, std::uint64_t due, std::uint64_t now) {
    behind_ticks = std::max(behind_ticks, now - due);
    writer.send(record + 1, StampedRecord(record + 1, due));
  });
  writer.close();
  reader.join();
  const auto timed = static_cast<double>(std::max<std::uint64_t>(arrived->timed, 1));
  return {.curve = arrived->curve,
          .slow_per_million = static_cast<double>(arrived->slow) * 1e6 / timed,
          .publisher_late_ns = static_cast<double>(behind_ticks) * ns_per_tick(),
          .lost = arrived->lost,
          .fault = fault_of(*arrived, schedule.records())};
}

}  // namespace

double Passage::ns_at(double fraction) const {
  const auto found = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return point.fraction >= fraction;
  });
  return found->ns;
}

Passage over_bus(const Setting& setting, Placement placement, const Schedule& schedule) {
  return passage<Bus>(setting, placement, schedule);
}

Passage over_lines(const Setting& setting, Placement placement, const Schedule& schedule) {
  return passage<BareLines>(setting, placement, schedule);
}

}  // namespace lapwing::bench

// A view of one bus: a thread that follows it as a subscriber and, at every interval, makes a
// complete message for each wanted instrument. docs/reference/http-api.md lists its keys.
//
// Only this thread reads the bus, so other threads do not wait, whatever the bus's owner does. If a
// bus cannot be followed, the view retries every kViewRetryNs.
//
// Thread safety: the owner's thread. `sink` runs on the view's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/subscriber.h"
#include "monitor/view/memory_budget.h"
#include "monitor/view/view_content.h"
#include "monitor/view/view_place.h"
#include "os/stop_event.h"
#include "snapshot/bus_directory.h"
#include "subscribers/conflation/record_source.h"

namespace lapwing {

inline constexpr std::uint64_t kViewIntervalNs = 250'000'000;
inline constexpr std::uint64_t kViewSilenceNsMax = 1'000'000'000;  // between messages
inline constexpr std::uint64_t kViewRetryNs = 10'000'000'000;
// A view that ended at a limit would reread everything, only to end there again. So the pause
// doubles each time.
inline constexpr std::uint64_t kViewRetryNsMax = 600'000'000'000;
inline constexpr std::size_t kViewedInstrumentsMax = 64;

struct BusViewOptions {
  std::string directory;
  std::string version;
  std::string revision;
  std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>(kViewBookBytesMax);
};

struct ViewUpdate {
  // For each wanted instrument with something new: the text that requested it, and the message.
  std::vector<std::pair<std::string, std::shared_ptr<const std::string>>> messages = {};
  std::uint64_t behind = 0;  // records
  bool is_last = false;      // the thread is ending
};

class BusView {
 public:
  // Called every kViewIntervalNs, with or without messages.
  using Sink = std::function<void(ViewUpdate update)>;

  // Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<BusView>> start(BusViewOptions options, Sink sink);
  BusView(const BusView&) = delete;
  BusView& operator=(const BusView&) = delete;
  ~BusView();  // waits for the thread to end

  // `instrument`: a symbol, a number as id:N, or empty for the instrument with the most records.
  // Returns false if the limit on instruments is reached.
  bool want(const std::string& instrument);
  bool has_room_for(const std::string& instrument) const;  // whether want() would return true
  void forget(const std::string& instrument);
  // Requests the thread to end. Its last update reports the end.
  void stop();

 private:
  BusView(BusViewOptions options, Sink sink, StopEvent stop)
      : options_(std::move(options)), sink_(std::move(sink)), stop_(std::move(stop)) {}

  void run();
  absl::Status follow();
  bool is_another_bus() const;
  absl::StatusOr<RecordSource> open();
  absl::Status take(const Result<Batch>& read);
  void take_event(const Event& event);
  std::size_t rows_wanted() const;
  bool is_due() const;
  void publish();
  std::string message(const std::string& instrument);

  const BusViewOptions options_;
  const Sink sink_;
  const StopEvent stop_;
  mutable std::mutex mutex_;
  std::set<std::string> wanted_;  // protected by mutex_

  // Used only by this thread.
  bool uses_ring_alone_ = false;   // the journal that bus.json names does not exist
  bool was_live_ = false;          // since it was opened
  bool is_another_ = false;        // the bus is no longer the bus that was opened
  std::uint64_t lost_before_ = 0;  // by earlier subscribers
  BusDescription bus_;             // as of when it was opened
  std::string schema_;
  OnGap on_gap_ = OnGap::kFill;
  std::optional<RecordSource> source_;
  std::unique_ptr<ViewContent> content_;
  ViewPlace place_;
  ViewPlace published_;
  std::uint64_t due_ns_ = 0;
  std::map<std::string, std::uint64_t> sent_ns_;  // for each wanted instrument

  std::thread thread_;
};

}  // namespace lapwing

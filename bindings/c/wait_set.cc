#include "lapwing/wait_set.h"

#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/channel_handle.h"
#include "bindings/c/structs.h"
#include "bindings/c/wait_sources.h"

struct lapwing_wait_set : lapwing::c::Handle<lapwing::WaitSet> {
  static constexpr char kWhat[] = "wait set";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

static_assert(LAPWING_SOURCE_SUBSCRIBER == static_cast<int>(SourceKind::kSubscriber));
static_assert(LAPWING_SOURCE_CONFLATED == static_cast<int>(SourceKind::kConflatedReader));
static_assert(LAPWING_SOURCE_CONSUMER == static_cast<int>(SourceKind::kConsumer));
static_assert(LAPWING_SOURCE_PRODUCER == static_cast<int>(SourceKind::kProducer));
static_assert(LAPWING_SOURCE_DUPLEX == static_cast<int>(SourceKind::kDuplex));
static_assert(LAPWING_SOURCE_LISTENER == static_cast<int>(SourceKind::kListener));
static_assert(LAPWING_SOURCE_FD == static_cast<int>(SourceKind::kDescriptor));
static_assert(LAPWING_SOURCE_TIMER == static_cast<int>(SourceKind::kTimer));

absl::StatusOr<WaitSet> open_set(lapwing_wait wait) {
  if (wait < LAPWING_WAIT_BUSY || wait > LAPWING_WAIT_PARK) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("wait is ", wait, ", which is not LAPWING_WAIT_BUSY, BACKOFF or PARK"));
  }
  return WaitSet::open({.wait = static_cast<WaitStrategy>(wait)});
}

absl::StatusOr<SourceId> add_end(WaitSet& set, End& opened, std::size_t bytes,
                                 std::uint64_t token) {
  return std::visit(
      [&](auto& end) -> absl::StatusOr<SourceId> {
        if constexpr (std::is_same_v<std::decay_t<decltype(end)>, ChannelProducer>) {
          return set.add(end, bytes, token);
        } else {
          if (bytes == 0) return set.add(end, token);
          return make_error(
              Errc::kInvalidArgument,
              absl::StrCat("bytes is ", bytes, ", but only a producer waits for room. Give 0"));
        }
      },
      opened.end);
}

// The two times of a timer. If `in_ns` is 0, it is ready now.
struct TimerTimes {
  Deadline at;
  std::chrono::nanoseconds every;
};
absl::StatusOr<TimerTimes> timer_times(std::int64_t in_ns, std::int64_t every_ns) {
  if (every_ns < 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("every_ns is ", every_ns, ". Give nanoseconds, or 0 for once"));
  }
  return TimerTimes{deadline_in(in_ns), std::chrono::nanoseconds(every_ns)};
}

lapwing_ready ready_of(const Ready& ready) {
  lapwing_ready out{};
  out.kind = static_cast<lapwing_source_kind>(ready.kind);
  out.token = ready.token;
  out.source = ready.source;
  out.expirations = ready.expirations;
  out.events = ready.events;
  return out;
}

lapwing_result answer_of(Result<> done, lapwing_error* error) {
  return done.ok() ? success() : fail_with(error, done.error(), absl::OkStatus());
}

}  // namespace

lapwing_result put_source(const absl::StatusOr<SourceId>& added, std::uint64_t* source,
                          lapwing_error* error) {
  if (!added.ok()) return fail(error, added.status());
  if (source != nullptr) *source = *added;
  return success();
}

}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::Errc;
using lapwing::WaitSet;

extern "C" {

lapwing_result lapwing_wait_set_open(lapwing_wait wait, lapwing_wait_set** set,
                                     lapwing_error* error) {
  return open_into(set, error, [&] { return open_set(wait); });
}

lapwing_result lapwing_wait_set_add_subscriber(lapwing_wait_set* set,
                                               lapwing_subscriber* subscriber, uint64_t token,
                                               uint64_t* source, lapwing_error* error) {
  return call(set, error,
              [&](WaitSet& opened) { return add_to(opened, subscriber, token, source, error); });
}

lapwing_result lapwing_wait_set_add_channel(lapwing_wait_set* set, lapwing_channel* channel,
                                            size_t bytes, uint64_t token, uint64_t* source,
                                            lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) {
    return call(channel, error, [&](End& end) {
      return put_source(add_end(opened, end, bytes, token), source, error);
    });
  });
}

lapwing_result lapwing_wait_set_add_listener(lapwing_wait_set* set, lapwing_listener* listener,
                                             uint64_t token, uint64_t* source,
                                             lapwing_error* error) {
  return call(set, error,
              [&](WaitSet& opened) { return add_to(opened, listener, token, source, error); });
}

lapwing_result lapwing_wait_set_add_fd(lapwing_wait_set* set, int32_t fd, uint32_t events,
                                       uint64_t token, uint64_t* source, lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) {
    return put_source(opened.add_fd(fd, events, token), source, error);
  });
}

lapwing_result lapwing_wait_set_add_timer(lapwing_wait_set* set, int64_t in_ns, int64_t every_ns,
                                          uint64_t token, uint64_t* source, lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) {
    const absl::StatusOr<TimerTimes> times = timer_times(in_ns, every_ns);
    if (!times.ok()) return fail(error, times.status());
    return put_source(opened.add_timer(times->at, token, times->every), source, error);
  });
}

lapwing_result lapwing_wait_set_set_timer(lapwing_wait_set* set, uint64_t source, int64_t in_ns,
                                          int64_t every_ns, lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) {
    const absl::StatusOr<TimerTimes> times = timer_times(in_ns, every_ns);
    if (!times.ok()) return fail(error, times.status());
    return answer_of(opened.set_timer(source, times->at, times->every), error);
  });
}

lapwing_result lapwing_wait_set_remove(lapwing_wait_set* set, uint64_t source,
                                       lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) { return answer_of(opened.remove(source), error); });
}

lapwing_result lapwing_wait_set_wait(lapwing_wait_set* set, lapwing_ready* ready,
                                     int64_t timeout_ns, lapwing_error* error) {
  return call(set, error, [&](WaitSet& opened) {
    if (ready == nullptr) {
      return fail(error, Errc::kInvalidArgument, "ready is NULL; give its address");
    }
    if (absl::Status good = check_struct(ready, ready->struct_size, "ready"); !good.ok()) {
      return fail(error, good);
    }
    const lapwing::Result<lapwing::Ready> found = opened.wait(deadline_in(timeout_ns));
    if (!found.ok()) return fail_with(error, found.error(), absl::OkStatus());
    return fill(ready, "ready", error, [&] { return ready_of(*found); });
  });
}

void lapwing_wait_set_interrupt(lapwing_wait_set* set) {
  if (set != nullptr) set->object.interrupt();
}

void lapwing_wait_set_destroy(lapwing_wait_set** set) {
  destroy(set);
}

}  // extern "C"

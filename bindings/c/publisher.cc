#include "lapwing/publisher.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/log.h"
#include "bindings/c/structs.h"

struct lapwing_publisher : lapwing::c::Handle<lapwing::Publisher> {
  static constexpr char kWhat[] = "publisher";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

constexpr std::uint32_t kPublisherFlags = LAPWING_PUBLISHER_NO_JOURNAL |
                                          LAPWING_PUBLISHER_HUGE_PAGES | LAPWING_PUBLISHER_RESUME |
                                          LAPWING_PUBLISHER_GROUP | LAPWING_PUBLISHER_RESTAMPED;

absl::Status check_publisher_choices(const lapwing_publisher_options& given) {
  const auto refused = [](const char* field, std::uint32_t value, const char* valid) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("options.", field, " is ", value, ". Give ", valid));
  };
  if ((given.flags & ~kPublisherFlags) != 0) {
    return refused(
        "flags", given.flags,
        "LAPWING_PUBLISHER_NO_JOURNAL, HUGE_PAGES, RESUME, GROUP or RESTAMPED, or a sum of them");
  }
  if (given.on_journal_lag < LAPWING_ON_JOURNAL_LAG_WAIT ||
      given.on_journal_lag > LAPWING_ON_JOURNAL_LAG_SHED) {
    return refused("on_journal_lag", given.on_journal_lag,
                   "LAPWING_ON_JOURNAL_LAG_WAIT or LAPWING_ON_JOURNAL_LAG_SHED");
  }
  if (given.on_journal_failure < LAPWING_ON_JOURNAL_FAILURE_CONTINUE ||
      given.on_journal_failure > LAPWING_ON_JOURNAL_FAILURE_STOP) {
    return refused("on_journal_failure", given.on_journal_failure,
                   "LAPWING_ON_JOURNAL_FAILURE_CONTINUE or LAPWING_ON_JOURNAL_FAILURE_STOP");
  }
  if ((given.flags & LAPWING_PUBLISHER_GROUP) == 0 && given.group != 0) {
    return refused("group", given.group, "the flag LAPWING_PUBLISHER_GROUP with it");
  }
  for (const auto& [field, ns] : {std::pair("sync_interval_ns", given.sync_interval_ns),
                                  std::pair("retain_age_ns", given.retain_age_ns)}) {
    if (absl::Status good = check_duration(field, ns); !good.ok()) return good;
  }
  if (given.metadata == nullptr && given.metadata_bytes != 0) {
    return make_error(Errc::kInvalidArgument,
                      "options.metadata is NULL, and metadata_bytes is not 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<PublisherOptions> publisher_options(const lapwing_publisher_options& given) {
  if (absl::Status good = check_publisher_choices(given); !good.ok()) return good;
  PublisherOptions options;
  options.directory = text_of(given.directory);
  options.name = text_of(given.name);
  if (given.schema_name != nullptr) options.schema_name = given.schema_name;
  if (given.schema != nullptr) {
    absl::StatusOr<Schema> described = Schema::parse(given.schema);
    if (!described.ok()) return described.status();
    options.schema = *std::move(described);
  }
  if (given.record_bytes != 0) options.record_bytes = given.record_bytes;
  options.capacity = given.capacity;
  options.ring_directory = text_of(given.ring_directory);
  options.huge_pages = (given.flags & LAPWING_PUBLISHER_HUGE_PAGES) != 0;
  options.journal = (given.flags & LAPWING_PUBLISHER_NO_JOURNAL) == 0;
  options.journal_directory = text_of(given.journal_directory);
  options.segment_bytes = given.segment_bytes;
  options.sync_interval = duration_of(given.sync_interval_ns);
  options.retain_bytes = given.retain_bytes;
  options.retain_age = duration_of(given.retain_age_ns);
  options.on_journal_lag = OnJournalLag{given.on_journal_lag};
  options.on_journal_failure = OnJournalFailure{given.on_journal_failure};
  if ((given.flags & LAPWING_PUBLISHER_GROUP) != 0) options.group = given.group;
  if (given.metadata_bytes != 0) {
    options.metadata.assign(static_cast<const char*>(given.metadata), given.metadata_bytes);
  }
  options.source_id = given.source_id;
  options.source_offset = given.source_offset;
  options.restamped = (given.flags & LAPWING_PUBLISHER_RESTAMPED) != 0;
  options.resume = (given.flags & LAPWING_PUBLISHER_RESUME) != 0;
  options.log = log_line;
  return options;
}

absl::StatusOr<Publisher> open_publisher(const lapwing_publisher_options* given,
                                         std::int64_t timeout_ns) {
  lapwing_publisher_options taken = LAPWING_PUBLISHER_OPTIONS_INIT;
  if (given == nullptr) {
    return make_error(Errc::kInvalidArgument, "options is NULL; a publisher needs a directory");
  }
  if (absl::Status read = copy_in(given, "options", taken); !read.ok()) return read;
  absl::StatusOr<PublisherOptions> options = publisher_options(taken);
  if (!options.ok()) return options.status();
  return Publisher::open(*std::move(options), deadline_in(timeout_ns));
}

lapwing_publisher_info publisher_info(const Publisher& publisher) {
  const JournalCondition journal = publisher.journal();
  const PublisherCounters counters = publisher.counters();
  const LastSession last = publisher.last_session();
  lapwing_publisher_info info{};
  info.record_bytes = publisher.record_bytes();
  info.journal_id = id_of(publisher.journal_id());
  info.session_id = id_of(publisher.session_id());
  info.first = publisher.first();
  info.head = publisher.head();
  info.durable = publisher.durable();
  info.source_offset = publisher.source_offset();
  info.subscribers = publisher.subscriber_count();
  info.settled = static_cast<std::uint32_t>(last.how);
  info.journal_state = static_cast<std::uint32_t>(journal.state);
  info.journal_errno = journal.sys_errno;
  info.void_first = last.void_first;
  info.void_last = last.void_last;
  info.journal_stalls = counters.journal_stalls;
  info.journal_stall_ns_max = counters.journal_stall_ns_max;
  info.journal_stall_ns_total = counters.journal_stall_ns_total;
  info.idle_wakes = counters.idle_wakes;
  info.doorbells = counters.doorbells;
  return info;
}

[[gnu::cold, gnu::noinline]] lapwing_result fail_to_publish(const Publisher& publisher,
                                                            lapwing_error* error) {
  return fail(error, publisher.last_error());
}

// Omits the checks that only a batch needs. The publisher itself checks the size.
[[gnu::always_inline]] inline lapwing_result publish_one(Publisher& publisher,
                                                         std::span<const std::byte> record,
                                                         std::int64_t timeout_ns,
                                                         std::uint64_t* last,
                                                         lapwing_error* error) {
  const Result<Sequence> published = timeout_ns < 0
                                         ? publisher.publish(record)
                                         : publisher.publish(record, deadline_in(timeout_ns));
  if (!published.ok()) [[unlikely]]
    return fail_to_publish(publisher, error);
  if (last != nullptr) *last = *published;
  return success();
}

[[gnu::noinline]] lapwing_result publish_batch(Publisher& publisher, const void* records,
                                               std::size_t count, std::size_t record_bytes,
                                               std::int64_t timeout_ns, std::uint64_t* last,
                                               lapwing_error* error) {
  if (record_bytes != publisher.record_bytes()) {
    return fail(error, Errc::kRecordSize,
                absl::StrCat("records are of ", record_bytes, " bytes, and those of this bus of ",
                             publisher.record_bytes()));
  }
  if (count == 0) return success();
  if (records == nullptr || count > PTRDIFF_MAX / record_bytes) {
    return fail(error, Errc::kInvalidArgument,
                absl::StrCat("records is NULL, or no memory holds ", count, " of them"));
  }
  const Result<Sequence> published = publisher.publish_batch(
      {static_cast<const std::byte*>(records), count * record_bytes}, deadline_in(timeout_ns));
  if (last != nullptr) *last = *published;
  return published.ok() ? success() : fail_to_publish(publisher, error);
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::Publisher;

extern "C" {

void lapwing_publisher_options_init(lapwing_publisher_options* options, uint32_t struct_size) {
  set_defaults(lapwing_publisher_options LAPWING_PUBLISHER_OPTIONS_INIT, options, struct_size);
}

lapwing_result lapwing_publisher_open(const lapwing_publisher_options* options, int64_t timeout_ns,
                                      lapwing_publisher** publisher, lapwing_error* error) {
  return open_into(publisher, error, [&] { return open_publisher(options, timeout_ns); });
}

lapwing_result lapwing_publisher_publish(lapwing_publisher* publisher, const void* records,
                                         size_t count, size_t record_bytes, int64_t timeout_ns,
                                         uint64_t* last, lapwing_error* error) {
  if (last != nullptr) *last = 0;
  return call(publisher, error, [&](Publisher& opened) {
    if (count == 1 && records != nullptr) [[likely]] {
      return publish_one(opened, {static_cast<const std::byte*>(records), record_bytes}, timeout_ns,
                         last, error);
    }
    return publish_batch(opened, records, count, record_bytes, timeout_ns, last, error);
  });
}

lapwing_result lapwing_publisher_flush(lapwing_publisher* publisher, int64_t timeout_ns,
                                       uint64_t* durable, lapwing_error* error) {
  if (durable != nullptr) *durable = 0;
  return call(publisher, error, [&](Publisher& opened) {
    const absl::Status flushed = opened.flush(deadline_in(timeout_ns));
    if (durable != nullptr) *durable = opened.durable();
    return flushed.ok() ? success() : fail(error, flushed);
  });
}

lapwing_result lapwing_publisher_inspect(lapwing_publisher* publisher, lapwing_publisher_info* info,
                                         lapwing_error* error) {
  return call(publisher, error, [&](Publisher& opened) {
    return fill(info, "info", error, [&] { return publisher_info(opened); });
  });
}

lapwing_result lapwing_publisher_close(lapwing_publisher* publisher, int64_t timeout_ns,
                                       lapwing_error* error) {
  return call(publisher, error, [&](Publisher& opened) {
    const absl::Status closed = opened.close(deadline_in(timeout_ns));
    return closed.ok() ? success() : fail(error, closed);
  });
}

void lapwing_publisher_interrupt(lapwing_publisher* publisher) {
  if (publisher != nullptr) publisher->object.interrupt();
}

void lapwing_publisher_destroy(lapwing_publisher** publisher) {
  destroy(publisher);
}

}  // extern "C"

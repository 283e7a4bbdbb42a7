#include "lapwing/history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bindings/c/batch.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"

struct lapwing_history : lapwing::c::Handle<lapwing::History> {
  static constexpr char kWhat[] = "history";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

lapwing_history_info history_info(const History& history) {
  const HistoryInfo now = history.info();
  lapwing_history_info info{};
  info.record_bytes = now.record_bytes;
  put_text(info.schema_name, now.schema_name);
  info.journal_id = id_of(now.journal_id);
  info.oldest = now.oldest;
  info.archived = now.archived;
  info.durable = now.durable;
  return info;
}

lapwing_result read_rows(History& history, Sequence first, BatchOut out, lapwing_error* error) {
  const Result<Batch> batch = history.read(first, out.room(history.info().record_bytes));
  if (!batch.ok()) {
    out.set_row_bytes(batch->row_bytes);
    return answer(error, batch.error(), history);
  }
  out.set(*batch);
  return success();
}

// Keeps a view mapped.
using Mapping = std::shared_ptr<const void>;

lapwing_result map_rows(History& history, Sequence first, Sequence last, lapwing_view* view,
                        lapwing_error* error) {
  if (absl::Status fits = check_struct(view, view == nullptr ? 0 : view->struct_size, "view");
      !fits.ok()) {
    return fail(error, fits);
  }
  copy_out(lapwing_view{}, view);
  if (view->struct_size < sizeof(lapwing_view)) {
    return fail(error, Errc::kInvalidArgument,
                "view is smaller than a view; set struct_size to sizeof");
  }
  if (first == kNoSequence || last < first) {
    return fail(error, Errc::kInvalidArgument,
                absl::StrCat(first, " to ", last, " is not a range of records"));
  }
  const absl::StatusOr<MappedSegment> segment = history.map(first);
  if (!segment.ok()) return fail(error, segment.status());
  const std::uint64_t skipped = first - segment->first;
  lapwing_view made{};
  made.row_bytes = segment->record_bytes;
  made.rows = segment->records + skipped * segment->stride;
  made.stride_bytes = segment->stride;
  made.first = first;
  made.count = std::min(segment->count - skipped, last - first + 1);
  made.token = new Mapping(segment->mapping);
  copy_out(made, view);
  return success();
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::History;

extern "C" {

lapwing_result lapwing_history_open(const char* directory, lapwing_history** history,
                                    lapwing_error* error) {
  return open_into(history, error, [&] { return History::open(text_of(directory)); });
}

lapwing_result lapwing_history_inspect(lapwing_history* history, lapwing_history_info* info,
                                       lapwing_error* error) {
  return call(history, error, [&](History& opened) {
    return fill(info, "info", error, [&] { return history_info(opened); });
  });
}

lapwing_result lapwing_history_read(lapwing_history* history, uint64_t first, lapwing_batch* batch,
                                    lapwing_error* error) {
  return call(history, error, [&](History& opened) {
    if (absl::Status good = BatchOut::check(batch); !good.ok()) return fail(error, good);
    return read_rows(opened, first, BatchOut(*batch), error);
  });
}

lapwing_result lapwing_history_find_time(lapwing_history* history, uint64_t utc_ns,
                                         uint64_t* sequence, lapwing_error* error) {
  return call(history, error, [&](History& opened) {
    if (sequence == nullptr) {
      return fail(error, lapwing::Errc::kInvalidArgument, "sequence is NULL; give its address");
    }
    const absl::StatusOr<lapwing::Sequence> found = opened.find_time(utc_ns);
    if (!found.ok()) return fail(error, found.status());
    *sequence = *found;
    return success();
  });
}

lapwing_result lapwing_history_map(lapwing_history* history, uint64_t first, uint64_t last,
                                   lapwing_view* view, lapwing_error* error) {
  return call(history, error,
              [&](History& opened) { return map_rows(opened, first, last, view, error); });
}

void lapwing_history_unmap(lapwing_view* view) {
  if (view == nullptr || view->struct_size < sizeof(lapwing_view)) return;
  delete static_cast<Mapping*>(view->token);
  copy_out(lapwing_view{}, view);
}

void lapwing_history_destroy(lapwing_history** history) {
  destroy(history);
}

}  // extern "C"

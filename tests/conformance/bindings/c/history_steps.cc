#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

Handles<lapwing_history>& histories() {
  static auto* const all = new Handles<lapwing_history>;
  return *all;
}

Handles<lapwing_view>& views() {
  static auto* const all = new Handles<lapwing_view>;
  return *all;
}

Lines open(const Step& step) {
  lapwing_history* opened = nullptr;
  const lapwing_result result =
      lapwing_history_open(step.text_or_null("directory"), &opened, nullptr);
  if (result == LAPWING_OK) histories().put(step.text("as"), opened);
  return line(result);
}

Lines inspect(const Step& step) {
  auto info = sized<lapwing_history_info>();
  const lapwing_result result = lapwing_history_inspect(histories().of(step), &info, nullptr);
  return line(result, absl::StrCat("record_bytes=", info.record_bytes, " schema=", info.schema_name,
                                   " oldest=", info.oldest, " archived=", info.archived,
                                   " durable=", info.durable));
}

Lines read(const Step& step) {
  constexpr std::size_t kRowBytesMax = 4096;
  const std::size_t rows = step.number("rows");
  ReadBatch into(rows, rows * kRowBytesMax);
  const lapwing_result result =
      lapwing_history_read(histories().of(step), step.number("first"), &into.batch, nullptr);
  if (result != LAPWING_OK) return line(result);
  return {into.batch.kind == LAPWING_BATCH_EVENT ? event_line(into.batch.event)
                                                 : rows_line(into.batch)};
}

Lines find_time(const Step& step) {
  std::uint64_t sequence = 0;
  const lapwing_result result =
      lapwing_history_find_time(histories().of(step), step.number("value"), &sequence, nullptr);
  return line(result, absl::StrCat("sequence=", sequence));
}

Lines map(const Step& step) {
  auto* const view = new lapwing_view(sized<lapwing_view>());
  const lapwing_result result = lapwing_history_map(histories().of(step), step.number("first"),
                                                    step.number("last"), view, nullptr);
  if (result != LAPWING_OK) {
    delete view;
    return line(result);
  }
  Digest digest;
  for (std::uint64_t i = 0; i < view->count; ++i) {
    digest.add(
        {static_cast<const std::byte*>(view->rows) + i * view->stride_bytes, view->row_bytes});
  }
  views().put(step.text("as"), view);
  return line(result, absl::StrCat("first=", view->first, " count=", view->count,
                                   " row_bytes=", view->row_bytes, " digest=", digest.text()));
}

Lines unmap(const Step& step) {
  lapwing_view* const view = views().take(step.text("on"));
  if (view == nullptr) return line(LAPWING_ERROR_MISUSE);
  lapwing_history_unmap(view);
  delete view;
  return line(LAPWING_OK);
}

}  // namespace

Operations history_operations() {
  return {
      {"history.open", open},
      {"history.inspect", inspect},
      {"history.read", read},
      {"history.find-time", find_time},
      {"history.map", map},
      {"history.unmap", unmap},
      {"history.destroy",
       [](const Step& step) { return destroy(histories(), step, lapwing_history_destroy); }},
  };
}

}  // namespace lapwing::conformance

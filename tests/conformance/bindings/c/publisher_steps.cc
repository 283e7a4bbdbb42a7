#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

Handles<lapwing_publisher>& publishers() {
  static auto* const all = new Handles<lapwing_publisher>;
  return *all;
}

Lines open(const Step& step) {
  auto options = sized<lapwing_publisher_options>();
  options.directory = step.text_or_null("directory");
  options.schema_name = step.text_or_null("schema_name");
  options.schema = step.text_or_null("schema");
  options.record_bytes = static_cast<std::uint32_t>(step.number("record_bytes"));
  options.capacity = step.number("capacity");
  step.set("segment_bytes", options.segment_bytes);
  options.retain_bytes = step.number("retain_bytes");
  options.source_id = step.number("source_id");
  if (step.number("no_journal") != 0) options.flags |= LAPWING_PUBLISHER_NO_JOURNAL;
  if (step.number("resume") != 0) options.flags |= LAPWING_PUBLISHER_RESUME;
  lapwing_publisher* opened = nullptr;
  const lapwing_result result =
      lapwing_publisher_open(&options, step.timeout_ns(), &opened, nullptr);
  if (result == LAPWING_OK) publishers().put(step.text("as"), opened);
  return line(result);
}

Lines publish(const Step& step) {
  auto info = sized<lapwing_publisher_info>();
  lapwing_publisher* const publisher = publishers().of(step);
  (void)!lapwing_publisher_inspect(publisher, &info, nullptr);
  const std::size_t bytes = step.number("bytes", info.record_bytes);
  std::vector<std::byte> rows;
  for (std::uint64_t i = 0; i < step.number("count"); ++i) {
    const std::vector<std::byte> record = record_of(step.number("from") + i, bytes);
    rows.insert(rows.end(), record.begin(), record.end());
  }
  std::uint64_t last = 0;
  const lapwing_result result = lapwing_publisher_publish(
      publisher, rows.data(), step.number("count"), bytes, step.timeout_ns(), &last, nullptr);
  return {absl::StrCat(name_of_result(result), " last=", last)};
}

Lines flush(const Step& step) {
  std::uint64_t durable = 0;
  const lapwing_result result =
      lapwing_publisher_flush(publishers().of(step), step.timeout_ns(), &durable, nullptr);
  return line(result, absl::StrCat("durable=", durable));
}

Lines inspect(const Step& step) {
  constexpr const char* kSettled[] = {"none", "fresh", "continued", "recovered", "cut", "reset"};
  constexpr const char* kJournal[] = {"none", "good", "failed", "shed"};
  auto info = sized<lapwing_publisher_info>();
  const lapwing_result result = lapwing_publisher_inspect(publishers().of(step), &info, nullptr);
  return line(result, absl::StrCat("record_bytes=", info.record_bytes, " first=", info.first,
                                   " head=", info.head, " settled=", kSettled[info.settled],
                                   " journal=", kJournal[info.journal_state],
                                   " source_offset=", info.source_offset, " void=", info.void_first,
                                   "-", info.void_last));
}

Lines close(const Step& step) {
  return line(lapwing_publisher_close(publishers().of(step), step.timeout_ns(), nullptr));
}

}  // namespace

Operations publisher_operations() {
  return {
      {"publisher.open", open},
      {"publisher.publish", publish},
      {"publisher.flush", flush},
      {"publisher.inspect", inspect},
      {"publisher.close", close},
      {"publisher.interrupt",
       [](const Step& step) { return interrupt(publishers(), step, lapwing_publisher_interrupt); }},
      {"publisher.destroy",
       [](const Step& step) { return destroy(publishers(), step, lapwing_publisher_destroy); }},
  };
}

}  // namespace lapwing::conformance

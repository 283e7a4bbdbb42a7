#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kRowBytesMax = 64;

Handles<lapwing_books>& books() {
  static auto* const all = new Handles<lapwing_books>;
  return *all;
}

Lines create(const Step& step) {
  lapwing_books* made = nullptr;
  const lapwing_result result = lapwing_books_create(&made, nullptr);
  if (result == LAPWING_OK) books().put(step.text("as"), made);
  return line(result);
}

Lines follow(const Step& step) {
  ReadBatch into(kRows, kRows * kRowBytesMax);
  for (;;) {
    const lapwing_result read = lapwing_subscriber_read(subscribers().at(step.text("from")),
                                                        &into.batch, step.timeout_ns(), nullptr);
    if (read != LAPWING_OK) return line(read);
    const lapwing_result taken = lapwing_books_take(books().of(step), &into.batch, nullptr);
    if (taken != LAPWING_OK) return line(taken);
    if (into.batch.kind == LAPWING_BATCH_EVENT &&
        step.text("until") == event_name(into.batch.event.kind)) {
      return line(LAPWING_OK);
    }
  }
}

Lines inspect(const Step& step) {
  auto info = sized<lapwing_books_info>();
  const lapwing_result result = lapwing_books_inspect(books().of(step), &info, nullptr);
  return line(result, absl::StrCat("sequence=", info.sequence, " books=", info.books,
                                   " orders=", info.orders, " settled=", info.is_settled,
                                   " loading=", info.is_loading,
                                   " digest=", absl::StrFormat("%016x", info.digest)));
}

}  // namespace

Operations books_operations() {
  return {
      {"books.create", create},
      {"books.follow", follow},
      {"books.inspect", inspect},
      {"books.destroy",
       [](const Step& step) { return destroy(books(), step, lapwing_books_destroy); }},
  };
}

}  // namespace lapwing::conformance

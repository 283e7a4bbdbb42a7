#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr std::size_t kRowBytesMax = 64;

Handles<lapwing_books>& books() {
  static auto* const all = new Handles<lapwing_books>;
  return *all;
}

lapwing_book_key key_of(const Step& step) {
  return {static_cast<std::uint32_t>(step.number("instrument")),
          static_cast<std::uint16_t>(step.number("publisher")), 0};
}

char side_of(const Step& step) {
  return step.text("side").empty() ? '\0' : step.text("side").front();
}

std::string level_text(const lapwing_level& level) {
  return absl::StrCat(level.price, ":", level.size, ":", level.orders);
}

Lines create(const Step& step) {
  lapwing_books* made = nullptr;
  const lapwing_result result = lapwing_books_create(&made, nullptr);
  if (result == LAPWING_OK) books().put(step.text("as"), made);
  return line(result);
}

Lines follow(const Step& step) {
  const std::size_t rows = step.number("rows", 64);
  ReadBatch into(rows, rows * kRowBytesMax);
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

Lines take_twice(const Step& step) {
  constexpr std::size_t kRows = 16;
  ReadBatch into(kRows, kRows * kRowBytesMax);
  const lapwing_result read = lapwing_subscriber_read(subscribers().at(step.text("from")),
                                                      &into.batch, step.timeout_ns(), nullptr);
  if (read != LAPWING_OK) return line(read);
  (void)!lapwing_books_take(books().of(step), &into.batch, nullptr);
  return line(lapwing_books_take(books().of(step), &into.batch, nullptr));
}

Lines inspect(const Step& step) {
  auto info = sized<lapwing_books_info>();
  const lapwing_result result = lapwing_books_inspect(books().of(step), &info, nullptr);
  return line(result, absl::StrCat("sequence=", info.sequence, " books=", info.books,
                                   " orders=", info.orders, " settled=", info.is_settled,
                                   " loading=", info.is_loading,
                                   " digest=", absl::StrFormat("%016x", info.digest)));
}

Lines list(const Step& step) {
  std::vector<lapwing_book_key> keys(4096);
  std::size_t count = 0;
  const lapwing_result result =
      lapwing_books_list(books().of(step), keys.data(), keys.size(), &count, nullptr);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", keys[i].publisher_id, ":", keys[i].instrument_id);
  }
  return line(result, all);
}

Lines find(const Step& step) {
  auto book = sized<lapwing_book>();
  const lapwing_result result = lapwing_books_find(books().of(step), key_of(step), &book, nullptr);
  return line(result, absl::StrCat("bid=", level_text(book.bid), " ask=", level_text(book.ask),
                                   " orders=", book.orders, " stale=", book.is_stale,
                                   " settled=", book.is_settled, " levels=", book.bid_levels, ":",
                                   book.ask_levels));
}

Lines levels(const Step& step) {
  std::vector<lapwing_level> found(step.number("max"));
  std::size_t count = 0;
  const lapwing_result result =
      lapwing_books_levels(books().of(step), key_of(step), side_of(step), step.number("from"),
                           found.data(), found.size(), &count, nullptr);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", level_text(found[i]));
  }
  return line(result, all);
}

Lines orders(const Step& step) {
  std::vector<lapwing_order> found(4096);
  std::size_t count = 0;
  const lapwing_result result =
      lapwing_books_orders(books().of(step), key_of(step), side_of(step), step.number("level"),
                           found.data(), found.size(), &count, nullptr);
  std::string all;
  for (std::size_t i = 0; result == LAPWING_OK && i < count; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", found[i].order_id, ":", found[i].size);
  }
  return line(result, all);
}

}  // namespace

Operations books_operations() {
  return {
      {"books.create", create},
      {"books.follow", follow},
      {"books.take", take_twice},
      {"books.inspect", inspect},
      {"books.list", list},
      {"books.find", find},
      {"books.levels", levels},
      {"books.orders", orders},
      {"books.destroy",
       [](const Step& step) { return destroy(books(), step, lapwing_books_destroy); }},
  };
}

}  // namespace lapwing::conformance

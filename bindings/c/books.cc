#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bindings/c/batch.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"
#include "lapwing/order_books.h"

namespace lapwing::c {
namespace {

// Order books that take batches, and refuse a batch that does not follow the last one.
class BooksOfBatches {
 public:
  BooksOfBatches() : books_(std::make_unique<OrderBooks>()) {}

  absl::Status take(const lapwing_batch& batch);
  const OrderBooks& books() const { return *books_; }

 private:
  absl::Status check_records(const lapwing_batch& batch) const;
  void take_records(const lapwing_batch& batch);
  void take_state(const lapwing_batch& batch);
  void take_event(const lapwing_event& event);
  std::span<const std::byte> row(const lapwing_batch& batch, std::size_t i) const {
    return {static_cast<const std::byte*>(batch.rows) + i * batch.row_bytes, batch.row_bytes};
  }

  std::unique_ptr<OrderBooks> books_;
  Sequence next_ = kNoSequence;  // the next record; kNoSequence: any
  bool may_skip_ = false;        // after a gap, the missing records may or may not arrive
  bool is_filtered_ = false;     // records of other instruments are left out
};

absl::Status record_size(const lapwing_batch& batch, const char* what, std::size_t bytes) {
  return make_error(Errc::kRecordSize, absl::StrCat("rows of ", batch.row_bytes, " bytes are not ",
                                                    what, "; their size is ", bytes));
}

// Checks the memory, because the caller may have changed it in the batch since it was read.
absl::Status check_memory(const lapwing_batch& batch) {
  const std::size_t fit =
      batch.rows == nullptr || batch.row_bytes == 0 ? 0 : batch.rows_bytes / batch.row_bytes;
  const bool has_column = batch.sequences != nullptr || batch.conflated != nullptr;
  const std::size_t places = has_column ? std::min(fit, batch.rows_max) : fit;
  if (batch.count <= places) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("the batch has a count of ", batch.count, " rows of ", batch.row_bytes,
                   " bytes, but its memory has room for ", places, "; pass it as it was read"));
}

Sequence sequence_of(const lapwing_batch& batch, std::size_t i) {
  return (batch.flags & LAPWING_BATCH_SPARSE) != 0 ? batch.sequences[i] : batch.first + i;
}

absl::Status BooksOfBatches::check_records(const lapwing_batch& batch) const {
  if (batch.row_bytes != sizeof(dbn::MboMsg)) {
    return record_size(batch, "records of dbn.mbo", sizeof(dbn::MboMsg));
  }
  if (absl::Status good = check_memory(batch); !good.ok()) return good;
  const bool is_sparse = (batch.flags & LAPWING_BATCH_SPARSE) != 0;
  if (is_sparse && batch.sequences == nullptr) {
    return make_error(Errc::kInvalidArgument,
                      "the rows do not follow one another: read them with the column `sequences`");
  }
  for (std::size_t i = 0; batch.conflated != nullptr && i < batch.count; ++i) {
    if (batch.conflated[i] != 0) {
      return make_error(Errc::kInvalidArgument,
                        "the batch is conflated: books need every record of an instrument");
    }
  }
  const bool may_begin_later = is_sparse || is_filtered_ || may_skip_ || next_ == kNoSequence;
  const bool follows = may_begin_later ? batch.first >= next_ : batch.first == next_;
  if (batch.count > 0 && !follows) {
    return make_error(
        Errc::kMisuse,
        absl::StrCat("the batch begins with record ", batch.first, ", and the next one is ", next_,
                     "; give each batch, and each event, once and in order"));
  }
  return absl::OkStatus();
}

void BooksOfBatches::take_records(const lapwing_batch& batch) {
  for (std::size_t i = 0; i < batch.count; ++i) {
    (void)books_->apply(sequence_of(batch, i), row(batch, i));
  }
  if (batch.count == 0) return;
  next_ = sequence_of(batch, batch.count - 1) + 1;
  may_skip_ = false;
}

void BooksOfBatches::take_state(const lapwing_batch& batch) {
  for (std::size_t i = 0; i < batch.count; ++i) {
    const Item item{.kind = ItemKind::kState, .record = row(batch, i)};
    (void)books_->take(item);
  }
}

// Passes an event to the books, and determines the next record.
void BooksOfBatches::take_event(const lapwing_event& given) {
  Event event;
  event.kind = EventKind{given.kind};
  event.sequence = given.sequence;
  event.is_first_session = given.is_first_session != 0;
  event.is_filtered = is_filtered_ = given.is_filtered != 0;
  // The C event lacks follows_journal, so every reset is treated as one to a journal that follows
  // another.
  event.follows_journal = event.kind == EventKind::kReset;
  event.on_gap = given.is_skipped != 0 ? OnGap::kSkip : OnGap::kFill;
  event.gap = {given.first, given.last, given.resume, GapCause{given.cause}, given.fillable != 0};
  books_->take(event);
  switch (event.kind) {
    case EventKind::kLost:
      if (event.gap.count() > 0) next_ = event.gap.last + 1;
      return;
    case EventKind::kSnapshotComplete:
      next_ = event.sequence + 1;
      may_skip_ = false;
      return;
    case EventKind::kReset:
    case EventKind::kNoSnapshot:
      next_ = event.sequence;
      may_skip_ = false;
      return;
    case EventKind::kGap:
      may_skip_ = true;
      return;
    default:
      return;
  }
}

absl::Status BooksOfBatches::take(const lapwing_batch& batch) {
  if (batch.struct_size < offsetof(lapwing_batch, event)) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("batch has struct_size ", batch.struct_size, "; set it to sizeof"));
  }
  switch (batch.kind) {
    case LAPWING_BATCH_NOTHING:
      return absl::OkStatus();
    case LAPWING_BATCH_RECORDS:
      if (absl::Status good = check_records(batch); !good.ok()) return good;
      take_records(batch);
      return absl::OkStatus();
    case LAPWING_BATCH_STATE:
      if (batch.row_bytes != sizeof(OrderEntry)) {
        return record_size(batch, "entries of the fold `orders`", sizeof(OrderEntry));
      }
      if (absl::Status good = check_memory(batch); !good.ok()) return good;
      take_state(batch);
      return absl::OkStatus();
    case LAPWING_BATCH_EVENT:
      if (batch.struct_size < sizeof(lapwing_batch)) {
        return make_error(Errc::kInvalidArgument, "the batch is too short to hold an event");
      }
      take_event(batch.event);
      return absl::OkStatus();
    default:
      return make_error(Errc::kInvalidArgument, absl::StrCat("batch.kind is ", batch.kind,
                                                             ", which lapwing.h does not name"));
  }
}

lapwing_books_info books_info(const OrderBooks& books) {
  lapwing_books_info info{};
  info.is_settled = books.settled() ? 1 : 0;
  info.is_loading = books.loading() ? 1 : 0;
  info.sequence = books.sequence();
  info.books = books.books().size();
  info.orders = books.order_count();
  info.digest = books.digest();
  return info;
}

absl::StatusOr<const OrderBook*> find_book(const OrderBooks& books, lapwing_book_key key) {
  const OrderBook* const book = books.find_book(key.publisher_id, key.instrument_id);
  if (book != nullptr) return book;
  return make_error(Errc::kNotFound,
                    absl::StrCat("no record of instrument ", key.instrument_id, " of publisher ",
                                 key.publisher_id, " has been read yet"));
}

absl::StatusOr<dbn::Side> side_of(char side) {
  if (side == 'B') return dbn::Side::kBid;
  if (side == 'A') return dbn::Side::kAsk;
  return make_error(Errc::kInvalidArgument, "side is neither 'B' nor 'A'");
}

lapwing_level level_of(const PriceLevel& level) {
  return {level.price, level.size, level.orders, 0};
}

lapwing_level best_of(const OrderBook& book, dbn::Side side) {
  const PriceLevel* const best = book.best(side);
  return level_of(best == nullptr ? PriceLevel{} : *best);
}

lapwing_book book_of(const OrderBook& book) {
  lapwing_book out{};
  out.is_settled = book.settled() ? 1 : 0;
  out.is_stale = book.stale() ? 1 : 0;
  out.has_tops = book.has_tops() ? 1 : 0;
  out.bid = best_of(book, dbn::Side::kBid);
  out.ask = best_of(book, dbn::Side::kAsk);
  out.bid_levels = book.level_count(dbn::Side::kBid);
  out.ask_levels = book.level_count(dbn::Side::kAsk);
  out.orders = book.order_count();
  out.sequence = book.last_sequence();
  out.ts_event = book.last_ts_event();
  out.ts_recv = book.last_ts_recv();
  out.lost_through = book.lost_through();
  return out;
}

lapwing_order order_of(const OrderEntry& entry) {
  return {entry.msg.order_id, entry.msg.price, entry.place,
          entry.msg.ts_recv,  entry.msg.size,  entry.msg.flags};
}

// Writes as many rows of `all` as fit, and sets *count to their total number.
template <typename Row>
lapwing_result put_rows(const std::vector<Row>& all, Row* rows, std::size_t max, std::size_t* count,
                        lapwing_error* error) {
  if (count == nullptr || (rows == nullptr && max != 0)) {
    return fail(error, Errc::kInvalidArgument, "count is NULL, or the rows are while max is not 0");
  }
  *count = all.size();
  std::copy_n(all.begin(), std::min(max, all.size()), rows);
  if (all.size() <= max) return success();
  return fail(error, Errc::kTooSmall, absl::StrCat("there are ", all.size(), ", and max is ", max));
}

lapwing_result put_levels(const OrderBook& book, dbn::Side side, std::size_t from,
                          lapwing_level* levels, std::size_t max, std::size_t* count,
                          lapwing_error* error) {
  if (count == nullptr || (levels == nullptr && max != 0)) {
    return fail(error, Errc::kInvalidArgument, "count is NULL, or levels is while max is not 0");
  }
  const std::size_t there = book.level_count(side);
  *count = from >= there ? 0 : std::min(max, there - from);
  for (std::size_t i = 0; i < *count; ++i) levels[i] = level_of(book.level(side, from + i));
  return success();
}

lapwing_result put_orders(const OrderBook& book, dbn::Side side, std::size_t level,
                          lapwing_order* orders, std::size_t max, std::size_t* count,
                          lapwing_error* error) {
  if (level >= book.level_count(side)) {
    return fail(
        error, Errc::kNotFound,
        absl::StrCat("there is no level ", level, "; the side has ", book.level_count(side)));
  }
  std::vector<lapwing_order> all;
  book.for_each_order(side, level,
                      [&all](const OrderEntry& entry) { all.push_back(order_of(entry)); });
  return put_rows(all, orders, max, count, error);
}

}  // namespace
}  // namespace lapwing::c

struct lapwing_books : lapwing::c::Handle<lapwing::c::BooksOfBatches> {
  static constexpr char kWhat[] = "books";
  using Handle::Handle;
};

using namespace lapwing::c;

namespace {

// Calls use(book, side) if the book and the side exist.
template <typename Use>
lapwing_result with_side(const BooksOfBatches& opened, lapwing_book_key key, char side,
                         lapwing_error* error, Use&& use) {
  const absl::StatusOr<lapwing::dbn::Side> meant = side_of(side);
  if (!meant.ok()) return fail(error, meant.status());
  const absl::StatusOr<const lapwing::OrderBook*> book = find_book(opened.books(), key);
  if (!book.ok()) return fail(error, book.status());
  return use(**book, *meant);
}

}  // namespace

extern "C" {

lapwing_result lapwing_books_create(lapwing_books** books, lapwing_error* error) {
  return open_into(books, error, [] { return absl::StatusOr<BooksOfBatches>(BooksOfBatches()); });
}

lapwing_result lapwing_books_take(lapwing_books* books, const lapwing_batch* batch,
                                  lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) {
    if (batch == nullptr) {
      return fail(error, lapwing::Errc::kInvalidArgument, "batch is NULL; give its address");
    }
    const absl::Status taken = opened.take(*batch);
    return taken.ok() ? success() : fail(error, taken);
  });
}

lapwing_result lapwing_books_inspect(lapwing_books* books, lapwing_books_info* info,
                                     lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) {
    return fill(info, "info", error, [&] { return books_info(opened.books()); });
  });
}

lapwing_result lapwing_books_list(lapwing_books* books, lapwing_book_key* keys, size_t max,
                                  size_t* count, lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) {
    std::vector<lapwing_book_key> all;
    for (const lapwing::OrderBook* book : opened.books().books()) {
      all.push_back({book->instrument_id(), book->publisher_id(), 0});
    }
    return put_rows(all, keys, max, count, error);
  });
}

lapwing_result lapwing_books_find(lapwing_books* books, lapwing_book_key key, lapwing_book* book,
                                  lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) -> lapwing_result {
    const absl::StatusOr<const lapwing::OrderBook*> found = find_book(opened.books(), key);
    if (!found.ok()) return fail(error, found.status());
    return fill(book, "book", error, [&] { return book_of(**found); });
  });
}

lapwing_result lapwing_books_levels(lapwing_books* books, lapwing_book_key key, char side,
                                    size_t from, lapwing_level* levels, size_t max, size_t* count,
                                    lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) {
    return with_side(opened, key, side, error, [&](const auto& book, lapwing::dbn::Side meant) {
      return put_levels(book, meant, from, levels, max, count, error);
    });
  });
}

lapwing_result lapwing_books_orders(lapwing_books* books, lapwing_book_key key, char side,
                                    size_t level, lapwing_order* orders, size_t max, size_t* count,
                                    lapwing_error* error) {
  return call(books, error, [&](BooksOfBatches& opened) {
    return with_side(opened, key, side, error, [&](const auto& book, lapwing::dbn::Side meant) {
      return put_orders(book, meant, level, orders, max, count, error);
    });
  });
}

void lapwing_books_destroy(lapwing_books** books) {
  destroy(books);
}

}  // extern "C"

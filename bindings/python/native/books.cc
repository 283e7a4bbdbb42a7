#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>

namespace lapwing_python {

namespace {

lapwing_book_key key_of(std::uint32_t instrument_id, std::uint16_t publisher_id) {
  return {.instrument_id = instrument_id, .publisher_id = publisher_id, .reserved = 0};
}

class Books : public Handle {
 public:
  Books() {
    Failure failure;
    check(api.books_create(&books_, &failure), failure);
  }
  ~Books() override { api.books_destroy(&books_); }

  bool is_open() const override { return books_ != nullptr; }
  void free_now() override {
    lapwing_books* freed = std::exchange(books_, nullptr);
    api.books_destroy(&freed);
  }

  void take_event(const lapwing_event& event) {
    lapwing_batch batch = {};
    batch.struct_size = sizeof batch;
    batch.kind = LAPWING_BATCH_EVENT;
    batch.event = event;
    take(batch);
  }

  // Takes records or state entries. Columns that the batch does not have are passed as None.
  void take_rows(std::uint32_t kind, nb::handle rows, std::uint64_t first, std::uint32_t row_bytes,
                 nb::handle sequences, nb::handle conflated, bool is_sparse) {
    const Memory memory("rows", rows, Memory::Access::kRead);
    const Memory sequence_column("sequences", sequences, Memory::Access::kReadOrNone);
    const Memory conflated_column("conflated", conflated, Memory::Access::kReadOrNone);
    lapwing_batch batch = {};
    batch.struct_size = sizeof batch;
    batch.kind = kind;
    batch.rows = memory.data();
    batch.rows_bytes = memory.bytes();
    batch.sequences = sequence_column.column();
    batch.conflated = conflated_column.column();
    batch.count = row_bytes == 0 ? 0 : memory.bytes() / row_bytes;
    batch.rows_max = batch.count;
    check_column(sequence_column, batch.count);
    check_column(conflated_column, batch.count);
    batch.first = first;
    batch.row_bytes = row_bytes;
    batch.flags = is_sparse ? LAPWING_BATCH_SPARSE : 0;
    take(batch);
  }

  lapwing_books_info inspect() {
    const Use use(*this);
    Failure failure;
    lapwing_books_info info = {};
    info.struct_size = sizeof info;
    check(api.books_inspect(books_, &info, &failure), failure);
    return info;
  }

  // Writes as many as fit, and returns how many there are.
  std::size_t list(nb::handle keys) {
    const Use use(*this);
    const Memory memory("keys", keys, Memory::Access::kWrite);
    Failure failure;
    std::size_t count = 0;
    const lapwing_result result =
        api.books_list(books_, static_cast<lapwing_book_key*>(memory.data()),
                       memory.bytes() / sizeof(lapwing_book_key), &count, &failure);
    if (result != LAPWING_ERROR_TOO_SMALL) check(result, failure);
    return count;
  }

  lapwing_book find(std::uint32_t instrument_id, std::uint16_t publisher_id) {
    const Use use(*this);
    Failure failure;
    lapwing_book book = {};
    book.struct_size = sizeof book;
    check(api.books_find(books_, key_of(instrument_id, publisher_id), &book, &failure), failure);
    return book;
  }

  std::size_t levels(std::uint32_t instrument_id, std::uint16_t publisher_id, char side,
                     std::size_t from, nb::handle levels) {
    const Use use(*this);
    const Memory memory("levels", levels, Memory::Access::kWrite);
    Failure failure;
    std::size_t count = 0;
    check(api.books_levels(books_, key_of(instrument_id, publisher_id), side, from,
                           static_cast<lapwing_level*>(memory.data()),
                           memory.bytes() / sizeof(lapwing_level), &count, &failure),
          failure);
    return count;
  }

  // Writes as many as fit, and returns how many there are.
  std::size_t orders(std::uint32_t instrument_id, std::uint16_t publisher_id, char side,
                     std::size_t level, nb::handle orders) {
    const Use use(*this);
    const Memory memory("orders", orders, Memory::Access::kWrite);
    Failure failure;
    std::size_t count = 0;
    const lapwing_result result =
        api.books_orders(books_, key_of(instrument_id, publisher_id), side, level,
                         static_cast<lapwing_order*>(memory.data()),
                         memory.bytes() / sizeof(lapwing_order), &count, &failure);
    if (result != LAPWING_ERROR_TOO_SMALL) check(result, failure);
    return count;
  }

 private:
  static void check_column(const Memory& column, std::size_t rows) {
    if (column.column() != nullptr && column.column_rows() < rows) {
      raise(LAPWING_ERROR_INVALID_ARGUMENT,
            "a column has fewer numbers than there are rows. Pass the item unchanged");
    }
  }
  void take(const lapwing_batch& batch) {
    const Use use(*this);
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.books_take(books_, &batch, &failure);
    }
    check(result, failure);
  }

  lapwing_books* books_ = nullptr;
};

}  // namespace

void bind_books(nb::module_& module) {
  using nb::arg;
  nb::class_<Books, Handle>(module, "Books")
      .def(nb::init<>())
      .def("take_event", &Books::take_event, arg("event"))
      .def("take_rows", &Books::take_rows, arg("kind"), arg("rows"), arg("first"), arg("row_bytes"),
           arg("sequences").none(), arg("conflated").none(), arg("is_sparse"))
      .def("inspect", &Books::inspect)
      .def("list", &Books::list, arg("keys"))
      .def("find", &Books::find, arg("instrument_id"), arg("publisher_id"))
      .def("levels", &Books::levels, arg("instrument_id"), arg("publisher_id"), arg("side"),
           arg("first"), arg("levels"))
      .def("orders", &Books::orders, arg("instrument_id"), arg("publisher_id"), arg("side"),
           arg("level"), arg("orders"));
}

}  // namespace lapwing_python

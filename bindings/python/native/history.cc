#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <native/batch.h>
#include <native/bind.h>
#include <native/borrowed.h>
#include <native/call.h>
#include <native/functions.h>

#include <string>

namespace lapwing_python {

namespace {

// Mapped rows of a finished segment. A view may outlive its history.
class View : public BorrowedMemory {
 public:
  explicit View(const lapwing_view& view) : view_(view) {
    borrowed = std::make_shared<Borrowed>();
    borrowed->data = const_cast<void*>(view.rows);
    if (view.count > 0) {  // includes the bytes between rows, which are readable
      borrowed->bytes = (view.count - 1) * view.stride_bytes + view.row_bytes;
    }
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { end(); }

  void unmap() {
    check_no_view(*borrowed, "an array of these rows is alive. Delete it, then close the view");
    if (borrowed->is_ended) raise(LAPWING_ERROR_MISUSE, "the view was closed already");
    end();
  }
  bool is_open() const { return !borrowed->is_ended; }
  const lapwing_view& view() const { return view_; }

 private:
  void end() {
    if (!std::exchange(borrowed->is_ended, true)) api.history_unmap(&view_);
  }

  lapwing_view view_;
};

class History : public Handle {
 public:
  explicit History(const std::string& directory) {
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.history_open(directory.c_str(), &history_, &failure);
    }
    check(result, failure);
  }
  ~History() override { api.history_destroy(&history_); }

  bool is_open() const override { return history_ != nullptr; }
  void free_now() override {
    lapwing_history* freed = std::exchange(history_, nullptr);
    const WithoutGil released;
    api.history_destroy(&freed);
  }

  lapwing_history_info inspect() {
    const Use use(*this);
    Failure failure;
    lapwing_history_info info = {};
    info.struct_size = sizeof info;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.history_inspect(history_, &info, &failure);
    }
    check(result, failure);
    return info;
  }

  void check_rows(nb::object check) { rows_.set(std::move(check)); }

  nb::tuple read(std::uint64_t first, nb::handle rows) {
    const Use use(*this);
    Batch into(rows, nb::none(), nb::none(), rows_);
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.history_read(history_, first, &into.batch, &failure);
    }
    check(result, failure, {"row_bytes", into.batch.row_bytes});
    return into.result();
  }

  std::uint64_t find_time(std::uint64_t utc_ns) {
    const Use use(*this);
    Failure failure;
    std::uint64_t sequence = 0;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.history_find_time(history_, utc_ns, &sequence, &failure);
    }
    check(result, failure);
    return sequence;
  }

  std::unique_ptr<View> map(std::uint64_t first, std::uint64_t last) {
    const Use use(*this);
    Failure failure;
    lapwing_view view = {};
    view.struct_size = sizeof view;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.history_map(history_, first, last, &view, &failure);
    }
    check(result, failure);
    return std::make_unique<View>(view);
  }

 private:
  lapwing_history* history_ = nullptr;
  RowCheck rows_;
};

}  // namespace

void bind_history(nb::module_& module) {
  using nb::arg;
  nb::class_<View>(module, "View", "Mapped rows: a buffer of bytes, read-only.",
                   nb::type_slots(kBufferSlots<View>))
      .def_prop_ro("first", [](const View& self) { return self.view().first; })
      .def_prop_ro("count", [](const View& self) { return self.view().count; })
      .def_prop_ro("row_bytes", [](const View& self) { return self.view().row_bytes; })
      .def_prop_ro("stride_bytes", [](const View& self) { return self.view().stride_bytes; })
      .def_prop_ro("is_open", &View::is_open)
      .def("unmap", &View::unmap);
  nb::class_<History, Handle>(module, "History")
      .def(nb::init<const std::string&>(), arg("directory"))
      .def("inspect", &History::inspect)
      .def("check_rows", &History::check_rows, arg("check").none(), nb::sig(kCheckRowsSignature))
      .def("read", &History::read, arg("first"), arg("rows").none(),
           nb::sig("def read(self, first: int, rows: object) -> "
                   "tuple[int, int, int, int, bool, Event | None]"))
      .def("find_time", &History::find_time, arg("utc_ns"))
      .def("map", &History::map, arg("first"), arg("last"));
}

}  // namespace lapwing_python

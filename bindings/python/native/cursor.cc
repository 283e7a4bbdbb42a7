#include <nanobind/stl/string.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>

#include <string>

namespace lapwing_python {

namespace {

class Cursor : public Handle {
 public:
  Cursor(const std::string& path, bool durable, std::int64_t timeout_ns) {
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.cursor_open(path.c_str(), durable ? LAPWING_CURSOR_DURABLE : 0, timeout_ns,
                               &cursor_, &failure);
    }
    check(result, failure);
  }
  ~Cursor() override { api.cursor_destroy(&cursor_); }

  bool is_open() const override { return cursor_ != nullptr; }
  void free_now() override {
    lapwing_cursor* freed = std::exchange(cursor_, nullptr);
    const WithoutGil released;
    api.cursor_destroy(&freed);
  }

  nb::tuple position() {
    const Use use(*this);
    Failure failure;
    lapwing_position position = {};
    std::uint64_t bytes = 0;
    std::uint64_t file = 0;
    check(api.cursor_position(cursor_, &position, &bytes, &file, &failure), failure);
    return nb::make_tuple(position, bytes, file);
  }

  void commit(const lapwing_position& position, std::uint64_t bytes, std::uint64_t file) {
    const Use use(*this);
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.cursor_commit(cursor_, &position, bytes, file, &failure);
    }
    check(result, failure);
  }

 private:
  lapwing_cursor* cursor_ = nullptr;
};

}  // namespace

void bind_cursor(nb::module_& module) {
  using nb::arg;
  nb::class_<Cursor, Handle>(module, "Cursor")
      .def(nb::init<const std::string&, bool, std::int64_t>(), arg("path"), arg("durable"),
           arg("timeout_ns"))
      .def("position", &Cursor::position,
           nb::sig("def position(self) -> tuple[Position, int, int]"))
      .def("commit", &Cursor::commit, arg("position"), arg("output_bytes"), arg("output_file"));
}

}  // namespace lapwing_python

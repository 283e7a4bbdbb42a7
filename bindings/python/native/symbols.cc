// Maps symbols to instruments, and back, by date.
#include <nanobind/stl/string.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>

#include <string>
#include <vector>

namespace lapwing_python {

namespace {

// (symbol, instrument_id, start_date, end_date)
nb::tuple row_of(const lapwing_symbol_mapping& mapping) {
  return nb::make_tuple(text_of(mapping.symbol), mapping.instrument_id, mapping.start_date,
                        mapping.end_date);
}

class Symbols : public Handle {
 public:
  explicit Symbols(const std::string& directory) {
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.symbols_open(directory.c_str(), &symbols_, &failure);
    }
    check(result, failure);
  }
  ~Symbols() override { api.symbols_destroy(&symbols_); }

  bool is_open() const override { return symbols_ != nullptr; }
  void free_now() override {
    lapwing_symbols* freed = std::exchange(symbols_, nullptr);
    api.symbols_destroy(&freed);
  }

  // Returns None if the symbol is unknown.
  nb::object find(const std::string& symbol, std::uint64_t utc_ns) {
    const Use use(*this);
    Failure failure;
    std::uint32_t instrument_id = 0;
    const lapwing_result result =
        api.symbols_find(symbols_, symbol.c_str(), utc_ns, &instrument_id, &failure);
    if (result == LAPWING_ERROR_NOT_FOUND) return nb::none();
    check(result, failure);
    return nb::int_(instrument_id);
  }

  // Returns None if the instrument is unknown.
  nb::object name(std::uint32_t instrument_id, std::uint64_t utc_ns) {
    const Use use(*this);
    Failure failure;
    lapwing_symbol_mapping mapping = {};
    const lapwing_result result =
        api.symbols_name(symbols_, instrument_id, utc_ns, &mapping, &failure);
    if (result == LAPWING_ERROR_NOT_FOUND) return nb::none();
    check(result, failure);
    return row_of(mapping);
  }

  nb::list list() {
    const Use use(*this);
    Failure failure;
    std::vector<lapwing_symbol_mapping> mappings;
    std::size_t count = 0;
    lapwing_result result = LAPWING_ERROR_TOO_SMALL;
    while (result == LAPWING_ERROR_TOO_SMALL) {
      mappings.resize(count);
      result = api.symbols_list(symbols_, mappings.data(), mappings.size(), &count, &failure);
    }
    check(result, failure);
    nb::list rows;
    for (const lapwing_symbol_mapping& mapping : mappings) rows.append(row_of(mapping));
    return rows;
  }

 private:
  lapwing_symbols* symbols_ = nullptr;
};

}  // namespace

void bind_symbols(nb::module_& module) {
  using nb::arg;
  nb::class_<Symbols, Handle>(module, "Symbols")
      .def(nb::init<const std::string&>(), arg("directory"))
      .def("find", &Symbols::find, arg("symbol"), arg("utc_ns"),
           nb::sig("def find(self, symbol: str, utc_ns: int) -> int | None"))
      .def("name", &Symbols::name, arg("instrument_id"), arg("utc_ns"),
           nb::sig("def name(self, instrument_id: int, utc_ns: int) -> "
                   "tuple[str, int, int, int] | None"))
      .def("list", &Symbols::list, nb::sig("def list(self) -> list[tuple[str, int, int, int]]"));
}

}  // namespace lapwing_python

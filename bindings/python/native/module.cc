#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>

namespace lapwing_python {

namespace {

void bind_handle(nb::module_& module) {
  nb::class_<Handle>(module, "Handle", "The methods that all objects of the library have.")
      .def_prop_ro("is_open", &Handle::is_open, "False after destroy()")
      .def("interrupt", &Handle::interrupt)
      .def("destroy", &Handle::destroy);
}

void bind(nb::module_& module) {
  module.doc() = "The C interface of Lapwing, as methods. Private: import lapwing.";
  nb::set_leak_warnings(false);  // an object in use when the program ends is not a leak
  module.def("load", &load, nb::arg("path"));
  module.def("version", [] { return text_of(api.version(nullptr)); });
  module.def(
      "error_name", [](lapwing_result code) { return text_of(api.error_name(code)); },
      nb::arg("number"));
  module.def("function_names", &function_names);
  bind_values(module);
  bind_handle(module);
  bind_schema(module);
  bind_log(module);
  bind_publisher(module);
  bind_subscriber(module);
  bind_cursor(module);
  bind_history(module);
  bind_books(module);
  bind_channel(module);
  bind_listener(module);
  bind_symbols(module);
  bind_wait_set(module);
}

}  // namespace

}  // namespace lapwing_python

NB_MODULE(_native, module) {
  lapwing_python::bind(module);
}

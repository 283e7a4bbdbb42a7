// The functions with which each file in this folder adds its part to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace lapwing_python {

void bind_schema(nanobind::module_& module);
void bind_log(nanobind::module_& module);
void bind_publisher(nanobind::module_& module);
void bind_subscriber(nanobind::module_& module);
void bind_cursor(nanobind::module_& module);
void bind_history(nanobind::module_& module);
void bind_books(nanobind::module_& module);
void bind_listener(nanobind::module_& module);
void bind_channel(nanobind::module_& module);
void bind_symbols(nanobind::module_& module);
void bind_wait_set(nanobind::module_& module);

}  // namespace lapwing_python

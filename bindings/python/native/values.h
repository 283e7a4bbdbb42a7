// The library's plain structs as Python objects that only have attributes.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>

namespace lapwing_python {

// A fixed field, or any text of the library's: it may have been cut within a letter.
nanobind::str text_of(const char* text);

void bind_values(nanobind::module_& module);

}  // namespace lapwing_python

// Python classes for the library's plain structs. They only have attributes.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>

namespace lapwing_python {

// Decodes a text from the library. If it was truncated inside a UTF-8 character, that is replaced.
nanobind::str text_of(const char* text);

void bind_values(nanobind::module_& module);

}  // namespace lapwing_python

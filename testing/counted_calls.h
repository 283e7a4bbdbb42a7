// Records which functions of the C interface a test program has called, and which results it has
// seen. The program is linked with a generated source (bindings/c/golden.py), a layer between it
// and the library. When it exits, it prints `N of N functions called, N error numbers seen`.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing {

const std::vector<std::string>& functions_of_the_interface();

void note_call(const char* function);
std::int32_t note_result(std::int32_t result);

// The function with that name in liblapwing.so.1. Ends the program if there is none.
void* symbol_of_library(const char* function);

template <typename Function>
Function function_of_library(const char* function) {
  return reinterpret_cast<Function>(symbol_of_library(function));
}

}  // namespace lapwing

#include <dlfcn.h>
#include <native/call.h>
#include <native/functions.h>

#include <type_traits>

namespace lapwing_python {

Functions api;

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  PyErr_Format(PyExc_ImportError, "lapwing: %s: %s", path.c_str(), why.c_str());
  raise_python();
}

std::string abi_text(std::uint32_t abi) {
  return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff);
}

std::string misfit(std::uint32_t abi) {
  constexpr std::uint32_t kNeeded = LAPWING_ABI_MAJOR << 16 | LAPWING_ABI_MINOR;
  if (abi >> 16 == kNeeded >> 16 && abi >= kNeeded) return {};
  return "the library has interface version " + abi_text(abi) + ", but this package needs " +
         abi_text(kNeeded) + " or a later minor version. Set LAPWING_LIBRARY to a suitable library";
}

}  // namespace

std::uint32_t load(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(path, std::string("the library cannot be loaded (") + dlerror() +
                     "). Install it, or set LAPWING_LIBRARY to its path");
  }
  Functions found;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(found.version, "lapwing_version");
  if (missing != nullptr) refuse(path, "this is not a Lapwing library");
  std::uint32_t abi = 0;
  found.version(&abi);
  if (const std::string why = misfit(abi); !why.empty()) refuse(path, why);
#define LAPWING_FIND(name) find(found.name, "lapwing_" #name);
  LAPWING_FUNCTIONS(LAPWING_FIND)
#undef LAPWING_FIND
  if (missing != nullptr) {
    refuse(path,
           std::string("the library lacks ") + missing + ", although its version includes it");
  }
  api = found;
  return abi;
}

std::vector<std::string> function_names() {
#define LAPWING_NAME(name) "lapwing_" #name,
  return {LAPWING_FUNCTIONS(LAPWING_NAME)};
#undef LAPWING_NAME
}

}  // namespace lapwing_python

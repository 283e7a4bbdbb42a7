#include "testing/counted_calls.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

namespace lapwing {
namespace {

class Counts {
 public:
  Counts() : process_(getpid()) {}
  // Does nothing in a forked child of a test.
  ~Counts() {
    if (getpid() != process_) return;
    std::printf("%zu of %zu functions called, %zu error numbers seen\n", functions_.size(),
                functions_of_the_interface().size(), results_.size());
    for (const std::string& name : functions_of_the_interface()) {
      if (functions_.count(name) == 0) std::printf("not called: %s\n", name.c_str());
    }
  }

  void add_call(const char* function) {
    const std::lock_guard lock(mutex_);
    functions_.insert(function);
  }
  void add_result(std::int32_t result) {
    const std::lock_guard lock(mutex_);
    results_.insert(result);
  }

 private:
  const pid_t process_;
  std::mutex mutex_;
  std::set<std::string> functions_;
  std::set<std::int32_t> results_;
};

Counts& counts() {
  static Counts all;
  return all;
}

}  // namespace

void note_call(const char* function) {
  counts().add_call(function);
}

std::int32_t note_result(std::int32_t result) {
  counts().add_result(result);
  return result;
}

void* symbol_of_library(const char* function) {
  static void* const library = dlopen(LAPWING_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, function);
  if (found == nullptr) {
    std::fprintf(stderr, "%s: %s\n", function, dlerror());
    std::abort();
  }
  return found;
}

}  // namespace lapwing

// Tests the wrapper of every function (call.h) directly, with errors that no other test causes.
#include "bindings/c/call.h"

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/statusor.h"
#include "bindings/c/structs.h"
#include "testing/c_interface.h"
#include "testing/counted_calls.h"

namespace lapwing::c {
namespace {

struct Number {
  int value;
};
struct NumberHandle : Handle<Number> {
  static constexpr char kWhat[] = "number";
  using Handle::Handle;
};

// An object without details about a failure.
struct Silent {
  static absl::Status status() { return absl::OkStatus(); }
};

lapwing_error empty_error() {
  return sized<lapwing_error>();
}

TEST_CASE("every error's number and words cross the interface") {
  for (const ErrorName& entry : kErrorNames) {
    lapwing_error error = empty_error();
    const lapwing_result result = note_result(answer(&error, entry.code, Silent()));
    CHECK(result == number_of(entry.code));
    if (entry.code == Errc::kOk) continue;
    CHECK(error.code == result);
    CHECK(std::string(error.message).size() > 2);
  }
}

TEST_CASE("a status brings its message and errno along") {
  absl::Status status = make_error(Errc::kSystem, "the disk is on fire");
  status.SetPayload(kErrnoPayload, absl::Cord("5"));
  lapwing_error error = empty_error();
  CHECK(fail(&error, status) == LAPWING_ERROR_SYSTEM);
  CHECK(std::string(error.message) == "the disk is on fire");
  CHECK(error.sys_errno == 5);
}

TEST_CASE("memory that cannot be had is no-memory, any other exception system") {
  NumberHandle handle(Number{7});
  lapwing_error error = empty_error();
  CHECK(call(&handle, &error, [](Number&) -> lapwing_result { throw std::bad_alloc(); }) ==
        LAPWING_ERROR_NO_MEMORY);
  CHECK(call(&handle, &error, [](Number&) -> lapwing_result {
          throw std::length_error("too long");
        }) == LAPWING_ERROR_NO_MEMORY);
  CHECK(call(&handle, &error, [](Number&) -> lapwing_result {
          throw std::runtime_error("what it says");
        }) == LAPWING_ERROR_SYSTEM);
  CHECK(std::string(error.message) == "what it says");
  CHECK(call(&handle, &error, [](Number&) -> lapwing_result { throw 5; }) == LAPWING_ERROR_SYSTEM);
  // The handle is free again.
  CHECK(call(&handle, &error, [](Number& number) { return number.value; }) == 7);
}

TEST_CASE("a call that overlaps another one is refused, and changes nothing") {
  NumberHandle handle(Number{7});
  lapwing_error error = empty_error();
  const lapwing_result outer = call(&handle, &error, [&](Number&) {
    return call(&handle, &error, [](Number& number) { return number.value = 0; });
  });
  CHECK(outer == LAPWING_ERROR_MISUSE);
  CHECK(handle.object.value == 7);
  CHECK(std::string(error.message).find("one thread at a time") != std::string::npos);
}

TEST_CASE("a handle that is NULL is named") {
  lapwing_error error = empty_error();
  NumberHandle* none = nullptr;
  CHECK(call(none, &error, [](Number&) { return 0; }) == LAPWING_ERROR_MISUSE);
  CHECK(std::string(error.message).find("number") != std::string::npos);
  destroy(&none);
  destroy(static_cast<NumberHandle**>(nullptr));
}

TEST_CASE("an error that is shorter or longer than the library's is filled as far as it goes") {
  lapwing_error error = empty_error();
  std::memset(error.message, 'x', sizeof error.message);
  error.struct_size = offsetof(lapwing_error, message) + 5;
  CHECK(fail(&error, Errc::kLimit, "a message that is long") == LAPWING_ERROR_LIMIT);
  CHECK(std::string(error.message) == "a me");
  CHECK(error.message[5] == 'x');
  error.struct_size = 8;
  error.code = 99;
  CHECK(fail(&error, Errc::kLimit, "no") == LAPWING_ERROR_LIMIT);
  CHECK(error.code == 99);
  error.struct_size = sizeof error + 64;
  CHECK(fail(&error, Errc::kLimit, std::string(1000, 'y')) == LAPWING_ERROR_LIMIT);
  CHECK(std::string(error.message).size() == sizeof error.message - 1);
}

TEST_CASE("text is cut between two characters of UTF-8") {
  char field[6];
  put_text(field, "abcd\xc3\xa9");  // 6 bytes, and the zero
  CHECK(std::string(field) == "abcd");
  put_text(field, "abc\xc3\xa9");
  CHECK(std::string(field) == "abc\xc3\xa9");
}

TEST_CASE("defaults are those of the macro, cut at a shorter struct and zero behind a longer one") {
  struct {
    lapwing_channel_options options;
    std::uint64_t added;
  } made;
  std::memset(&made, 'x', sizeof made);
  const lapwing_channel_options defaults = LAPWING_CHANNEL_OPTIONS_INIT;
  set_defaults(defaults, &made.options, sizeof made);
  CHECK(made.options.struct_size == sizeof made);
  CHECK(made.options.call_window == 64);
  CHECK(made.added == 0);
  std::memset(&made, 'x', sizeof made);
  set_defaults(defaults, &made.options, offsetof(lapwing_channel_options, call_window));
  CHECK(made.options.message_bytes_max == 65'536);
  CHECK(made.options.call_window == 0x78787878);
}

TEST_CASE("a longer struct is taken if its tail is zero") {
  struct {
    lapwing_channel_options options;
    std::uint64_t added;
  } longer{LAPWING_CHANNEL_OPTIONS_INIT, 0};
  longer.options.struct_size = sizeof longer;
  longer.options.call_window = 9;
  lapwing_channel_options taken = LAPWING_CHANNEL_OPTIONS_INIT;
  CHECK(copy_in(&longer.options, "options", taken).ok());
  CHECK(taken.call_window == 9);
  longer.added = 1;
  CHECK(errc_of(copy_in(&longer.options, "options", taken)) == Errc::kInvalidArgument);
  longer.options.struct_size = 7;
  CHECK(errc_of(copy_in(&longer.options, "options", taken)) == Errc::kInvalidArgument);
  longer.options.struct_size = offsetof(lapwing_channel_options, call_window);
  taken = LAPWING_CHANNEL_OPTIONS_INIT;
  CHECK(copy_in(&longer.options, "options", taken).ok());
  CHECK(taken.call_window == 64);  // the default
}

}  // namespace
}  // namespace lapwing::c

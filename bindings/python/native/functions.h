// The functions of lapwing.h, looked up in a library that is loaded at run time. The library is not
// linked because the program chooses it with LAPWING_LIBRARY.
#pragma once

#include <lapwing.h>

#include <cstdint>
#include <string>
#include <vector>

// Every function of the header; tests/test_library.py checks this.
// clang-format off
#define LAPWING_FUNCTIONS(X) \
  X(version) X(error_name) X(schema_fields) X(log_set) X(log_queue) X(log_read) \
  X(publisher_options_init) X(publisher_open) X(publisher_publish) X(publisher_flush) \
  X(publisher_inspect) X(publisher_close) X(publisher_interrupt) X(publisher_destroy) \
  X(subscriber_options_init) X(subscriber_open) X(subscriber_read) X(subscriber_read_one) \
  X(subscriber_schema) X(subscriber_ages) X(subscriber_inspect) X(subscriber_position) \
  X(subscriber_fd) X(subscriber_interrupt) X(subscriber_destroy) \
  X(cursor_open) X(cursor_position) X(cursor_commit) X(cursor_destroy) \
  X(history_open) X(history_inspect) X(history_read) X(history_find_time) X(history_map) \
  X(history_unmap) X(history_destroy) \
  X(books_create) X(books_take) X(books_inspect) X(books_list) X(books_find) X(books_levels) \
  X(books_orders) X(books_destroy) \
  X(listener_open) X(listener_take_over) X(listener_accept) X(listener_tend) X(listener_fd) \
  X(listener_interrupt) X(listener_destroy) \
  X(channel_options_init) X(channel_connect) X(channel_claim) X(channel_commit) X(channel_abort) X(channel_send) \
  X(channel_drain) X(channel_peek) X(channel_release) X(channel_start) X(channel_finish) \
  X(channel_finish_any) X(channel_cancel) X(channel_next) X(channel_reply) X(channel_arm) X(channel_fd) \
  X(channel_inspect) X(channel_interrupt) X(channel_close) X(channel_destroy) \
  X(symbols_open) X(symbols_find) X(symbols_name) X(symbols_list) X(symbols_destroy) \
  X(wait_set_open) X(wait_set_add_subscriber) X(wait_set_add_channel) X(wait_set_add_listener) \
  X(wait_set_add_fd) X(wait_set_add_timer) X(wait_set_set_timer) X(wait_set_remove) \
  X(wait_set_wait) X(wait_set_interrupt) X(wait_set_destroy)
// clang-format on

namespace lapwing_python {

struct Functions {
#define LAPWING_MEMBER(name) decltype(&lapwing_##name) name = nullptr;
  LAPWING_FUNCTIONS(LAPWING_MEMBER)
#undef LAPWING_MEMBER
};

// Null pointers until load() has succeeded. Importing the package calls it first.
extern Functions api;

// Loads the library at `path`, a path or a name that the dynamic linker finds, and returns its
// ABI: major << 16 | minor. Raises ImportError if it is missing or incompatible.
std::uint32_t load(const std::string& path);

// The names of all functions, for example "lapwing_version".
std::vector<std::string> function_names();

}  // namespace lapwing_python

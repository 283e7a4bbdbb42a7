/* Loads the library when a program first uses it. Each function of lapwing.h is defined here as a
 * jump to the library's function. The symbols are hidden, so that they do not replace the library's
 * own symbols. Do not call them before lw_load has returned LAPWING_OK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <lapwing.h>
#include <stdio.h>

#include "calls.h"

#define FUNCTIONS(F)                                                                               \
  F(version) F(error_name) F(schema_fields) F(log_set) F(log_queue) F(log_read)                    \
  F(publisher_options_init) F(publisher_open) F(publisher_publish) F(publisher_flush)              \
  F(publisher_inspect) F(publisher_close) F(publisher_interrupt) F(publisher_destroy)              \
  F(subscriber_options_init) F(subscriber_open) F(subscriber_read) F(subscriber_read_one)          \
  F(subscriber_schema) F(subscriber_ages) F(subscriber_inspect) F(subscriber_position)             \
  F(subscriber_fd) F(subscriber_interrupt) F(subscriber_destroy)                                   \
  F(cursor_open) F(cursor_position) F(cursor_commit) F(cursor_destroy)                             \
  F(history_open) F(history_inspect) F(history_read) F(history_find_time)                          \
  F(history_map) F(history_unmap) F(history_destroy)                                               \
  F(books_create) F(books_take) F(books_inspect) F(books_list) F(books_find)                       \
  F(books_levels) F(books_orders) F(books_destroy)                                                 \
  F(listener_open) F(listener_take_over) F(listener_accept) F(listener_tend)                       \
  F(listener_fd) F(listener_interrupt) F(listener_destroy)                                         \
  F(channel_options_init) F(channel_connect) F(channel_claim) F(channel_commit) F(channel_abort)   \
  F(channel_send) F(channel_drain) F(channel_peek) F(channel_release)                              \
  F(channel_start) F(channel_finish) F(channel_finish_any) F(channel_cancel) F(channel_next)       \
  F(channel_reply) F(channel_arm) F(channel_fd) F(channel_inspect)                                 \
  F(channel_interrupt) F(channel_close) F(channel_destroy)                                         \
  F(symbols_open) F(symbols_find) F(symbols_name) F(symbols_list) F(symbols_destroy)               \
  F(wait_set_open) F(wait_set_add_subscriber) F(wait_set_add_channel)                              \
  F(wait_set_add_listener) F(wait_set_add_fd) F(wait_set_add_timer) F(wait_set_set_timer)          \
  F(wait_set_remove) F(wait_set_wait) F(wait_set_interrupt) F(wait_set_destroy)

#if defined(__x86_64__)
#define JUMP(target) "  jmp *" target "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(target)                                                                               \
  "  adrp x16, " target "\n"                                                                       \
  "  ldr x16, [x16, #:lo12:" target "]\n"                                                          \
  "  br x16\n"
#else
#error "Lapwing runs on x86-64 and aarch64"
#endif

#define DEFINE(name)                                                                               \
  __attribute__((visibility("hidden"), used)) void *lw_at_##name;                                  \
  __asm__(".text\n"                                                                                \
          ".globl lapwing_" #name "\n"                                                             \
          ".hidden lapwing_" #name "\n"                                                            \
          ".type lapwing_" #name ", %function\n"                                                   \
          "lapwing_" #name ":\n" JUMP("lw_at_" #name)                                              \
          ".size lapwing_" #name ", . - lapwing_" #name "\n");
FUNCTIONS(DEFINE)

struct entry {
  const char *name;
  void **at;
};
#define ENTRY(name) {"lapwing_" #name, &lw_at_##name},
static const struct entry entries[] = {FUNCTIONS(ENTRY)};

lapwing_result lw_load(const char *path, lapwing_error *error) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(error->message, sizeof error->message,
             "%s; install Lapwing's library, or set LAPWING_LIBRARY to its path", dlerror());
    return LAPWING_ERROR_NOT_FOUND;
  }
  lw_at_version = dlsym(library, "lapwing_version");
  uint32_t abi = 0;
  const char *release = lw_at_version == NULL ? "without a version" : lapwing_version(&abi);
  if (abi >> 16 != LAPWING_ABI_MAJOR || (abi & 0xffff) < LAPWING_ABI_MINOR) {
    snprintf(error->message, sizeof error->message,
             "%s: release %s has ABI %u.%u, and this program needs %d.%d or a later %d.x; install that "
             "library, or build the program with the header of this one",
             path, release, abi >> 16, abi & 0xffff, LAPWING_ABI_MAJOR, LAPWING_ABI_MINOR,
             LAPWING_ABI_MAJOR);
    return LAPWING_ERROR_ABI_MISMATCH;
  }
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
    *entries[i].at = dlsym(library, entries[i].name);
    if (*entries[i].at == NULL) {
      snprintf(error->message, sizeof error->message,
               "%s: %s is missing, though its ABI says that it is there; install the library again",
               path, entries[i].name);
      return LAPWING_ERROR_ABI_MISMATCH;
    }
  }
  return LAPWING_OK;
}

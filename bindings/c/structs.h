// The C interface's structs. Each begins with struct_size, which may be that of a different version
// (lapwing.h, rule 2), and has fixed fields for text.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "bindings/c/call.h"
#include "lapwing.h"
#include "lapwing/error.h"
#include "lapwing/sequence.h"
#include "lapwing/waiting.h"

namespace lapwing::c {

inline constexpr std::size_t kStructBytesMin = 8;  // struct_size and the rest of its word

// Copies text into a field of `room` bytes, zero-terminated. Truncates it between two UTF-8
// characters.
inline void put_text(char* field, std::size_t room, std::string_view text) noexcept {
  std::size_t bytes = std::min(text.size(), room - 1);
  if (bytes < text.size()) {
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  }
  std::memcpy(field, text.data(), bytes);
  field[bytes] = '\0';
}
inline void append_text(char* field, std::size_t room, std::string_view text) noexcept {
  const std::size_t taken = std::strlen(field);
  put_text(field + taken, room - taken, text);
}
template <std::size_t kRoom>
void put_text(char (&field)[kRoom], std::string_view text) noexcept {
  put_text(field, kRoom, text);
}

inline lapwing_id id_of(const Id128& id) {
  lapwing_id out;
  std::memcpy(out.bytes, id.bytes.data(), sizeof out.bytes);
  return out;
}
inline Id128 id_of(const lapwing_id& id) {
  Id128 out;
  std::memcpy(out.bytes.data(), id.bytes, sizeof id.bytes);
  return out;
}

// Checks that the struct is not NULL and has a struct_size. `what` is its name in the message.
absl::Status check_struct(const void* given, std::uint32_t struct_size, const char* what);
// Checks that all bytes of the caller's struct beyond `known` are zero.
absl::Status check_tail(const void* given, std::uint32_t struct_size, std::size_t known,
                        const char* what);

// Fills a struct of any version with its defaults.
template <typename Struct>
void set_defaults(const Struct& defaults, Struct* options, std::uint32_t struct_size) {
  if (options == nullptr || struct_size < kStructBytesMin) return;
  std::memset(static_cast<void*>(options), 0, struct_size);
  std::memcpy(options, &defaults, std::min<std::size_t>(struct_size, sizeof defaults));
  options->struct_size = struct_size;
}

// Reads a struct of any version into `taken`, which contains the defaults. NULL: keeps all of them.
template <typename Struct>
absl::Status copy_in(const Struct* given, const char* what, Struct& taken) {
  if (given == nullptr) return absl::OkStatus();
  if (absl::Status fits = check_struct(given, given->struct_size, what); !fits.ok()) return fits;
  if (absl::Status zero = check_tail(given, given->struct_size, sizeof taken, what); !zero.ok()) {
    return zero;
  }
  std::memcpy(&taken, given, std::min<std::size_t>(given->struct_size, sizeof taken));
  return absl::OkStatus();
}

// For options: LAPWING_FOREVER, LAPWING_NEVER and LAPWING_ON_REQUEST are the same number.
absl::Status check_duration(const char* field, std::int64_t ns);
inline std::chrono::nanoseconds duration_of(std::int64_t ns) {
  return ns == LAPWING_FOREVER ? kForever : std::chrono::nanoseconds(ns);
}

// Fills a struct of any version, which must have passed check_struct(). Keeps its struct_size.
template <typename Struct>
void copy_out(const Struct& made, Struct* out) {
  const std::uint32_t size = out->struct_size;
  std::memcpy(out, &made, std::min<std::size_t>(size, sizeof made));
  out->struct_size = size;
}

// Fills *out with make(), or returns the error of check_struct().
template <typename Struct, typename Make>
lapwing_result fill(Struct* out, const char* what, lapwing_error* error, Make&& make) {
  if (absl::Status fits = check_struct(out, out == nullptr ? 0 : out->struct_size, what);
      !fits.ok()) {
    return fail(error, fits);
  }
  copy_out(make(), out);
  return LAPWING_OK;
}

}  // namespace lapwing::c

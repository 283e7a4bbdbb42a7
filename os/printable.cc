#include "os/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lapwing {
namespace {

// A form of UTF-8 characters: the range of the first byte, the number of bytes, and the smallest
// character that may be encoded in this form.
struct Form {
  std::uint8_t first;
  std::uint8_t last;
  std::size_t bytes;
  std::uint32_t least;
};
constexpr Form kForms[] = {
    {0x00, 0x7f, 1, 0}, {0xc2, 0xdf, 2, 0x80}, {0xe0, 0xef, 3, 0x800}, {0xf0, 0xf4, 4, 0x10000}};

// Characters that are invisible but have an effect, and surrogates, which are not characters.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Range kUnseen[] = {{0x00, 0x1f},     {0x7f, 0x9f},      {0xad, 0xad},
                             {0x61c, 0x61c},   {0x200b, 0x200f},  {0x2028, 0x202e},
                             {0x2060, 0x206f}, {0xd800, 0xdfff},  {0xfeff, 0xfeff},
                             {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
constexpr std::uint32_t kCharacterMax = 0x10ffff;

bool is_seen(std::uint32_t character) {
  return character <= kCharacterMax && std::ranges::none_of(kUnseen, [&](const Range& range) {
           return character >= range.first && character <= range.last;
         });
}

// Returns the number of bytes of the first character, or 0 if it is invalid or must not be shown.
std::size_t seen_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const Form* const form = std::ranges::find_if(
      kForms, [&](const Form& each) { return byte(0) >= each.first && byte(0) <= each.last; });
  if (form == std::end(kForms) || form->bytes > text.size()) return 0;
  std::uint32_t character = form->bytes == 1 ? byte(0) : byte(0) & (0x7fU >> form->bytes);
  for (std::size_t at = 1; at < form->bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(at) & 0x3fU);
  }
  return character >= form->least && is_seen(character) ? form->bytes : 0;
}

}  // namespace

std::string printable(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = seen_bytes(std::string_view(text).substr(at));
    if (bytes == 0) text[at] = '?';
    at += std::max<std::size_t>(bytes, 1);
  }
  return text;
}

}  // namespace lapwing

#include "relay/nats/nkey.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "lapwing/error.h"

namespace lapwing {
namespace {

// A seed is base 32 of: 5 bits "seed" and 5 bits of the kind, 6 bits of 0; 32 bytes; a CRC of these.
// A public key is base 32 of: 5 bits of the kind and 3 bits of 0; 32 bytes; a CRC of these.
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSeedBytes = 2 + kKeyBytes + 2;
constexpr std::size_t kSeedCharacters = 58;
constexpr std::size_t kPublicBytes = 1 + kKeyBytes + 2;
constexpr std::uint8_t kKindSeed = 18 << 3;  // S
constexpr std::uint8_t kKindUser = 20 << 3;  // U
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

// CRC-16/XMODEM.
std::uint16_t crc16(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0;
  for (const std::uint8_t byte : bytes) {
    crc ^= std::uint32_t{byte} << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc);
}

std::optional<std::array<std::uint8_t, kSeedBytes>> decode_seed(std::string_view text) {
  std::array<std::uint8_t, kSeedBytes> bytes{};
  std::uint32_t bits = 0;
  int bit_count = 0;
  std::size_t filled = 0;
  for (const char character : text) {
    const std::size_t value = std::string_view(kAlphabet).find(character);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 5 | static_cast<std::uint32_t>(value)) & 0xfff;
    bit_count += 5;
    if (bit_count < 8) continue;
    bit_count -= 8;
    if (filled == bytes.size()) return std::nullopt;
    bytes[filled++] = static_cast<std::uint8_t>(bits >> bit_count);
  }
  if (filled != bytes.size()) return std::nullopt;
  return bytes;
}

std::string encode(std::span<const std::uint8_t> bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8 | byte) & 0xfff;
    bit_count += 8;
    while (bit_count >= 5) {
      bit_count -= 5;
      text.push_back(kAlphabet[bits >> bit_count & 31]);
    }
  }
  if (bit_count > 0) text.push_back(kAlphabet[bits << (5 - bit_count) & 31]);
  return text;
}

bool public_key_of(std::span<const std::uint8_t> private_key, std::span<std::uint8_t> public_key) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, private_key.data(),
                                   private_key.size()),
      &EVP_PKEY_free);
  std::size_t bytes = public_key.size();
  return key != nullptr && EVP_PKEY_get_raw_public_key(key.get(), public_key.data(), &bytes) == 1 &&
         bytes == kKeyBytes;
}

}  // namespace

absl::StatusOr<std::string> nkey_public_key(std::string_view seed) {
  const auto invalid = [](const char* why) {
    return make_error(Errc::kInvalidArgument,
                      std::string("not the seed of an NKey user: ") + why +
                          ". Give a file with a line SU…, as `nk -gen user` prints it.");
  };
  if (seed.size() != kSeedCharacters) return invalid("it has another length");
  std::optional<std::array<std::uint8_t, kSeedBytes>> decoded = decode_seed(seed);
  if (!decoded) return invalid("it is not base 32");
  const std::span<const std::uint8_t, kSeedBytes> bytes(*decoded);
  const std::uint8_t kind = bytes[0] & 0xf8;
  const auto of = static_cast<std::uint8_t>((bytes[0] & 7) << 5 | bytes[1] >> 3);
  std::array<std::uint8_t, kPublicBytes> key{kKindUser};
  absl::Status status;
  if (kind != kKindSeed || of != kKindUser) {
    status = invalid("it is of another kind of key");
  } else if (const std::uint16_t sum = crc16(bytes.first<2 + kKeyBytes>());
             bytes[kSeedBytes - 2] != (sum & 0xff) || bytes[kSeedBytes - 1] != sum >> 8) {
    status = invalid("its check sum is wrong");
  } else if (!public_key_of(bytes.subspan<2, kKeyBytes>(),
                            std::span(key).subspan<1, kKeyBytes>())) {
    status = make_error(Errc::kSystem, "deriving the public key of an NKey failed");
  }
  OPENSSL_cleanse(decoded->data(), decoded->size());
  if (!status.ok()) return status;
  const std::uint16_t sum = crc16(std::span(key).first<1 + kKeyBytes>());
  key[kPublicBytes - 2] = static_cast<std::uint8_t>(sum & 0xff);
  key[kPublicBytes - 1] = static_cast<std::uint8_t>(sum >> 8);
  return encode(key);
}

std::string_view find_nkey_seed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    if (word.substr(0, 2) == "SU") return word;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return {};
}

}  // namespace lapwing

#include "relay/nats/nkey.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"

namespace lapwing {
namespace {

// Made with openssl from the SHA-256 of "out", "in" and "wrong".
constexpr struct {
  const char* seed;
  const char* key;
} kPairs[] = {
    {"SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7OVBP65AZVVI3THI6IS5OM",
     "UB4OTTY6EWBAKWOQ65BH4PW2UTGEEICPIOKJ4XRLEQ5QDEXGEDLJ7MEE"},
    {"SUAFQKLHKNGQ7EE5DFVZP6PGSIJUE5325KD3I35FFXYWKOE5WH5YZT62QI",
     "UBCAKTW3KQAG2SN36JFT7KC5L2TVNLRVEK3BUHT2572KMB2SOHEODBPZ"},
    {"SUAIQEFNLAPFT4V4HEULEYLQPJYTBD36COPLASBAGZW4JVOBRWMAEJNIF4",
     "UDQAILHBAXAQMRLEOTFB3H4KEHHWLWGT35CGHJHETPPR6CGKR6OVX2ZJ"},
};

TEST_CASE("an NKey's public key is derived from its seed") {
  for (const auto& pair : kPairs) CHECK(nkey_public_key(pair.seed).value() == pair.key);
}

TEST_CASE("a seed with one wrong character is refused, and not shown") {
  const std::string seed = kPairs[0].seed;
  for (std::size_t i = 0; i < seed.size(); ++i) {
    std::string wrong = seed;
    // The last character has two bits that mean nothing.
    wrong[i] = wrong[i] == 'A' ? 'Q' : 'A';
    const auto key = nkey_public_key(wrong);
    INFO(i);
    CHECK(errc_of(key.status()) == Errc::kInvalidArgument);
    CHECK(std::string(key.status().message()).find(wrong.substr(2, 8)) == std::string::npos);
  }
  for (const char* const wrong :
       {"", "SU", "suahmidjxqd2nynv34jduwxhxwi4cdnkaruu7ovbp65azvvi3thi6is5om",
        "SUAHMIDJXQD2NYNV34JDUWXHXWI4CDNKARUU7OVBP65AZVVI3THI6IS5OMA",
        // The seeds of an account and of an operator.
        "SAAECQZCGCO3LQDNBEFC5ERMZQ7AA4EMTE5ZXFSALXQSPN75RWRN2IOLT4",
        "SOAAG6XK5L2LX4TN3K7HEVVIFFG4KLNERVLVUESHWXBFTDCH3Z5OXK2XPM"}) {
    CHECK(errc_of(nkey_public_key(wrong).status()) == Errc::kInvalidArgument);
  }
}

TEST_CASE("the seed is found in a file with comments and a public key") {
  CHECK(find_nkey_seed("SUABC") == "SUABC");
  CHECK(find_nkey_seed("# out\n  SUABC \r\nUABC\n") == "SUABC");
  CHECK(find_nkey_seed("UABC\nSUABC\nSUDEF\n") == "SUABC");
  CHECK(find_nkey_seed("not SUABC").empty());
  CHECK(find_nkey_seed("\n\n").empty());
  CHECK(find_nkey_seed("").empty());
}

}  // namespace
}  // namespace lapwing

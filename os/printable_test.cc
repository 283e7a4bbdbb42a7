#include "os/printable.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("Text from outside holds no control characters") {
  CHECK(printable("es-sub 1~") == "es-sub 1~");
  CHECK(printable("a\x1b[2J\r\n\t\x7f\xc2\x9b") == "a?[2J??????");
  CHECK(printable(std::string("a\0b", 3)) == "a?b");
}

TEST_CASE("Text in any script stays as it is") {
  for (const char* text : {"b\xc3\xbcs", "\xe2\x82\xac 5", "\xe7\x9b\xae\xe5\xbd\x95",
                           "\xf0\x9f\x90\xa6", "\xf4\x8f\xbf\xbd"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("What is not UTF-8 becomes question marks, a byte each") {
  CHECK(printable("\xff\xfe") == "??");
  CHECK(printable("a\xc3") == "a?");               // truncated
  CHECK(printable("a\xe2\x82") == "a??");          // truncated
  CHECK(printable("\xc0\xaf") == "??");            // overlong encoding
  CHECK(printable("\xe0\x80\xaf") == "???");       // overlong encoding
  CHECK(printable("\xed\xa0\x80") == "???");       // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "????");  // beyond the last character
  CHECK(printable("\xc3\xc3\xbc") == "?\xc3\xbc");
}

TEST_CASE("What is not seen but reverses or hides text becomes question marks") {
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a???b");  // right-to-left override
  CHECK(printable("a\xe2\x80\xa8"
                  "b") == "a???b");  // line separator
  CHECK(printable("a\xe2\x80\x8b"
                  "b") == "a???b");  // zero-width space
  CHECK(printable("\xef\xbb\xbf") == "???");
}

}  // namespace
}  // namespace lapwing

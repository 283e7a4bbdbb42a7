// All shared definitions as text: every constant, size, offset, enumerator and error number of
// proto/.
//
// Only used in tests. proto/abi_golden_test.cc compares the text with tests/golden/abi.golden, so
// that no number shared by two processes, two releases or two languages changes unnoticed. A lint
// rule checks that the dump contains every declaration in proto/'s headers.
//
// Thread safety: a pure function.
#pragma once

#include <string>

namespace lapwing {

// One line per fact, grouped by header. A group starts with `[header]`:
//   constant NAME VALUE                 rule EXPRESSION VALUE        error NUMBER NAME
//   struct NAME size BYTES align BYTES  field STRUCT.NAME OFFSET BYTES TYPE
//   enum NAME BYTES                     value ENUM.NAME NUMBER
//   schema NAME id NUMBER rtype NUMBER
std::string abi_dump();

}  // namespace lapwing

// The whole agreement as text: every constant, size, offset, enumerator and error number of proto/.
//
// Built into tests only. proto/abi_golden_test.cc compares the text with tests/golden/abi.golden, so that
// no number that two processes, two releases or two languages share changes unnoticed; a house rule
// checks that nothing a header of proto/ declares is missing from it.
//
// Thread safety: a pure function.
#pragma once

#include <string>

namespace lapwing {

// One line a fact, grouped by header; a group starts with `[header]`:
//   constant NAME VALUE                 rule EXPRESSION VALUE        error NUMBER NAME
//   struct NAME size BYTES align BYTES  field STRUCT.NAME OFFSET BYTES TYPE
//   enum NAME BYTES                     value ENUM.NAME NUMBER
//   schema NAME id NUMBER rtype NUMBER
std::string abi_dump();

}  // namespace lapwing

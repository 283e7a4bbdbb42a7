// Text from outside, fit for a terminal, a table and a log: from a peer, a file, a path or an
// argument.
//
// Thread safety: a pure function.
#pragma once

#include <string>

namespace lapwing {

// What could move a cursor, colour a terminal, begin a line or reverse the order of a text becomes
// '?', and so does each byte that is not UTF-8. The size stays, and the result is UTF-8.
std::string printable(std::string text);

}  // namespace lapwing

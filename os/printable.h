// Makes untrusted text, from a peer, a file, a path or an argument, safe for a terminal, a table or
// a log.
//
// Thread safety: a pure function.
#pragma once

#include <string>

namespace lapwing {

// Replaces with '?' characters that could move a cursor, colour a terminal, begin a line or reverse
// text, and bytes that are not UTF-8. The size does not change, and the result is UTF-8.
std::string printable(std::string text);

}  // namespace lapwing

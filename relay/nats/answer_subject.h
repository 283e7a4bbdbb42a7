// The subjects of answers, `<inbox prefix>.<id of a connection>.q.<ask>`.
//
// A relay answers to such a subject only. A reply subject is chosen by its sender, and a relay may
// publish where that sender may not: an answer to `lapwing.log.<bus>` would be stored as a record.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace lapwing {

bool is_answer_subject(std::string_view subject);

// Whether an error of the server is about publishing to such a subject. The peer has an inbox whose
// prefix this user may not publish to, which is the peer's loss only.
bool is_refused_answer(std::string_view error);

}  // namespace lapwing

// The users whose buses a monitor shows: this user, root, and those that an option names.
//
// Another user may be hostile and announce buses that do not answer, or whose names match other
// buses. So that user's buses are labelled with the user's name and have separate limits, and no
// other reading waits for them.
//
// Thread safety: values and free functions; parse_watched_users() and user_name() may wait for the
// system's user database.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lapwing {

struct WatchedUsers {
  bool all = false;
  std::set<uid_t> others;  // in addition to this user and root

  bool includes(uid_t user) const;
};

// Parses user names, user numbers, or "all". Errors: kInvalidArgument (no such user exists).
absl::StatusOr<WatchedUsers> parse_watched_users(const std::vector<std::string>& texts);

// True for this user and for root, who can do everything anyway.
bool is_trusted_user(uid_t user);

// The user's name, or the number if it has none.
std::string user_name(uid_t user);

}  // namespace lapwing

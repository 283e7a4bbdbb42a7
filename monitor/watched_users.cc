#include "monitor/watched_users.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr std::size_t kEntryBytes = 16 * 1024;  // for the user database
constexpr char kAll[] = "all";

std::optional<uid_t> uid_of(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kEntryBytes> buffer{};
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    return found->pw_uid;
  }
  uid_t number = 0;
  return absl::SimpleAtoi(name, &number) ? std::optional(number) : std::nullopt;
}

}  // namespace

bool WatchedUsers::includes(uid_t user) const {
  return all || is_trusted_user(user) || others.contains(user);
}

absl::StatusOr<WatchedUsers> parse_watched_users(const std::vector<std::string>& texts) {
  WatchedUsers users;
  for (const std::string& text : texts) {
    if (text == kAll) {
      users.all = true;
      continue;
    }
    const std::optional<uid_t> user = uid_of(text);
    if (!user) {
      return make_error(Errc::kInvalidArgument, absl::StrCat("there is no user ", printable(text),
                                                             ". Give a name, a number, or all."));
    }
    users.others.insert(*user);
  }
  return users;
}

bool is_trusted_user(uid_t user) {
  return user == ::geteuid() || user == 0;
}

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kEntryBytes> buffer{};
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    return entry.pw_name;
  }
  return absl::StrCat(user);
}

}  // namespace lapwing

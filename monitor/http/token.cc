#include "monitor/http/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/system_error.h"
#include "os/unique_fd.h"

namespace lapwing {

absl::StatusOr<std::string> make_token() {
  std::string token;
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Id128> id = random_id();
    if (!id.ok()) return id.status();
    token += id->hex();
  }
  return token;
}

absl::StatusOr<std::string> read_token(const std::string& path) {
  const auto open_it = [&] {
    return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  };
  const UniqueFd file = UniqueFd::opened_by(open_it);
  if (!file.valid()) return make_system_error(errno, absl::StrCat("token file ", path));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) {
    return make_system_error(errno, absl::StrCat("token file ", path));
  }
  if (!S_ISREG(status.st_mode)) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat("token file ", path, " is not a regular file"));
  }
  if (status.st_uid != geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat("token file ", path, " belongs to user ", status.st_uid,
                                   "; it must belong to the user of this process"));
  }
  if ((status.st_mode & 077) != 0) {
    return make_error(
        Errc::kNotPermitted,
        absl::StrCat("token file ", path, " can be read or changed by others; chmod 600 ", path));
  }
  std::string text(kTokenCharsMax + 2, '\0');
  const ssize_t bytes = pread(file.get(), text.data(), text.size(), 0);
  if (bytes < 0) return make_system_error(errno, absl::StrCat("token file ", path));
  text.resize(static_cast<std::size_t>(bytes));
  absl::StripAsciiWhitespace(&text);
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("-._~+/=").find(c) != absl::string_view::npos;
  });
  if (text.size() < kTokenCharsMin || text.size() > kTokenCharsMax || !is_text) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("token file ", path, " needs one line of ", kTokenCharsMin,
                                   " to ", kTokenCharsMax,
                                   " letters, digits or -._~+/=; head -c32 /dev/urandom | "
                                   "base64 makes one"));
  }
  return text;
}

bool tokens_are_equal(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace lapwing

#include "monitor/http/token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "lapwing/error.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

std::string write_token(const TemporaryDirectory& directory, const std::string& text, mode_t mode) {
  const std::string path = directory.file("token");
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

TEST_CASE("A token has 256 bits, and is another one each time") {
  const std::string token = make_token().value();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(token != make_token().value());
}

TEST_CASE("A token is read from a file that nobody else can read") {
  const TemporaryDirectory directory;
  const std::string token(44, 'x');
  CHECK(read_token(write_token(directory, token + "\n", 0600)).value() == token);
  CHECK(read_token(write_token(directory, token, 0400)).value() == token);
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U}) {
    INFO(mode);
    CHECK(errc_of(read_token(write_token(directory, token, mode)).status()) == Errc::kNotPermitted);
  }
}

TEST_CASE("What no header may have, and what can be guessed, is no token") {
  const TemporaryDirectory directory;
  for (const std::string& text :
       {std::string(), std::string(31, 'x'), std::string(600, 'x'), std::string(40, 'x') + "\ny",
        std::string(40, 'x') + ";", std::string(40, '\xff')}) {
    INFO(text);
    CHECK(errc_of(read_token(write_token(directory, text, 0600)).status()) ==
          Errc::kInvalidArgument);
  }
}

TEST_CASE("A link, a directory and another user's file are no token files") {
  const TemporaryDirectory directory;
  const std::string path = write_token(directory, std::string(40, 'x'), 0600);
  const std::string link = directory.file("link");
  REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
  CHECK_FALSE(read_token(link).ok());
  CHECK(errc_of(read_token(directory.path()).status()) == Errc::kNotALapwingFile);
  CHECK(errc_of(read_token(directory.file("none")).status()) == Errc::kNotFound);
  if (geteuid() != 0) return;
  REQUIRE(chown(path.c_str(), 65'534, 65'534) == 0);
  CHECK(errc_of(read_token(path).status()) == Errc::kNotPermitted);
}

}  // namespace
}  // namespace lapwing

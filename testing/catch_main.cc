// The main function of every Catch2 program, compiled once. Its random numbers begin with the seed
// of the run; Catch2 prints it, and `--rng-seed` gives another. What tests make is writable for
// nobody else, whatever the user's umask: the library refuses a directory that others may change.
#include <sys/stat.h>

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "testing/environment.h"

int main(int argc, char** argv) {
  umask(022);
  Catch::Session session;
  session.configData().rngSeed = static_cast<std::uint32_t>(lapwing::test_seed());
  const int wrong = session.applyCommandLine(argc, argv);
  return wrong != 0 ? wrong : session.run();
}

// The main function of every Catch2 program, compiled once. Random numbers use the seed of the run,
// which Catch2 prints and `--rng-seed` sets. The tests' files are writable only for their owner,
// regardless of the umask, because the library refuses directories that other users may change.
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

// A child process that listens for channels. It creates the listener itself, because a listener
// created by its parent would fail with `forked` in the child.
//
// Thread safety: as ChildProcess.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "lapwing/listener.h"
#include "testing/child_process.h"

namespace lapwing {

// Listens at `path` in a child, which then runs `body` with the listener. On return it is
// listening.
template <typename Body>
ChildProcess listening_child(const std::string& path, const Body& body) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  ChildProcess child([&] {
    auto listener = ChannelListener::listen(path);
    close(ends[0]);
    close(ends[1]);  // the parent continues
    return listener.ok() ? body(*listener) : EXIT_FAILURE;
  });
  close(ends[1]);
  char none;
  CHECK(read(ends[0], &none, sizeof none) == 0);
  close(ends[0]);
  return child;
}

}  // namespace lapwing

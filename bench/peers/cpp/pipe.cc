// Two named pipes, one per direction, with the largest size for an unprivileged user. Both sides
// are busy.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/peers/cpp/byte_stream.h"
#include "bench/peers/cpp/scenarios.h"

namespace lapwing::peers {
namespace {

constexpr int kPipeBytes = 1024 * 1024;

// Opens both ends, so that opening does not wait and no side closes the last end.
int open_pipe(const Options& options, const std::string& name) {
  const std::string path = options.path(name + ".pipe");
  if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) fail_with_errno("cannot make " + path);
  const int descriptor = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno("cannot open " + path);
  fcntl(descriptor, F_SETPIPE_SZ, kPipeBytes);
  return descriptor;
}

class Pipe : public ByteStream {
 public:
  explicit Pipe(const Options& options)
      : ByteStream(options.words(), open_pipe(options, options.sends_first() ? "pong" : "ping"),
                   open_pipe(options, options.sends_first() ? "ping" : "pong")) {}
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::Pipe>(count, arguments);
}

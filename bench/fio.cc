#include "bench/fio.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/machine.h"

namespace lapwing::bench {
namespace {

int run(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (const int error = posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv.data(), environ);
      error != 0) {
    fail(absl::StrCat("cannot start ", program, ": errno ", error));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::optional<std::string> find_fio() {
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  for (const auto directory : absl::StrSplit(path, ':')) {
    const std::string candidate = absl::StrCat(directory, "/fio");
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

double fio_write_per_second(const std::string& fio, const std::string& directory,
                            std::uint64_t bytes) {
  const std::string report = absl::StrCat(directory, "/fio.json");
  const std::string file = absl::StrCat(directory, "/fio.data");
  const int status = run(
      fio, {"fio", "--name=floor", absl::StrCat("--filename=", file), "--rw=write", "--direct=1",
            "--bs=1M", "--ioengine=io_uring", "--iodepth=16", absl::StrCat("--size=", bytes),
            "--fallocate=posix", "--output-format=json", absl::StrCat("--output=", report)});
  if (status != 0) fail(absl::StrCat(fio, " ended with status ", status));
  std::ifstream in(report);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(absl::StrCat(fio, " did not print JSON"));
  unlink(file.c_str());
  return json.at("jobs").at(0).at("write").at("bw_bytes").get<double>();
}

}  // namespace lapwing::bench

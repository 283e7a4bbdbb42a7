#include "relay/in/file_parts.h"

#include <catch2/catch.hpp>
#include <string_view>

namespace lapwing {
namespace {

void add(FileParts& parts, std::uint64_t offset, std::uint64_t total, std::string_view text,
         RelayOutcome outcome = RelayOutcome::kPartly) {
  const RelayAnswer answer{RelayRequest::kFile, outcome, 1, total, offset};
  parts.add(answer, std::as_bytes(std::span(text)));
}

}  // namespace

TEST_CASE("A file is complete with its last part") {
  FileParts parts(RelayFile::kMetadata, 5);
  CHECK_FALSE(parts.is_complete());
  add(parts, 0, 9, "abcd");
  CHECK(parts.offset() == 4);
  add(parts, 0, 9, "abcd");  // repeated
  add(parts, 8, 9, "i");     // one is lost before it
  CHECK(parts.offset() == 4);
  add(parts, 4, 9, "efghi", RelayOutcome::kOk);
  CHECK(parts.is_complete());
  CHECK(parts.take() == "abcdefghi");
}

TEST_CASE("An empty file is complete") {
  FileParts parts(RelayFile::kDescription, 5);
  add(parts, 0, 0, "", RelayOutcome::kOk);
  CHECK(parts.is_complete());
}

TEST_CASE("A file of another size starts again") {
  FileParts parts(RelayFile::kCheckpoint, 0);
  add(parts, 0, 9, "abcd");
  add(parts, 4, 6, "ef");
  CHECK(parts.offset() == 0);
  add(parts, 0, 6, "uvwxyz");
  CHECK(parts.take() == "uvwxyz");
}

TEST_CASE("An answer without the file, or beyond the limit, adds nothing") {
  FileParts parts(RelayFile::kMetadata, 5);
  add(parts, 0, 0, "", RelayOutcome::kNotHere);
  add(parts, 0, FileParts::kFileBytesMax + 1, "a");
  CHECK_FALSE(parts.is_complete());
  CHECK(parts.offset() == 0);
}

}  // namespace lapwing

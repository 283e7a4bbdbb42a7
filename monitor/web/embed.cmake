# Writes OUTPUT, a source with the table web_files() for the files FILES, which are separated by
# commas.
#
#   cmake -D FILES=a.html,b.js -D SOURCE=DIR -D OUTPUT=web_files.cc -P embed.cmake
#
# A file may be given as PATH=NAME: it is read from PATH, and sent as /NAME.

set(types
  html "text/html\; charset=utf-8"
  js "text/javascript\; charset=utf-8"
  css "text/css\; charset=utf-8"
  svg "image/svg+xml"
  txt "text/plain\; charset=utf-8"
  json "application/json")

string(REPLACE "," ";" files "${FILES}")
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS files)
  set(name ${file})
  if(file MATCHES "^(.*)=(.*)$")
    set(file ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
  endif()
  get_filename_component(file ${file} ABSOLUTE BASE_DIR ${SOURCE})
  get_filename_component(extension ${name} LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  list(FIND types "${extension}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${name}: no content type is known for it; add one to embed.cmake")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  file(READ ${file} hex HEX)
  file(SHA256 ${file} sum)
  string(SUBSTRING ${sum} 0 32 sum)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char kBytes${index}[] = {${bytes}0};\n")
  string(APPEND rows
    "    {\"/${name}\", \"${type}\", text_of(kBytes${index}), \"\\\"${sum}\\\"\"},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT} "// Made by monitor/web/embed.cmake.
#include \"monitor/web/web_files.h\"

namespace lapwing {
namespace {

${arrays}
// Without the zero at its end, which an empty file needs.
template <std::size_t kSize>
absl::string_view text_of(const unsigned char (&bytes)[kSize]) {
  return {reinterpret_cast<const char*>(bytes), kSize - 1};
}

}  // namespace

std::span<const WebFile> web_files() {
  static const WebFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace lapwing
")

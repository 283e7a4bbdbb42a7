# Writes OUTPUT, a header that defines LAPWING_REVISION: the revision of the source, and whether it was
# changed since. Run at each build; the file is left as it is where nothing changed, so that what
# includes it is not compiled again.
#
#   cmake -D SOURCE=DIR -D OUTPUT=FILE [-D REVISION=TEXT] -P Revision.cmake
#
# A REVISION that is not empty is taken as it is. Without one, and where SOURCE is not the top of a git
# work tree (a tarball, or one that is unpacked below another repository), the text is empty.
cmake_minimum_required(VERSION 3.25)

set(text "${REVISION}")
if(text STREQUAL "")
  find_program(GIT git)
  file(REAL_PATH "${SOURCE}" source)
  # safe.directory: a build as another user than the owner, as in a container.
  set(git ${GIT} -c safe.directory=${source} -C ${source})
  if(GIT)
    execute_process(COMMAND ${git} rev-parse --show-toplevel
      OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(GIT AND top STREQUAL source)
    execute_process(COMMAND ${git} rev-parse --short=12 HEAD
      OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # Without optional locks: a build changes nothing in the repository.
    execute_process(COMMAND ${git} --no-optional-locks status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT text STREQUAL "" AND (failed OR NOT changes STREQUAL ""))
      string(APPEND text " dirty")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define LAPWING_REVISION \"@text@\"\n" ESCAPE_QUOTES @ONLY)

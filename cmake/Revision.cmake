# Writes OUTPUT, a header that defines LAPWING_REVISION: the revision of the source, and whether it
# has changes. Runs in each build. An unchanged file is not rewritten, so its users are not
# recompiled.
#
#   cmake -D SOURCE=DIR -D OUTPUT=FILE [-D REVISION=TEXT] -P Revision.cmake
#
# A non-empty REVISION is used unchanged. Otherwise, if SOURCE is not the top of a git work tree (a
# tarball, or one unpacked inside another repository), the text is empty.
cmake_minimum_required(VERSION 3.25)

set(text "${REVISION}")
if(text STREQUAL "")
  find_program(GIT git)
  file(REAL_PATH "${SOURCE}" source)
  # safe.directory: for builds by a user other than the owner, as in a container.
  set(git ${GIT} -c safe.directory=${source} -C ${source})
  if(GIT)
    execute_process(COMMAND ${git} rev-parse --show-toplevel
      OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(GIT AND top STREQUAL source)
    execute_process(COMMAND ${git} rev-parse --short=12 HEAD
      OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # No optional locks, so that a build does not change the repository.
    execute_process(COMMAND ${git} --no-optional-locks status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT text STREQUAL "" AND (failed OR NOT changes STREQUAL ""))
      string(APPEND text " dirty")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define LAPWING_REVISION \"@text@\"\n" ESCAPE_QUOTES @ONLY)

# lapwing_archives_inside(OUT target...): the archives of imported targets and of all their
# dependencies, for a shared library that includes them.
#
# Archives compiled only for programs may have code that a linker refuses in a shared library,
# because its access to thread-local variables or to data of libstdc++ works only in a program. A
# trial link finds these archives, and their shared libraries are linked instead. In Debian's Abseil
# there are a few (ADR 19).

# The archive beside a shared library, or the library itself if there is none.
function(lapwing_archive_beside out file)
  string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${file})
  if(EXISTS ${archive})
    set(file ${archive})
  endif()
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# The files to link for these targets: archives, or shared libraries without an archive.
function(lapwing_files_of out)
  set(waiting ${ARGN})
  set(seen "")
  set(files "")
  while(waiting)
    list(POP_FRONT waiting target)
    if(target IN_LIST seen OR NOT TARGET ${target})
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
    if(linked)
      string(REGEX REPLACE "\\$<LINK_ONLY:([^>]*)>" "\\1" linked "${linked}")
      list(APPEND waiting ${linked})
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    list(GET configurations 0 configuration)
    get_target_property(file ${target} IMPORTED_LOCATION_${configuration})
    lapwing_archive_beside(file ${file})
    list(APPEND files ${file})
  endwhile()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(lapwing_archives_inside out)
  lapwing_files_of(files ${ARGN})
  set(trial ${CMAKE_CURRENT_BINARY_DIR}/archives_inside.so)
  list(LENGTH files rounds)
  foreach(round RANGE ${rounds})
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -shared -o ${trial} -Wl,--exclude-libs,ALL
        -Wl,--whole-archive ${files} -Wl,--no-whole-archive
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE errors)
    file(REMOVE ${trial})
    string(REGEX MATCHALL "[^ :\n]+\\.a\\([^)]*\\): relocation" named "${errors}")
    if(NOT failed OR NOT named)
      break()
    endif()
    foreach(name IN LISTS named)
      string(REGEX REPLACE "\\.a\\(.*" "" stem ${name})
      list(TRANSFORM files REPLACE "^${stem}\\.a$" "${stem}.so")
    endforeach()
  endforeach()
  if(failed)
    message(FATAL_ERROR "liblapwing.so cannot bring these along: ${files}\n${errors}")
  endif()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

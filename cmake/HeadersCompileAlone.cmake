# Target headers_compile_alone: compiles each header of the tree in a source of its own. Headers
# that a source includes first are left out, because that source already checks them.
# Only this file searches for files, so that an unlisted header is not missed.

set(first_includes "")
foreach(layer proto os bus channel snapshot publisher subscribers wait_set relay monitor cli
        bindings/c testing tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${layer}/*.cc)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} include REGEX "^#include" LIMIT_COUNT 1)
    if(include MATCHES "\"(.*)\"")
      list(APPEND first_includes ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()

set(header_sources "")
foreach(layer include proto os bus channel snapshot publisher subscribers wait_set relay
        monitor cli bindings/c testing tests)
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${layer}/*.h)
  list(TRANSFORM headers REPLACE "^include/" "")
  list(REMOVE_ITEM headers "" ${first_includes})
  foreach(header IN LISTS headers)
    set(source ${PROJECT_BINARY_DIR}/headers_compile_alone/${header}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
    list(APPEND header_sources ${source})
  endforeach()
endforeach()

add_library(headers_compile_alone OBJECT EXCLUDE_FROM_ALL ${header_sources})
target_link_libraries(headers_compile_alone PRIVATE
  lapwing_proto lapwing_bus lapwing_snapshot PkgConfig::URING
  $<TARGET_NAME_IF_EXISTS:lapwing_catch_main>)  # so that the tests' headers find Catch2

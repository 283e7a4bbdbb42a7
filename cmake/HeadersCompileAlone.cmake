# Target headers_compile_alone: every header of the tree, each alone in a source of its own.
# The one place that searches for files: a header that someone forgot to list must not escape it.

set(header_sources "")
foreach(layer proto bus snapshot publisher subscribers cli bindings tests)
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${layer}/*.h)
  foreach(header IN LISTS headers)
    set(source ${PROJECT_BINARY_DIR}/headers_compile_alone/${header}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
    list(APPEND header_sources ${source})
  endforeach()
endforeach()

add_library(headers_compile_alone OBJECT EXCLUDE_FROM_ALL ${header_sources})
target_link_libraries(headers_compile_alone PRIVATE
  lapwing_proto lapwing_bus lapwing_snapshot PkgConfig::URING)

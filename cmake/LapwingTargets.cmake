# The two kinds of target the project has: a layer's library and a test program beside it.
# Every layer lists its sources; nothing is globbed.

add_library(lapwing_flags INTERFACE)
target_include_directories(lapwing_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(lapwing_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
if(LAPWING_SANITIZE)
  target_compile_options(lapwing_flags INTERFACE
    -fsanitize=${LAPWING_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lapwing_flags INTERFACE -fsanitize=${LAPWING_SANITIZE})
endif()

# Debian compiles its libraries as system headers; ours are held to stricter warnings than theirs.
foreach(target absl::status absl::statusor absl::strings absl::str_format absl::time
        absl::flat_hash_map absl::span absl::inlined_vector)
  get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(includes)
    set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${includes}")
  endif()
endforeach()

# lapwing_library(NAME SOURCES a.cc b.cc [DEPENDS lapwing_proto absl::status ...])
function(lapwing_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC lapwing_flags ${arg_DEPENDS})
endfunction()

# lapwing_test(NAME SOURCES a_test.cc [DEPENDS lapwing_bus ...] [LABELS l] [TIMEOUT seconds])
# One Catch2 program and one ctest entry. A ctest timeout only ends a hang; no test measures time.
function(lapwing_test name)
  if(NOT LAPWING_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lapwing_catch_main ${arg_DEPENDS})
  add_test(NAME ${name} COMMAND ${name} --order rand --rng-seed time)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

if(LAPWING_BUILD_TESTS)
  enable_testing()
  add_library(lapwing_catch_main STATIC ${PROJECT_SOURCE_DIR}/tests/catch_main.cc)
  target_link_libraries(lapwing_catch_main PUBLIC lapwing_flags)
endif()

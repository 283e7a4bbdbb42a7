# The two kinds of target the project has: a layer's library and a test program beside it.
# Every layer lists its sources; nothing is globbed.

# For this project's own targets. What others link (LapwingPackage.cmake) has none of it.
add_library(lapwing_flags INTERFACE)
target_include_directories(lapwing_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(lapwing_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Wimplicit-fallthrough)
if(LAPWING_WARNINGS_ARE_ERRORS)
  target_compile_options(lapwing_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's std::stable_sort trips it and hides that from gcc alone; gcc checks our code.
  target_compile_options(lapwing_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(LAPWING_SANITIZE)
  target_compile_options(lapwing_flags INTERFACE
    -fsanitize=${LAPWING_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lapwing_flags INTERFACE -fsanitize=${LAPWING_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Its manual says that sanitizers make this warning false more often; here it is, in libstdc++'s
    # std::regex and std::function. The release build has it.
    target_compile_options(lapwing_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(LAPWING_BUILD_FUZZERS)
  target_compile_options(lapwing_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Debian compiles its libraries as system headers; ours are held to stricter warnings than theirs.
foreach(target absl::status absl::statusor absl::strings absl::str_format absl::time
        absl::btree absl::flat_hash_map absl::flat_hash_set absl::int128 absl::span
        absl::inlined_vector)
  get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(includes)
    set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${includes}")
  endif()
endforeach()

# Several sources at a time build in a fraction of the time, for each includes the same large headers.
function(lapwing_compile_together target)
  if(LAPWING_UNITY_BATCH EQUAL 0)
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${LAPWING_UNITY_BATCH})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc takes the sources for headers, and warns of types that a header should not use.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# lapwing_library(NAME SOURCES a.cc b.cc [DEPENDS lapwing_proto absl::status ...])
function(lapwing_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC lapwing_flags ${arg_DEPENDS})
  # A user may put the archive into a shared library.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  lapwing_compile_together(${name})
endfunction()

# The tier says when deploy/test.sh runs a test; a target tests_<tier> builds what its tests run.
#   default  always: every behaviour once, in minutes
#   ci       with --ci, before a change lands: what needs real data, a package registry, or longer
#   long     with --long
# Labels say what else it is run under; a target tests_<label> builds each group alone.
#   unit     address and undefined-behaviour sanitizers; every lapwing_test without `slow` has it
#   threads  several threads on shared words: also gcc's thread sanitizer
#   oracle   the torn-read oracle: also clang's thread sanitizer
#   slow     too slow under any sanitizer
# Scripts have labels as well: `house` for the house rules, `registry` for what needs a package
# registry.
# A check that cannot run here prints a line `SKIPPED: reason` (testing/skip.h); a program of which
# nothing is left exits with 77.
set(LAPWING_TEST_LABELS unit threads oracle slow)
set(LAPWING_TEST_TIERS default ci long)
foreach(group IN LISTS LAPWING_TEST_LABELS LAPWING_TEST_TIERS)
  add_custom_target(tests_${group})
endforeach()

# What both kinds of test have in common. The rest of the arguments: the labels.
function(lapwing_register_test name tier timeout)
  if(NOT tier IN_LIST LAPWING_TEST_TIERS)
    message(FATAL_ERROR "${name}: TIER ${tier} is not one of ${LAPWING_TEST_TIERS}")
  endif()
  if(NOT timeout)
    set(timeout 900)
  endif()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} LABELS "tier_${tier};${ARGN}" SKIP_RETURN_CODE 77)
endfunction()

# lapwing_test(NAME TIER tier SOURCES a_test.cc [DEPENDS lapwing_bus ...] [LABELS l]
#              [TIMEOUT seconds] [ALONE])
# One Catch2 program and one ctest entry. A ctest timeout only ends a hang; no test measures time.
# ALONE: two processes that spin for each other; beside another test they would take far longer, or
# never get as far as sleeping.
function(lapwing_test name)
  if(NOT LAPWING_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "ALONE" "TIER;TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT "slow" IN_LIST arg_LABELS)
    list(APPEND arg_LABELS unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lapwing_catch_main ${arg_DEPENDS})
  lapwing_compile_together(${name})
  if(LAPWING_BUILD_FUZZERS)
    # The fuzzer watches what is tested; without its counters a test compiles in a fifth less time.
    target_compile_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
  add_test(NAME ${name} COMMAND ${name} --order rand)
  lapwing_register_test(${name} "${arg_TIER}" "${arg_TIMEOUT}" ${arg_LABELS})
  if(arg_ALONE)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
  foreach(label IN LISTS arg_LABELS)
    if(NOT label IN_LIST LAPWING_TEST_LABELS)
      message(FATAL_ERROR "${name}: label ${label} is not one of ${LAPWING_TEST_LABELS}")
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
  add_dependencies(tests_${arg_TIER} ${name})
endfunction()

# lapwing_script_test(NAME TIER tier COMMAND program argument... [PROGRAMS lapwing ...] [LABELS l]
#                     [TIMEOUT seconds])
# One ctest entry for a script, run from the source tree. PROGRAMS are the targets that it runs: it
# finds them below LAPWING_BUILD_DIR, and the program `lapwing` as LAPWING_BIN.
function(lapwing_script_test name)
  if(NOT LAPWING_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIER;TIMEOUT" "COMMAND;PROGRAMS;LABELS" ${ARGN})
  if(NOT LAPWING_BUILD_PROGRAM AND "${arg_PROGRAMS}" MATCHES "(^|;)(lapwing|example_[a-z_]+)(;|$)")
    message(STATUS "${name} is left out: it runs what LAPWING_BUILD_PROGRAM=ON builds")
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  lapwing_register_test(${name} "${arg_TIER}" "${arg_TIMEOUT}" ${arg_LABELS})
  if(arg_PROGRAMS)
    add_dependencies(tests_${arg_TIER} ${arg_PROGRAMS})
  endif()
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "LAPWING_BUILD_DIR=${PROJECT_BINARY_DIR};LAPWING_BIN=${PROJECT_BINARY_DIR}/lapwing")
endfunction()

if(LAPWING_BUILD_TESTS)
  enable_testing()
  find_package(Catch2 2.13 QUIET)
  if(Catch2_FOUND AND Catch2_VERSION VERSION_LESS 3)
    add_library(lapwing_catch_main STATIC ${PROJECT_SOURCE_DIR}/testing/catch_main.cc)
  else()
    # Debian 13 has Catch2 3, with other headers.
    find_package(Catch2 3 REQUIRED)
    add_library(lapwing_catch_main STATIC ${PROJECT_SOURCE_DIR}/testing/catch_main.cc)
    target_include_directories(lapwing_catch_main PUBLIC ${PROJECT_SOURCE_DIR}/testing/catch2_v3)
    target_link_libraries(lapwing_catch_main PUBLIC Catch2::Catch2)
  endif()
  target_link_libraries(lapwing_catch_main PUBLIC lapwing_flags)
endif()

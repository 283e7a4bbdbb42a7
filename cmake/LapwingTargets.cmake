# The two kinds of targets in the project: the library of a layer, and the test programs beside it.
# Every layer lists its sources; nothing is globbed.

# Settings for this project's own targets. The installed library (LapwingPackage.cmake) has none of
# them.
add_library(lapwing_flags INTERFACE)
target_include_directories(lapwing_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(lapwing_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Wimplicit-fallthrough)
# Objects do not depend on where the project is, so that a compiler cache serves every checkout. Tests
# print the names of their files (__FILE__).
target_compile_options(lapwing_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(LAPWING_WARNINGS_ARE_ERRORS)
  target_compile_options(lapwing_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 triggers the warning, and suppresses it only for gcc. gcc still
  # checks our code.
  target_compile_options(lapwing_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(LAPWING_SANITIZE)
  target_compile_options(lapwing_flags INTERFACE
    -fsanitize=${LAPWING_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lapwing_flags INTERFACE -fsanitize=${LAPWING_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The gcc manual warns of more false positives with sanitizers. Here they are in libstdc++'s
    # std::regex and std::function. The release build keeps the warning.
    target_compile_options(lapwing_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(LAPWING_BUILD_FUZZERS)
  target_compile_options(lapwing_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Debian's libraries are system headers: our stricter warnings do not apply to them.
foreach(target absl::status absl::statusor absl::strings absl::str_format absl::time
        absl::btree absl::flat_hash_map absl::flat_hash_set absl::int128 absl::span
        absl::inlined_vector)
  get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(includes)
    set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${includes}")
  endif()
endforeach()

# Compiles several sources together, which is much faster because they include the same large
# headers.
function(lapwing_compile_together target)
  if(LAPWING_UNITY_BATCH EQUAL 0)
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${LAPWING_UNITY_BATCH})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc treats the sources as headers, and warns about types that a header should not use.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# lapwing_library(NAME SOURCES a.cc b.cc [DEPENDS lapwing_proto absl::status ...])
function(lapwing_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC lapwing_flags ${arg_DEPENDS})
  # Users may link the archive into a shared library.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  lapwing_compile_together(${name})
endfunction()

# The tier determines when deploy/test.sh runs a test. A target tests_<tier> builds its programs.
#   default  always: each behaviour once; takes minutes
#   ci       with --ci, before a merge: needs real data, a package registry, or more time
#   long     with --long
# Labels add further runs. A target tests_<label> builds each group.
#   unit     address and undefined-behaviour sanitizers; every lapwing_test without `slow` has it
#   threads  several threads on shared words: also gcc's thread sanitizer
#   oracle   the torn-read oracle: also clang's thread sanitizer
#   slow     too slow under any sanitizer
# Labels of scripts: `house` for the lint rules, `registry` for tests that need a package registry.
# A check that cannot run prints a line `SKIPPED: reason` (testing/skip.h). A program without any
# other check exits with 77.
set(LAPWING_TEST_LABELS unit threads oracle slow)
set(LAPWING_TEST_TIERS default ci long)
foreach(group IN LISTS LAPWING_TEST_LABELS LAPWING_TEST_TIERS)
  add_custom_target(tests_${group})
endforeach()

# Registers a test of either kind. The remaining arguments are labels.
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
# ALONE: the test has two processes that spin for each other. Next to another test they would take
# far longer, or never sleep.
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
  # The libraries have the optimisation of the build type. A test's own code compiles in a quarter less
  # time with -O1.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  if(LAPWING_BUILD_FUZZERS)
    # The fuzzer observes only the tested code. Without its counters a test compiles in 4/5 of
    # the time.
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
# One ctest entry for a script, run from the source tree. PROGRAMS are the targets that the script
# runs. It finds them below LAPWING_BUILD_DIR, and the program `lapwing` as LAPWING_BIN.
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

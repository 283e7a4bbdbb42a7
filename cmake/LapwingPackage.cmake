# The library for other projects: lapwing::lapwing, one static archive of all layers with the
# headers of include/lapwing, and its installation. docs/reference/cpp.md describes its use.
#
# Only the Checkpointer uses RocksDB. It is in a separate archive, lapwing::checkpoints, which
# exists if RocksDB is installed. Users of lapwing::lapwing do not need RocksDB.

set(LAPWING_ROOMS
  lapwing_os lapwing_uring lapwing_bus lapwing_channel lapwing_snapshot lapwing_archive
  lapwing_publisher lapwing_subscribers lapwing_conflation lapwing_recorder
  lapwing_wait_set)

add_library(lapwing_package STATIC)
foreach(room IN LISTS LAPWING_ROOMS)
  target_sources(lapwing_package PRIVATE $<TARGET_OBJECTS:${room}>)
endforeach()
set_target_properties(lapwing_package PROPERTIES
  OUTPUT_NAME lapwing EXPORT_NAME lapwing LINKER_LANGUAGE CXX)
target_compile_features(lapwing_package PUBLIC cxx_std_20)
target_include_directories(lapwing_package INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(lapwing_package INTERFACE
  absl::cord absl::flat_hash_map absl::status absl::statusor absl::strings
  $<LINK_ONLY:absl::btree> $<LINK_ONLY:absl::flat_hash_set> $<LINK_ONLY:absl::int128>
  $<LINK_ONLY:absl::str_format> $<LINK_ONLY:absl::time>
  $<LINK_ONLY:PkgConfig::URING> $<LINK_ONLY:PkgConfig::XXHASH> $<LINK_ONLY:PkgConfig::ZSTD>
  $<LINK_ONLY:Threads::Threads>)
add_library(lapwing::lapwing ALIAS lapwing_package)

if(TARGET lapwing_checkpointer)
  add_library(lapwing_checkpoints_package STATIC $<TARGET_OBJECTS:lapwing_checkpointer>)
  set_target_properties(lapwing_checkpoints_package PROPERTIES
    OUTPUT_NAME lapwing-checkpoints EXPORT_NAME checkpoints LINKER_LANGUAGE CXX)
  target_link_libraries(lapwing_checkpoints_package INTERFACE
    lapwing_package $<LINK_ONLY:PkgConfig::ROCKSDB>)
  add_library(lapwing::checkpoints ALIAS lapwing_checkpoints_package)
endif()

if(NOT LAPWING_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/lapwing)
install(TARGETS lapwing_package EXPORT lapwing ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lapwing DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT lapwing FILE lapwing-targets.cmake NAMESPACE lapwing::
  DESTINATION ${package_directory})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lapwing-config.cmake.in
  ${PROJECT_BINARY_DIR}/lapwing-config.cmake INSTALL_DESTINATION ${package_directory})
if(TARGET lapwing_checkpoints_package)
  install(TARGETS lapwing_checkpoints_package EXPORT lapwing-checkpoints
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT lapwing-checkpoints FILE checkpoints-targets.cmake NAMESPACE lapwing::
    DESTINATION ${package_directory})
endif()
# Before 1.0.0, a minor version may change the source interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lapwing-config-version.cmake
  COMPATIBILITY SameMinorVersion)
# These belong to the component of the C interface (bindings/c), which can be installed on its own.
install(FILES ${PROJECT_BINARY_DIR}/lapwing-config.cmake
  ${PROJECT_BINARY_DIR}/lapwing-config-version.cmake DESTINATION ${package_directory} COMPONENT c)
# The prefix relative to the file, so that the installation can be moved.
file(RELATIVE_PATH LAPWING_PREFIX_FROM_PC
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(pkg_config_files lapwing-cpp)
if(TARGET lapwing_checkpoints_package)
  list(APPEND pkg_config_files lapwing-cpp-checkpoints)
endif()
foreach(name IN LISTS pkg_config_files)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
if(TARGET lapwing)
  install(TARGETS lapwing RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

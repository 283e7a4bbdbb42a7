# Links our programs with the archives of Abseil and RocksDB, if the system has them. With the shared
# libraries, half the time that `lapwing` takes to start is spent in the dynamic linker (bench/LOG.md).
#
# A parent project keeps its own choice. Sanitizers need the shared libraries, because the linker
# could take an unchecked template instance from an archive. For cross-compiling, Debian's RocksDB
# files name paths of the build machine.
set(LAPWING_ROCKSDB_IS_ARCHIVE FALSE)
if(NOT PROJECT_IS_TOP_LEVEL OR LAPWING_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
include(cmake/ArchivesInside.cmake)

get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER imported INCLUDE REGEX "^absl::")
foreach(target IN LISTS imported)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  if(NOT configurations)  # header-only library
    continue()
  endif()
  foreach(configuration IN LISTS configurations)
    get_target_property(file ${target} IMPORTED_LOCATION_${configuration})
    lapwing_archive_beside(archive ${file})
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${archive})
  endforeach()
endforeach()

find_library(LAPWING_ROCKSDB_ARCHIVE librocksdb.a)
if(ROCKSDB_FOUND AND LAPWING_ROCKSDB_ARCHIVE)
  find_package(RocksDB CONFIG QUIET)  # for the libraries that the archive needs
  set(LAPWING_ROCKSDB_IS_ARCHIVE ${RocksDB_FOUND})
endif()

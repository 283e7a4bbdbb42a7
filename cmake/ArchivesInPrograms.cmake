# Abseil and RocksDB go into our programs as archives, where the system has them: a start of `lapwing`
# spent half of its time in the dynamic linker (bench/LOG.md). A project that Lapwing is a part of
# keeps its own choice. A sanitizer must not get templates that are compiled without it from an archive.
# Debian's RocksDB cannot be found below another root, as for another processor.
if(NOT PROJECT_IS_TOP_LEVEL OR LAPWING_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()

get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER imported INCLUDE REGEX "^absl::")
foreach(target IN LISTS imported)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  if(NOT configurations)  # a header-only one
    continue()
  endif()
  foreach(configuration IN LISTS configurations)
    get_target_property(file ${target} IMPORTED_LOCATION_${configuration})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${file}")
    if(EXISTS ${archive})
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${archive})
    endif()
  endforeach()
endforeach()

if(ROCKSDB_FOUND)
  find_package(RocksDB CONFIG QUIET)
  if(TARGET RocksDB::rocksdb)
    set_target_properties(PkgConfig::ROCKSDB PROPERTIES
      INTERFACE_LINK_LIBRARIES RocksDB::rocksdb)
  endif()
endif()

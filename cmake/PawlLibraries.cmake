# libpawl, static and shared, and what lets others find it: pawl::pawl and
# pawl::static of CMake, pawl.pc of pkg-config.

# Alone in its folder: src/ has more headers than who uses it should see.
set(PAWL_PUBLIC_DIR ${PROJECT_BINARY_DIR}/include)
configure_file(src/pawl.h ${PAWL_PUBLIC_DIR}/pawl.h COPYONLY)

set(objects $<TARGET_OBJECTS:pawl_core> ${PAWL_OWN_LUA} ${PAWL_OWN_SQLITE})
add_library(pawl_static STATIC ${objects})
add_library(pawl_shared SHARED ${objects})
add_library(pawl::static ALIAS pawl_static)
add_library(pawl::pawl ALIAS pawl_shared)
foreach(library pawl_static pawl_shared)
  set_target_properties(${library} PROPERTIES
    OUTPUT_NAME pawl LINKER_LANGUAGE C)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PAWL_PUBLIC_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(pawl_static PROPERTIES EXPORT_NAME static)
set_target_properties(pawl_shared PROPERTIES EXPORT_NAME pawl)

# Whoever links the archive links what it needs; pawl::dependencies, which
# finds that on the machine of who installed us, is pawlConfig.cmake's.
target_link_libraries(pawl_static INTERFACE
  $<BUILD_INTERFACE:pawl_lua> $<BUILD_INTERFACE:pawl_libraries>
  $<INSTALL_INTERFACE:pawl::dependencies>)
target_compile_definitions(pawl_static INTERFACE PAWL_STATIC)

target_link_libraries(pawl_shared PRIVATE
  $<BUILD_INTERFACE:pawl_flags> $<BUILD_INTERFACE:pawl_lua>
  $<BUILD_INTERFACE:pawl_libraries>)
pawl_export_only(pawl_shared src/pawl.map)
pawl_refuse_undefined(pawl_shared)
# Until 1.0 the ABI may change with the second number.
set_target_properties(pawl_shared PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

if(NOT PAWL_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(PAWL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(FILES src/pawl.h TYPE INCLUDE)
install(TARGETS pawl_static pawl_shared EXPORT pawlTargets)
install(EXPORT pawlTargets NAMESPACE pawl:: DESTINATION ${PAWL_CMAKE_DIR})
configure_package_config_file(cmake/pawlConfig.cmake.in
  ${PROJECT_BINARY_DIR}/pawlConfig.cmake
  INSTALL_DESTINATION ${PAWL_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pawlConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pawlConfig.cmake
              ${PROJECT_BINARY_DIR}/pawlConfigVersion.cmake
        DESTINATION ${PAWL_CMAKE_DIR})

list(JOIN PAWL_REQUIRES " " PAWL_PC_REQUIRES)
# pkg-config quotes a folder's name behind -L, and no other.
set(PAWL_PC_ARCHIVE "-L\${libdir} -l:libpawl.a")
if(APPLE)
  set(PAWL_PC_ARCHIVE "\${libdir}/libpawl.a") # its linker has no -l:
endif()
configure_file(pawl.pc.in pawl.pc @ONLY)
configure_file(pawl-static.pc.in pawl-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc ${PROJECT_BINARY_DIR}/pawl-static.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# pawl/core.so and the command. A program of its own with liblua inside must
# not be linked with the module: see the head of CMakeLists.txt.

set(PAWL_MODULE_DIR ${PROJECT_BINARY_DIR}/lua)
# lsys.c is the command's alone: signals and terminals are no library's business.
set(PAWL_MODULE_SOURCES ${PAWL_BIND_SOURCES})
list(FILTER PAWL_MODULE_SOURCES EXCLUDE REGEX "/lsys\\.c$")
if(PAWL_TESTING)
  list(APPEND PAWL_MODULE_SOURCES spec/support/probe.c spec/support/toy.c)
endif()
add_library(pawl_module MODULE ${PAWL_MODULE_SOURCES} ${PAWL_OWN_SQLITE})
target_link_libraries(pawl_module PRIVATE pawl_core pawl_libraries)
pawl_export_only(pawl_module src/bind/module.map)
set_target_properties(pawl_module PROPERTIES
  PREFIX "" OUTPUT_NAME core SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY ${PAWL_MODULE_DIR}/pawl)
if(APPLE)
  target_link_options(pawl_module PRIVATE -undefined dynamic_lookup)
endif()

# The Lua files beside it are links, so an edit needs no build.
pawl_link_lua_files(${PAWL_MODULE_DIR})

if(PAWL_INSTALL)
  install(TARGETS pawl_module DESTINATION ${PAWL_LUA_CDIR}/pawl)
  install(DIRECTORY lua/pawl DESTINATION ${PAWL_LUA_DIR}
          FILES_MATCHING PATTERN "*.lua")
  # What editors and luacheck read: an addon of LuaLS has its annotations in a
  # folder `library`, which here are those of the sources.
  set(PAWL_LUALS ${PAWL_LUA_DIR}/pawl/meta/luals/pawl)
  install(FILES lua/pawl/meta/luals/pawl/config.json DESTINATION ${PAWL_LUALS})
  install(FILES lua/pawl/meta/pawl.lua lua/pawl/meta/assertions.lua
                lua/pawl/workflow.lua lua/pawl/kinds.lua lua/pawl/boundary.lua
                lua/pawl/publish.lua lua/pawl/testing.lua lua/pawl/typed.lua
          DESTINATION ${PAWL_LUALS}/library)
  install(DIRECTORY lua/pawl/kinds lua/pawl/testing
          DESTINATION ${PAWL_LUALS}/library
          FILES_MATCHING PATTERN "*.lua")
endif()
if(PAWL_MODULE_ONLY)
  return()
endif()

# liblua is linked as a shared library so that its symbols are visible to the
# C modules that a handler may require.
if(NOT PAWL_LUA_IS_SHARED)
  message(WARNING
    "liblua 5.4 was found as a static library (${PAWL_LUA_LIBRARY}): "
    "handlers run by the pawl command cannot require Lua modules written "
    "in C. Install the shared library.")
endif()
add_executable(pawl src/main.c ${PAWL_BIND_SOURCES} ${PAWL_GENERATED_CLI}
               ${PAWL_OWN_LUA} ${PAWL_OWN_SQLITE})
target_link_libraries(pawl PRIVATE pawl_core pawl_lua pawl_libraries
                      ${CMAKE_DL_LIBS})
if(PAWL_LUA_SOURCE)
  set_target_properties(pawl PROPERTIES ENABLE_EXPORTS ON)
endif()
if(PAWL_INSTALL)
  install(TARGETS pawl)
  foreach(version 5.1 5.2 5.3) # who asks for it there is told
    foreach(name init testing)
      install(FILES cmake/other_lua.lua RENAME ${name}.lua
              DESTINATION share/lua/${version}/pawl)
    endforeach()
  endforeach()
  configure_file(cmake/pawl-worker@.service.in pawl-worker@.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pawl-worker@.service
          DESTINATION lib/systemd/system)
  include(PawlPages)
endif()

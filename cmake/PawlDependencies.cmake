# Finds what pawl needs of the system, and checks the versions itself:
#
#   pawl_dependencies  where the headers are
#   pawl_libraries     SQLite, threads, libdl, libm. Not libpq, which brings
#                      20 libraries along: the driver loads it when a
#                      PostgreSQL store is opened
#   pawl_lua           liblua 5.4 (not for the Lua module)
#   PAWL_LUA           a Lua 5.4 interpreter, for the generator
#
# `find_package(Lua)` and `pkg-config lua` are no use here: both happily
# answer with another version than the one asked for.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

add_library(pawl_dependencies INTERFACE)
add_library(pawl_libraries INTERFACE)
add_library(pawl_lua INTERFACE)

# ---- Lua --------------------------------------------------------------------

if(NOT LUA_INCDIR OR NOT PAWL_MODULE_ONLY)
  foreach(name lua5.4 lua54 lua-5.4 lua)
    pkg_check_modules(PAWL_PC_LUA QUIET ${name}>=5.4 ${name}<5.5)
    if(PAWL_PC_LUA_FOUND)
      set(PAWL_LUA_PACKAGE ${name}) # pawl.pc names it
      break()
    endif()
  endforeach()
  if(NOT PAWL_PC_LUA_FOUND)
    message(FATAL_ERROR
      "Lua 5.4's library was not found by pkg-config (tried lua5.4, lua54, "
      "lua-5.4, lua). On Debian: apt-get install liblua5.4-dev")
  endif()
  pkg_check_modules(PAWL_LUA_LIB REQUIRED IMPORTED_TARGET ${PAWL_LUA_PACKAGE})
  target_link_libraries(pawl_lua INTERFACE PkgConfig::PAWL_LUA_LIB)
  list(GET PAWL_LUA_LIB_LINK_LIBRARIES 0 PAWL_LUA_LIBRARY)
  string(REGEX MATCH "\\.(so|dylib|tbd)" PAWL_LUA_IS_SHARED
         "${PAWL_LUA_LIBRARY}")
endif()

if(LUA_INCDIR)
  set(PAWL_LUA_INCLUDE ${LUA_INCDIR})
else()
  find_path(PAWL_LUA_INCLUDE lua.h HINTS ${PAWL_LUA_LIB_INCLUDE_DIRS}
            REQUIRED)
endif()
file(STRINGS ${PAWL_LUA_INCLUDE}/lua.h PAWL_LUA_H REGEX
     "^#define[ \t]+LUA_VERSION_(MAJOR|MINOR)[ \t]")
if(NOT PAWL_LUA_H MATCHES "MAJOR[ \t]+\"5\".*MINOR[ \t]+\"4\"")
  message(FATAL_ERROR
    "${PAWL_LUA_INCLUDE}/lua.h is not Lua 5.4's. Set LUA_INCDIR to the "
    "folder of 5.4's headers.")
endif()
target_include_directories(pawl_dependencies SYSTEM INTERFACE
                           ${PAWL_LUA_INCLUDE})

foreach(name lua5.4 lua54 lua-5.4 lua)
  find_program(PAWL_LUA_CANDIDATE ${name})
  if(PAWL_LUA_CANDIDATE)
    execute_process(COMMAND ${PAWL_LUA_CANDIDATE} -e "io.write(_VERSION)"
                    OUTPUT_VARIABLE version ERROR_QUIET)
    if(version STREQUAL "Lua 5.4")
      set(PAWL_LUA ${PAWL_LUA_CANDIDATE})
    endif()
  endif()
  unset(PAWL_LUA_CANDIDATE CACHE)
  if(PAWL_LUA)
    break()
  endif()
endforeach()
if(NOT PAWL_LUA)
  message(FATAL_ERROR
    "no Lua 5.4 interpreter was found (tried lua5.4, lua54, lua-5.4, lua). "
    "On Debian: apt-get install lua5.4")
endif()
# It compiles the modules that are embedded, for a Lua of its own release
# (src/host/embedded.h). Cross compiling needs no more: for other sizes or
# another byte order Lua refuses that code, and the modules' text is there.
execute_process(COMMAND ${PAWL_LUA} -v OUTPUT_VARIABLE lua_version ERROR_QUIET)
file(STRINGS ${PAWL_LUA_INCLUDE}/lua.h PAWL_LUA_RELEASE REGEX
     "^#define[ \t]+LUA_VERSION_RELEASE[ \t]+\"[0-9]+\"")
string(REGEX REPLACE ".*\"([0-9]+)\".*" "\\1" PAWL_LUA_RELEASE
       "${PAWL_LUA_RELEASE}")
if(NOT lua_version MATCHES "^Lua 5\\.4\\.${PAWL_LUA_RELEASE} ")
  message(STATUS
    "${PAWL_LUA} is not of release 5.4.${PAWL_LUA_RELEASE}, as lua.h is: "
    "programs that run with that one compile pawl's modules at each start.")
endif()

# ---- databases --------------------------------------------------------------

pkg_check_modules(PAWL_SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.35)
target_include_directories(pawl_dependencies SYSTEM INTERFACE
                           ${PAWL_SQLITE_INCLUDE_DIRS})
target_link_libraries(pawl_libraries INTERFACE PkgConfig::PAWL_SQLITE)

if(PAWL_POSTGRES)
  pkg_check_modules(PAWL_PQ QUIET IMPORTED_TARGET libpq>=14)
  if(NOT PAWL_PQ_FOUND)
    message(FATAL_ERROR
      "libpq 14 or newer was not found. On Debian: apt-get install "
      "libpq-dev. To build for SQLite only: -DPAWL_POSTGRES=OFF")
  endif()
  target_include_directories(pawl_dependencies SYSTEM INTERFACE
                             ${PAWL_PQ_INCLUDE_DIRS})
endif()

target_link_libraries(pawl_libraries
                      INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)

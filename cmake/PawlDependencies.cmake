# Finds what pawl needs of the system, and checks the versions itself:
#
#   pawl_dependencies  where the headers are
#   pawl_libraries     SQLite, threads, libdl, libm. Not libpq, which brings
#                      20 libraries along: the driver loads it when a
#                      PostgreSQL store is opened
#   pawl_lua           liblua 5.4 (not for the Lua module)
#   PAWL_LUA           a Lua 5.4 interpreter, for the generator
#
# With PAWL_LUA_SOURCE and PAWL_SQLITE_SOURCE those two are compiled along,
# whole folders of other people's sources, as for a device that has no packages:
#
#   PAWL_OWN_LUA, PAWL_OWN_SQLITE   their objects, for all that is linked
#
# `find_package(Lua)` and `pkg-config lua` are no use here: both happily
# answer with another version than the one asked for.

find_package(Threads REQUIRED)
if(NOT PAWL_SQLITE_SOURCE OR PAWL_POSTGRES OR
   NOT (PAWL_LUA_SOURCE OR LUA_INCDIR))
  find_package(PkgConfig REQUIRED)
endif()

add_library(pawl_dependencies INTERFACE)
add_library(pawl_libraries INTERFACE)
add_library(pawl_lua INTERFACE)
set(PAWL_REQUIRES "") # what pawl.pc names

# Not our sources, and not for our warnings.
function(pawl_compile_along target folder)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} SYSTEM PRIVATE ${folder})
  target_compile_options(${target} PRIVATE -w -ffunction-sections
                         -fdata-sections ${PAWL_SMALL_FLAGS})
  target_include_directories(pawl_dependencies SYSTEM INTERFACE
                             $<BUILD_INTERFACE:${folder}>)
endfunction()

# ---- Lua --------------------------------------------------------------------

if(PAWL_LUA_SOURCE)
  file(GLOB sources ${PAWL_LUA_SOURCE}/l*.c)
  list(FILTER sources EXCLUDE REGEX "/(lua|luac|ltests)\\.c$")
  pawl_compile_along(pawl_own_lua ${PAWL_LUA_SOURCE} ${sources})
  # Visible where a program wants it to be; libpawl.so's list hides it.
  target_compile_definitions(pawl_own_lua PRIVATE LUA_USE_POSIX LUA_USE_DLOPEN)
  set_target_properties(pawl_own_lua PROPERTIES C_VISIBILITY_PRESET default)
  set(PAWL_OWN_LUA $<TARGET_OBJECTS:pawl_own_lua>)
  set(LUA_INCDIR ${PAWL_LUA_SOURCE})
  set(PAWL_LUA_IS_SHARED ON) # C modules find it in the command, as if it were
elseif(NOT LUA_INCDIR OR NOT PAWL_MODULE_ONLY)
  foreach(name lua5.4 lua54 lua-5.4 lua)
    pkg_check_modules(PAWL_PC_LUA QUIET ${name}>=5.4 ${name}<5.5)
    if(PAWL_PC_LUA_FOUND)
      set(PAWL_LUA_PACKAGE ${name})
      list(APPEND PAWL_REQUIRES ${name})
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

if(PAWL_SQLITE_SOURCE)
  pawl_compile_along(pawl_own_sqlite ${PAWL_SQLITE_SOURCE}
                     ${PAWL_SQLITE_SOURCE}/sqlite3.c)
  # What pawl asks of it, and what a small one leaves out: nobody else uses it.
  target_compile_definitions(pawl_own_sqlite PRIVATE
    SQLITE_DQS=0 SQLITE_DEFAULT_MEMSTATUS=0 SQLITE_LIKE_DOESNT_MATCH_BLOBS
    SQLITE_OMIT_DEPRECATED
    SQLITE_OMIT_SHARED_CACHE SQLITE_OMIT_LOAD_EXTENSION SQLITE_THREADSAFE=2
    SQLITE_OMIT_COMPLETE SQLITE_OMIT_GET_TABLE SQLITE_OMIT_TCL_VARIABLE
    SQLITE_OMIT_TRACE SQLITE_OMIT_UTF16 SQLITE_UNTESTABLE
    SQLITE_USE_ALLOCA SQLITE_ENABLE_MATH_FUNCTIONS)
  set_target_properties(pawl_own_sqlite PROPERTIES C_EXTENSIONS ON)
  set(PAWL_OWN_SQLITE $<TARGET_OBJECTS:pawl_own_sqlite>)
else()
  pkg_check_modules(PAWL_SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.35)
  list(APPEND PAWL_REQUIRES sqlite3)
  target_include_directories(pawl_dependencies SYSTEM INTERFACE
                             ${PAWL_SQLITE_INCLUDE_DIRS})
  target_link_libraries(pawl_libraries INTERFACE PkgConfig::PAWL_SQLITE)
endif()

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

# pawl_flags: how every C file of the project is compiled.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy
set(THREADS_PREFER_PTHREAD_FLAG ON)

# What nobody calls is left out by the program's linker; tables for exceptions,
# which C has none of, are not made.
set(PAWL_SMALL_FLAGS "")
if(PAWL_SMALL)
  set(PAWL_SMALL_FLAGS -ffunction-sections -fdata-sections
      -fno-asynchronous-unwind-tables -fno-unwind-tables)
endif()

add_library(pawl_flags INTERFACE)
target_compile_definitions(pawl_flags INTERFACE PAWL_BUILDING)
# Assertions stay in: an engine that has lost its footing must not commit.
target_compile_options(pawl_flags INTERFACE -UNDEBUG)
if(PAWL_SMALL)
  target_compile_definitions(pawl_flags INTERFACE PAWL_SMALL)
  target_compile_options(pawl_flags INTERFACE ${PAWL_SMALL_FLAGS})
endif()
target_compile_options(pawl_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wconversion -Wno-sign-conversion -Wformat=2 -Wundef -Wvla
  -Wpointer-arith -Wwrite-strings)
# gcc guesses here; clang-tidy, which lint runs, follows the paths.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  target_compile_options(pawl_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(PAWL_WERROR)
  target_compile_options(pawl_flags INTERFACE -Werror)
endif()
if(PAWL_TESTING)
  target_compile_definitions(pawl_flags INTERFACE PAWL_TESTING)
endif()
if(PAWL_POSTGRES)
  target_compile_definitions(pawl_flags INTERFACE PAWL_POSTGRES)
endif()

if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE
    -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
elseif(NOT APPLE)
  if(NOT PAWL_SMALL)
    target_compile_options(pawl_flags INTERFACE -fstack-protector-strong)
  endif()
  target_link_options(pawl_flags INTERFACE -Wl,-z,relro,-z,now)
endif()

# Nothing but what the version script names leaves the library.
function(pawl_export_only target map)
  if(APPLE)
    return() # hidden visibility has to do
  endif()
  set(path ${PROJECT_SOURCE_DIR}/${map})
  target_link_options(${target} PRIVATE -Wl,--version-script=${path})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${path})
endfunction()

# A shared library that needs a symbol nobody brings fails here, not in the
# user's program. (A sanitizer's own symbols come with the program.)
function(pawl_refuse_undefined target)
  if(NOT APPLE AND NOT PAWL_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# The C tests: spec/c/NAME_test.c becomes the program and ctest NAME_test. What
# stands in spec/c/rules, file by file as in src/rules, is one program of all
# its parts, rules_test: rules/kinds/NAME_test.c has kinds_NAME_test(void).
# Fuzz targets: spec/fuzz/NAME_fuzz.c is tried on the files of
# spec/fuzz/seeds/NAME; with PAWL_FUZZ it is a libFuzzer program instead.

function(pawl_add_check target source)
  add_executable(${target} ${source} ${PAWL_OWN_LUA} ${PAWL_OWN_SQLITE})
  target_link_libraries(${target} PRIVATE pawl_core pawl_lua pawl_libraries)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/spec/c)
endfunction()

file(GLOB_RECURSE parts CONFIGURE_DEPENDS RELATIVE
     ${PROJECT_SOURCE_DIR}/spec/c/rules spec/c/rules/*_test.c)
set(list "")
foreach(part ${parts})
  string(REGEX REPLACE "\\.c$" "" name ${part})
  string(REPLACE "/" "_" name ${name})
  string(APPEND list "PART(${name})\n")
endforeach()
file(CONFIGURE OUTPUT ${PAWL_GENERATED_DIR}/rules_parts.h CONTENT "${list}")
list(TRANSFORM parts PREPEND ${PROJECT_SOURCE_DIR}/spec/c/rules/)

file(GLOB sources CONFIGURE_DEPENDS spec/c/*_test.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  pawl_add_check(${name} ${source})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec/c)
  add_test(NAME ${name} COMMAND ${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # what isolated workflows run in
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT PAWL_HELPER=${PROJECT_BINARY_DIR}/pawl)
endforeach()
target_sources(rules_test PRIVATE ${parts})

file(GLOB sources CONFIGURE_DEPENDS spec/fuzz/*_fuzz.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  pawl_add_check(${name} ${source})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec/fuzz)
  if(PAWL_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    continue()
  endif()
  target_compile_definitions(${name} PRIVATE PAWL_FUZZ_MAIN)
  string(REGEX REPLACE "_fuzz$" "" subject ${name})
  file(GLOB seeds CONFIGURE_DEPENDS spec/fuzz/seeds/${subject}/*)
  if(NOT seeds)
    message(FATAL_ERROR "spec/fuzz/seeds/${subject} has no seeds for ${name}")
  endif()
  add_test(NAME ${name} COMMAND ${name} ${seeds}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endforeach()

# The program of the manual, against the library that a user would link.
add_executable(example_embed examples/embed/main.c)
target_link_libraries(example_embed PRIVATE pawl_flags pawl_shared)
target_include_directories(example_embed PRIVATE src)
add_test(NAME example_embed
         COMMAND example_embed ${PROJECT_SOURCE_DIR}/examples/01_hello.lua)

if(PAWL_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "PAWL_FUZZ needs clang: set CMAKE_C_COMPILER=clang")
  endif()
  # Coverage feedback from the core too.
  target_compile_options(pawl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# C tables made of sql/ and lua/ by sql/embed.lua, so that one binary runs
# with no files beside it, and of the kinds of nodes by src/defs/kinds.lua. Sets
# PAWL_GENERATED, PAWL_GENERATED_CLI (what only the command has) and
# PAWL_GENERATED_DIR.

set(PAWL_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(PAWL_GENERATED
    ${PAWL_GENERATED_DIR}/pawl_sql.c ${PAWL_GENERATED_DIR}/pawl_sql.h
    ${PAWL_GENERATED_DIR}/pawl_lua.c ${PAWL_GENERATED_DIR}/pawl_lua.h)
set(PAWL_GENERATED_CLI ${PAWL_GENERATED_DIR}/pawl_cli.c)
set(PAWL_GENERATED_KINDS
    ${PAWL_GENERATED_DIR}/pawl_kinds.c ${PAWL_GENERATED_DIR}/pawl_kinds.h)

file(GLOB_RECURSE PAWL_EMBEDDED CONFIGURE_DEPENDS
     RELATIVE ${PROJECT_SOURCE_DIR} sql/*.sql sql/*.lua lua/*.lua)
file(MAKE_DIRECTORY ${PAWL_GENERATED_DIR})
add_custom_command(
  OUTPUT ${PAWL_GENERATED} ${PAWL_GENERATED_CLI}
  COMMAND ${PAWL_LUA} sql/embed.lua ${PROJECT_SOURCE_DIR} ${PAWL_GENERATED_DIR}
          $<$<BOOL:${PAWL_SMALL}>:small>
  DEPENDS ${PAWL_EMBEDDED}
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Embedding sql/ and lua/"
  COMMAND_EXPAND_LISTS
  VERBATIM)
add_custom_command(
  OUTPUT ${PAWL_GENERATED_KINDS}
  COMMAND ${PAWL_LUA} src/defs/kinds.lua ${PAWL_GENERATED_DIR}
  DEPENDS src/defs/kinds.lua ${PAWL_EMBEDDED}
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Making tables of the kinds of nodes"
  VERBATIM)
list(APPEND PAWL_GENERATED ${PAWL_GENERATED_KINDS})
add_custom_target(pawl_generated DEPENDS ${PAWL_GENERATED} ${PAWL_GENERATED_CLI})

# Makes `dir`/pawl/**.lua point at lua/pawl/**.lua.
function(pawl_link_lua_files dir)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/lua
       lua/pawl/*.lua)
  foreach(file ${files})
    get_filename_component(folder ${dir}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/lua/${file} ${dir}/${file} SYMBOLIC)
  endforeach()
endfunction()

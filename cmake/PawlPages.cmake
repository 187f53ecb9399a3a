# What the command says of itself, for an installation: manual pages, and
# scripts by which shells complete command lines. Made when they are installed,
# by the command that is; a build for another machine, which cannot run it, has
# none.

if(CMAKE_CROSSCOMPILING)
  return()
endif()

set(PAWL_PAGES ${PROJECT_BINARY_DIR}/pages)
install(CODE "
  set(pages \"${PAWL_PAGES}\")
  file(MAKE_DIRECTORY \${pages})
  execute_process(COMMAND \"$<TARGET_FILE:pawl>\" man --dir \${pages}
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR \"pawl man: \${failed}\")
  endif()
  foreach(shell bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:pawl>\" completion \${shell}
                    OUTPUT_FILE \${pages}/\${shell})
  endforeach()")
install(DIRECTORY ${PAWL_PAGES}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
install(FILES ${PAWL_PAGES}/bash RENAME pawl
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PAWL_PAGES}/zsh RENAME _pawl
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PAWL_PAGES}/fish RENAME pawl.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

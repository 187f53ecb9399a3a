# `cpack` in a build folder: a Debian package with the command, the libraries,
# the Lua module, manual pages, completions, the systemd unit and the examples.

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pawl
        RENAME copyright)
install(FILES README.md CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pawl)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pawl)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pawl)
set(CPACK_PACKAGE_VENDOR pawl)
set(CPACK_PACKAGE_CONTACT "the authors of Pawl <pawl@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "durable workflows written in Lua, kept in SQLite or PostgreSQL")
set(CPACK_PACKAGE_DESCRIPTION
    "A crash, a power cut or a redeploy never loses a finished step. The
package has the command, the C library with its header, the module for
Lua 5.4, manual pages and completions.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# What it is linked with, as dpkg-shlibdeps finds it; libpq5 is loaded when a
# PostgreSQL store is opened, libcurl4 by `pawl relay --http`.
find_program(PAWL_SHLIBDEPS dpkg-shlibdeps)
if(PAWL_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libsqlite3-0 (>= 3.35)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libpq5)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libcurl4, lua5.4, pkg-config, liblua5.4-dev, libsqlite3-dev")
# The library stands where the linker looks, once it has been told.
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
include(CPack)

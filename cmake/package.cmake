# The Debian package: cmake --workflow --preset package, into build/package. A package made on one
# release of Debian is for that release: dpkg-shlibdeps reads there which libraries it needs.
file(STRINGS CITATION.cff author REGEX "^  - name: " LIMIT_COUNT 1)
string(REGEX REPLACE "^  - name: " "" author "${author}")

set(CPACK_PACKAGE_CONTACT "${author}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Ropewalk judges whether a kernel for Rotary Position Embedding (RoPE) is
right, against an oracle and by laws with derived error bounds, and then
measures how fast it is. Kernels are shared libraries. The package holds
the command, the headers that a kernel needs, and their CMake and
pkg-config files.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS gnuplot-nox)  # draws the pictures of reports
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, python3-numpy")  # to compile a kernel, to run one
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_tools.cmake)
include(CPack)

# Decides which files `cmake --install` puts where. Everything may be moved afterwards, because no
# installed file holds an absolute path. Mutants and tests are not installed.
include(CMakePackageConfigHelpers)

# The command, the CUDA plugin, the headers (#include "kernels/api/kernel.h" reads as in the tree),
# and what runs kernels in Python: the worker as a library and the package.
function(ropewalk_install bin lib package include)
  install(TARGETS ropewalk RUNTIME DESTINATION ${bin} ${ARGN})
  install(PROGRAMS $<$<TARGET_EXISTS:ropewalk_cuda>:$<TARGET_PROPERTY:ropewalk_cuda,PLUGIN>>
    DESTINATION ${lib} ${ARGN} OPTIONAL)
  install(DIRECTORY kernels/api DESTINATION ${include}/kernels ${ARGN}
    FILES_MATCHING REGEX "/(rope_kernel|kernel|half|types)[.]h$")
  if(TARGET ropewalk_worker)
    install(TARGETS ropewalk_worker LIBRARY DESTINATION ${lib} ${ARGN})
    install(DIRECTORY python/ropewalk/ DESTINATION ${package} ${ARGN}
      FILES_MATCHING REGEX "[.](py|toml|inc)$")
  endif()
endfunction()
set(lib ${CMAKE_INSTALL_LIBDIR}/ropewalk)
ropewalk_install(${CMAKE_INSTALL_BINDIR} ${lib} ${lib}/python/ropewalk
  ${CMAKE_INSTALL_INCLUDEDIR}/ropewalk)
# A wheel has this component and nothing else, in the folder of the Python package (pyproject.toml).
ropewalk_install(ropewalk ropewalk ropewalk ropewalk/include COMPONENT wheel EXCLUDE_FROM_ALL)

set(generated ${PROJECT_BINARY_DIR}/package)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/ropewalk)
configure_package_config_file(cmake/ropewalk-config.cmake.in ${generated}/ropewalk-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${generated}/ropewalk-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${generated}/ropewalk-config.cmake ${generated}/ropewalk-config-version.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH include_from_pc ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig
  ${CMAKE_INSTALL_FULL_INCLUDEDIR}/ropewalk)
configure_file(cmake/ropewalk.pc.in ${generated}/ropewalk.pc @ONLY)
install(FILES ${generated}/ropewalk.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(FILES README.md METHODOLOGY.md SECURITY.md CHANGELOG.md LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY kernels/example DESTINATION ${CMAKE_INSTALL_DOCDIR}/kernels
  PATTERN build EXCLUDE)

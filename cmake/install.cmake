# Decides which files `cmake --install` puts where. Everything may be moved afterwards, because no
# installed file holds an absolute path. Mutants and tests are not installed.
include(CMakePackageConfigHelpers)

install(TARGETS ropewalk)
if(TARGET ropewalk_cuda)
  install(PROGRAMS $<TARGET_PROPERTY:ropewalk_cuda,PLUGIN>
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/ropewalk)
endif()
# What runs kernels in Python: the worker as a library, and the package beside it.
if(TARGET ropewalk_worker)
  install(TARGETS ropewalk_worker LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ropewalk)
  install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_LIBDIR}/ropewalk
    PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE PATTERN build EXCLUDE
    PATTERN experiment EXCLUDE)
endif()
# Headers go into a folder of their own, so that #include "kernels/api/kernel.h" reads as in the
# tree.
install(FILES kernels/api/rope_kernel.h kernels/api/kernel.h kernels/api/half.h kernels/api/types.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ropewalk/kernels/api)

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

# Every dependency is a package of Debian 12 and 13 (packages.txt), linked as an imported target.
find_package(Threads REQUIRED)
find_package(benchmark 1.7 REQUIRED)
find_package(Boost 1.74 REQUIRED CONFIG)
find_package(Eigen3 REQUIRED NO_MODULE)  # asked for 3.4, version 5 says no
if(Eigen3_VERSION VERSION_LESS 3.4)
  message(FATAL_ERROR "Eigen ${Eigen3_VERSION} in ${Eigen3_DIR} is too old: 3.4 or newer is needed")
endif()
find_package(rapidcheck REQUIRED)  # ships no version file
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(GTest 1.12 REQUIRED)
include(GoogleTest)

# These packages ship no CMake config.
find_path(MPFR_INCLUDE_DIR mpfr.h REQUIRED)
find_library(MPFR_LIBRARY mpfr REQUIRED)
find_library(GMP_LIBRARY gmp REQUIRED)
add_library(mpfr::mpfr INTERFACE IMPORTED)
target_include_directories(mpfr::mpfr INTERFACE ${MPFR_INCLUDE_DIR})
target_link_libraries(mpfr::mpfr INTERFACE ${MPFR_LIBRARY} ${GMP_LIBRARY})

# The headers that nearly every file includes.
add_library(ropewalk_precompiled_headers OBJECT ${PROJECT_BINARY_DIR}/empty.cpp)
add_library(ropewalk_precompiled_cold OBJECT ${PROJECT_BINARY_DIR}/empty.cpp)
target_compile_options(ropewalk_precompiled_cold PRIVATE -O1)
add_executable(ropewalk_precompiled_tests ${PROJECT_BINARY_DIR}/empty.cpp)
target_compile_options(ropewalk_precompiled_tests PRIVATE -O0)
foreach(target ropewalk_precompiled_headers ropewalk_precompiled_cold ropewalk_precompiled_tests)
  target_link_libraries(${target} PRIVATE ropewalk_options fmt::fmt)
  target_precompile_headers(${target} PRIVATE ${ropewalk_common_headers})
endforeach()
target_link_libraries(ropewalk_precompiled_tests PRIVATE GTest::gtest)
target_precompile_headers(ropewalk_precompiled_tests PRIVATE <gtest/gtest.h>)

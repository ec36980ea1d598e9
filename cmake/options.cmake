# Language, warnings and sanitizers. Every target of this project links `ropewalk_options` PRIVATE.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "build type" FORCE)
endif()

option(ROPEWALK_WERROR "treat warnings as errors (developers' presets)" OFF)
set(ROPEWALK_SANITIZE "" CACHE STRING "value of -fsanitize=, e.g. address,undefined")

# -ffp-contract=off: the compiler fuses no multiplication and addition on its own.
add_library(ropewalk_warnings INTERFACE)
target_compile_options(ropewalk_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wswitch-enum -ffp-contract=off
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  $<$<BOOL:${ROPEWALK_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ reports overlaps, lengths and bounds inside std::string's operator+ that cannot happen (GCC
  # bug 105651), and g++ 14 a shift inside Boost 1.83's cpp_bin_float.
  target_compile_options(ropewalk_warnings INTERFACE
    -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wshadow=local;-Wno-subobject-linkage>)
endif()

add_library(ropewalk_options INTERFACE)
target_link_libraries(ropewalk_options INTERFACE ropewalk_warnings)
target_include_directories(ropewalk_options INTERFACE ${PROJECT_SOURCE_DIR})
# RapidCheck's macros write down __FILE__: what is installed names no folder of the build.
target_compile_options(ropewalk_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(ROPEWALK_SANITIZE)
  target_compile_options(ropewalk_options INTERFACE -Wno-maybe-uninitialized  # g++ 12 in <regex>
    -fsanitize=${ROPEWALK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_definitions(ropewalk_options INTERFACE ROPEWALK_SANITIZED)
  target_link_options(ropewalk_options INTERFACE -fsanitize=${ROPEWALK_SANITIZE})
endif()

# What a compiler made once is taken from a cache, if ccache is there (packages-dev.txt).
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  # Without these two ccache never hits beside a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Lists the .cpp files of some folders: EXCLUDE leaves out their tests, INCLUDE lists only these.
function(ropewalk_sources out tests)
  set(found ${ARGN})
  if(found)
    list(TRANSFORM found REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*.cpp")
    file(GLOB found CONFIGURE_DEPENDS ${found})
  endif()
  list(FILTER found ${tests} REGEX "_test\\.cpp$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Parsed once for libraries and once for tests, which are compiled without optimization. Presets
# without them (tidy, fuzz, lto) show a file that forgets to include what it uses.
set(ropewalk_common_headers <algorithm> <cmath> <cstdint> <filesystem> <functional> <map> <memory>
  <optional> <span> <sstream> <string> <string_view> <utility> <vector> <fmt/format.h>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cpp CONTENT "int main() { return 0; }\n")

# The files of a folder are compiled as one file, in two thirds of the time: names in their unnamed
# namespaces are the folder's. Presets without precompiled headers show each file alone.
function(ropewalk_join_folders target)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# ropewalk_library(<name> [COLD] ROOMS folders... [SOURCES ...] [PRIVATE libs...] [PUBLIC libs...])
# COLD: neither timed nor where a run spends its time, so it is made to compile fast.
function(ropewalk_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "ROOMS;SOURCES;PRIVATE;PUBLIC")
  ropewalk_sources(found EXCLUDE ${arg_ROOMS})
  add_library(${name} STATIC ${found} ${arg_SOURCES})
  target_link_libraries(${name}
    PUBLIC ropewalk_options ${arg_PUBLIC} PRIVATE fmt::fmt ${arg_PRIVATE})
  set(precompiled ropewalk_precompiled_headers)
  if(arg_COLD)  # g++ 14 takes a precompiled header only at its own level
    set(precompiled ropewalk_precompiled_cold)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${precompiled})
  ropewalk_join_folders(${name})
endfunction()

# ropewalk_module(<name> source [macros...]): a plugin for tests.
function(ropewalk_module name source)
  add_library(${name} MODULE ${source})
  target_link_libraries(${name} PRIVATE ropewalk_options)
  target_compile_definitions(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/testing)
endfunction()

# ropewalk_limits(<label> tests...): no test waits for ever. What starts a judge for each processor
# runs with no other test beside it.
function(ropewalk_limits label)
  set(limit_s 120)
  if(label MATCHES "^(mutant|property)$")
    set(limit_s 300)  # they use all processors: 65 s on a Zen 5, twice that on a Xeon of 2.1 GHz
  endif()
  if(label STREQUAL "deep" OR ROPEWALK_SANITIZE)
    set(limit_s 600)
  endif()
  set(properties LABELS ${label} TIMEOUT ${limit_s})
  if(label MATCHES "^(deep|mutant|slow|property)$")
    list(APPEND properties PROCESSORS 2)
  endif()
  set(ropewalk_limits ${properties} PARENT_SCOPE)
  if(ARGN)
    set_tests_properties(${ARGN} PROPERTIES ${properties})
  endif()
endfunction()

# ropewalk_test(<name> [ROOMS folders...] [SOURCES ...] LIBS ... [LABELS label]
#   [FILES NAME=target...]): one GoogleTest program of the tests beside the code. The macro NAME is
# the path of what the target makes.
function(ropewalk_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;SOURCES;LIBS;LABELS;FILES")
  ropewalk_sources(found INCLUDE ${arg_ROOMS})
  add_executable(${name} ${found} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -O0)  # what is tested is optimized, the test itself is not
  target_compile_definitions(${name} PRIVATE ROPEWALK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ropewalk_options fmt::fmt ${arg_LIBS} GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM ropewalk_precompiled_tests)
  foreach(file IN LISTS arg_FILES)
    string(REGEX MATCH "^(.*)=(.*)$" matched ${file})
    target_compile_definitions(${name} PRIVATE ${CMAKE_MATCH_1}="$<TARGET_FILE:${CMAKE_MATCH_2}>")
    add_dependencies(${name} ${CMAKE_MATCH_2})
  endforeach()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  ropewalk_limits(${arg_LABELS})
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120 PROPERTIES ${ropewalk_limits})
endfunction()

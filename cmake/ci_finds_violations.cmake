# The negative control of .ci/run, in a project of one file with the real script. A warning in a
# tree that is built already fails the part no_warnings. A unit test that fails or does not compile
# fails the part of its preset. The hook .ci/pre-commit sees a breach of form and of a house rule.
#   cmake -DSOURCE_DIR=... -DWORK_DIR=an empty folder of the build -P ci_finds_violations.cmake
cmake_minimum_required(VERSION 3.25)
set(tree ${WORK_DIR}/ci_control)
file(REMOVE_RECURSE ${tree})
file(COPY ${SOURCE_DIR}/.ci DESTINATION ${tree})
file(WRITE ${tree}/README.md "```sh\ntrue && cmake --workflow --preset report\n"
  "true && cmake --workflow --preset test\n```\n")
file(WRITE ${tree}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(control C)\n"
  "add_compile_options(-Wall)\nenable_testing()\nadd_library(control control.c)\n"
  "add_executable(unit unit.c)\nadd_test(NAME unit COMMAND unit)\n"
  "set_tests_properties(unit PROPERTIES LABELS unit)\n")
file(WRITE ${tree}/packages.txt "")
file(WRITE ${tree}/unit.c "int main(void) { return 0; }\n")
file(WRITE ${tree}/CMakePresets.json [[{"version": 6,
  "configurePresets": [{"name": "release", "generator": "Ninja",
                        "binaryDir": "${sourceDir}/build/${presetName}"},
                       {"name": "asan", "inherits": "release"}],
  "buildPresets": [{"name": "release", "configurePreset": "release"},
                   {"name": "asan", "configurePreset": "asan"}],
  "testPresets": [{"name": "release", "configurePreset": "release"},
                  {"name": "asan", "configurePreset": "asan"}],
  "workflowPresets": [{"name": "test", "steps": [{"type": "configure", "name": "release"},
    {"type": "build", "name": "release"}, {"type": "test", "name": "release"}]}]}
]])

function(run_parts status_out text_out)
  execute_process(COMMAND ${tree}/.ci/run ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status_out} ${status} PARENT_SCOPE)
  set(${text_out} "${text}" PARENT_SCOPE)
endfunction()

file(WRITE ${tree}/control.c "int control(void) { return 1; }\n")
run_parts(status text build_and_test no_warnings asan_unit_tests)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "a clean tree fails:\n${text}")
endif()
# A tree may be built already when CI begins, as at a desk.
file(WRITE ${tree}/control.c "int control(void) { int unused; return 1; }\n")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${tree}/build/release OUTPUT_QUIET ERROR_QUIET)
run_parts(status text build_and_test no_warnings)
if(status EQUAL 0 OR NOT text MATCHES "no compiler warnings: FAILED")
  message(FATAL_ERROR "a warning in a tree that is built already passes:\n${text}")
endif()

foreach(content IN ITEMS "int main(void) { return 1; }" "an error")
  file(WRITE ${tree}/unit.c "${content}\n")
  run_parts(status text asan_unit_tests)
  if(status EQUAL 0 OR NOT text MATCHES "asan: unit tests: FAILED")
    message(FATAL_ERROR "a unit test of this text passes: ${content}\n${text}")
  endif()
endforeach()
run_parts(status text no_such_part)
if(NOT status EQUAL 2)
  message(FATAL_ERROR "a part that does not exist ends with ${status}:\n${text}")
endif()

# The hook of git, where git and clang-format 14 are at hand: a file in another form, a house rule.
find_program(GIT git)
find_program(FORMAT clang-format-14)
if(NOT GIT OR NOT FORMAT)
  message(STATUS "the hook is not tried: git or clang-format-14 is missing")
  return()
endif()
file(COPY ${SOURCE_DIR}/.clang-format DESTINATION ${tree})
file(COPY ${SOURCE_DIR}/cmake/tidy.cmake ${SOURCE_DIR}/cmake/tidy_names.cmake
  DESTINATION ${tree}/cmake)
file(WRITE ${tree}/cmake/README.md "# cmake\n")
execute_process(COMMAND ${GIT} init -q ${tree} COMMAND_ERROR_IS_FATAL ANY)
function(run_hook file content status_out text_out)
  file(WRITE ${tree}/${file} "${content}\n")
  execute_process(COMMAND ${GIT} -C ${tree} add ${file} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${tree}/.ci/pre-commit WORKING_DIRECTORY ${tree}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status_out} ${status} PARENT_SCOPE)
  set(${text_out} "${text}" PARENT_SCOPE)
endfunction()
foreach(file IN ITEMS form.cpp form.cu)
  run_hook(${file} "int x;" status text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the hook refuses a clean file:\n${text}")
  endif()
  run_hook(${file} "int   x ;" status text)
  if(status EQUAL 0 OR NOT text MATCHES "${file}:1:.*clang-formatted")
    message(FATAL_ERROR "the hook lets another form pass:\n${text}")
  endif()
  run_hook(${file} "#include <zlib.h>" status text)
  if(status EQUAL 0 OR NOT text MATCHES "${file}:1: <zlib.h> may be included only by")
    message(FATAL_ERROR "the hook lets a house rule be broken:\n${text}")
  endif()
  run_hook(${file} "int x;" status text)
endforeach()

# The negative control of .ci/run: a warning in a tree that is built already fails its part
# no_warnings. In a project of one file, with the real script and the README's form of command.
#   cmake -DSOURCE_DIR=... -DWORK_DIR=an empty folder of the build -P ci_finds_warnings.cmake
cmake_minimum_required(VERSION 3.25)
set(tree ${WORK_DIR}/ci_control)
file(REMOVE_RECURSE ${tree})
file(COPY ${SOURCE_DIR}/.ci DESTINATION ${tree})
file(WRITE ${tree}/README.md "```sh\ntrue && cmake --workflow --preset report\n"
  "true && cmake --workflow --preset test\n```\n")
file(WRITE ${tree}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(control C)\n"
  "add_compile_options(-Wall)\nenable_testing()\nadd_library(control control.c)\n"
  "add_test(NAME nothing COMMAND true)\n")
file(WRITE ${tree}/CMakePresets.json [[{"version": 6,
  "configurePresets": [{"name": "release", "generator": "Ninja",
                        "binaryDir": "${sourceDir}/build/release"}],
  "buildPresets": [{"name": "release", "configurePreset": "release"}],
  "testPresets": [{"name": "release", "configurePreset": "release"}],
  "workflowPresets": [{"name": "test", "steps": [{"type": "configure", "name": "release"},
    {"type": "build", "name": "release"}, {"type": "test", "name": "release"}]}]}
]])

function(run_parts status_out text_out)
  execute_process(COMMAND ${tree}/.ci/run build_and_test no_warnings
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status_out} ${status} PARENT_SCOPE)
  set(${text_out} "${text}" PARENT_SCOPE)
endfunction()

file(WRITE ${tree}/control.c "int control(void) { return 1; }\n")
run_parts(status text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "a clean tree fails:\n${text}")
endif()
# Built once by somebody else, as it would be at a desk; then CI runs.
file(WRITE ${tree}/control.c "int control(void) { int unused; return 1; }\n")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${tree}/build/release OUTPUT_QUIET ERROR_QUIET)
run_parts(status text)
if(status EQUAL 0 OR NOT text MATCHES "no compiler warnings: FAILED")
  message(FATAL_ERROR "a warning in a tree that is built already passes:\n${text}")
endif()

# The negative control of cuda.cmake and run_nvcc.cmake, with shell scripts in place of nvcc: one
# that works, one that is too old for C++20, and one that compiles nothing.
#   cmake -DSOURCE_DIR=... -DWORK_DIR=an empty folder of the build -P cuda_finds_faults.cmake
cmake_minimum_required(VERSION 3.25)
set(tree ${WORK_DIR}/cuda_control)
file(REMOVE_RECURSE ${tree})
file(COPY ${SOURCE_DIR}/cmake/cuda.cmake ${SOURCE_DIR}/cmake/run_nvcc.cmake
  DESTINATION ${tree}/cmake)
file(WRITE ${tree}/CMakeLists.txt
  "cmake_minimum_required(VERSION 3.25)\nproject(control NONE)\ninclude(cmake/cuda.cmake)\n"
  "if(ROPEWALK_CUDA_NVCC)\n  ropewalk_cuda_plugin(control SOURCE control.cu)\nendif()\n")
file(WRITE ${tree}/control.cu "\n")

# A script under the name nvcc, in a folder of its own. It counts its runs in the file `runs`.
function(write_nvcc kind text)
  file(WRITE ${tree}/${kind}/nvcc "#!/bin/sh\necho x >> ${tree}/runs\n"
    "[ \"$1\" != --version ] || { echo 'Cuda compilation tools, release 13.9, V13.9.1'; exit 0; }\n"
    "${text}\n")
  file(CHMOD ${tree}/${kind}/nvcc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
write_nvcc(right [[
while [ $# -gt 0 ]; do [ "$1" != -o ] || out=$2; [ "$1" != -MF ] || deps=$2; shift; done
[ -z "$deps" ] || echo "$out :" > "$deps"
echo "ptxas info    : Used 7 registers" >&2
echo "told by the right one" >&2
echo made > "$out"]])
write_nvcc(old "echo \"nvcc fatal   : Value 'c++20' is not defined for option 'std'\" >&2\nexit 1")
write_nvcc(none "exit 0")
write_nvcc(failing "echo \"probe.cu(1): error: no cicc\" >&2\nexit 1")

set(missed 0)
set(tried 0)
# Configures the tree with `folder` as the only one on PATH, in a fresh build folder unless KEEP.
function(expect status_expected words folder)
  cmake_parse_arguments(PARSE_ARGV 3 arg "KEEP" "" "OPTIONS")
  if(NOT arg_KEEP)
    file(REMOVE_RECURSE ${tree}/build)
  endif()
  find_program(ninja ninja REQUIRED)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PATH=${tree}/${folder} ${CMAKE_COMMAND} -G Ninja
      -DCMAKE_MAKE_PROGRAM=${ninja} ${arg_OPTIONS} -S ${tree} -B ${tree}/build
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " line "${text}")
  string(FIND "${line}" "${words}" place)
  math(EXPR tried "${tried} + 1")
  if(NOT status EQUAL status_expected OR place EQUAL -1)
    message("not ${status_expected} with '${words}' (${folder} ${arg_OPTIONS}), but ${status}:\n"
      "${text}")
    math(EXPR missed "${missed} + 1")
  endif()
  set(tried ${tried} PARENT_SCOPE)
  set(missed ${missed} PARENT_SCOPE)
endfunction()

set(old_words "nvcc is too old for C++20: 12.0 is the first nvcc that knows it")
set(none_words "nvcc does not compile a C++20 kernel: is it an nvcc?")
expect(0 "CUDA plugin: not built, no nvcc found" empty)
expect(0 "CUDA plugin: built by nvcc 13.9 (${tree}/right/nvcc)" right)
expect(0 "CUDA plugin: not built, ${tree}/old/${old_words}" old)
expect(0 "CUDA plugin: not built, ${tree}/none/${none_words}" none)
expect(0 "not built, ${tree}/failing/nvcc does not compile a C++20 kernel: probe.cu(1): error: no"
  failing)
expect(0 "CUDA plugin: not built, ROPEWALK_CUDA=OFF" right OPTIONS -DROPEWALK_CUDA=OFF)
expect(1 "ROPEWALK_CUDA must be AUTO, ON or OFF, not 'yes'" right OPTIONS -DROPEWALK_CUDA=yes)
expect(0 "CUDA plugin: built by nvcc 13.9" right OPTIONS -DROPEWALK_CUDA=ON)
expect(1 "ROPEWALK_CUDA=ON, but no nvcc is on PATH: give ROPEWALK_NVCC=FILE" empty
  OPTIONS -DROPEWALK_CUDA=ON)
expect(1 "${old_words}: give ROPEWALK_NVCC=FILE" old OPTIONS -DROPEWALK_CUDA=ON)
expect(0 "CUDA plugin: built by nvcc 13.9" old OPTIONS -DROPEWALK_NVCC=${tree}/right/nvcc)
expect(1 "${old_words}: give ROPEWALK_NVCC=FILE" right OPTIONS -DROPEWALK_NVCC=${tree}/old/nvcc)
expect(1 "${none_words}: give ROPEWALK_NVCC=FILE" right OPTIONS -DROPEWALK_NVCC=${tree}/none/nvcc)
expect(1 "is no file: name the file nvcc" right OPTIONS -DROPEWALK_NVCC=${tree}/right)
expect(1 "is no file: name the file nvcc" right OPTIONS -DROPEWALK_NVCC=${tree}/not_there)
expect(1 "is no file: name the file cuobjdump" right OPTIONS -DROPEWALK_CUOBJDUMP=/not_there)

# A second configuration only asks for the version. Another nvcc is tried anew.
expect(0 "CUDA plugin: built by nvcc" right)
file(REMOVE ${tree}/runs)
expect(0 "CUDA plugin: built by nvcc" right KEEP)
file(READ ${tree}/runs runs)
if(NOT runs STREQUAL "x\n")
  message(FATAL_ERROR "the same nvcc was tried again")
endif()
expect(0 "CUDA plugin: not built, ${tree}/old" old KEEP)

# The build keeps what ptxas says and shows the rest. It fails if nvcc fails.
expect(0 "CUDA plugin: built by nvcc" right)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${tree}/build
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(READ ${tree}/build/control.ptxas resources)
if(NOT status EQUAL 0 OR NOT text MATCHES "told by the right one" OR text MATCHES "registers" OR
    NOT resources STREQUAL "ptxas info    : Used 7 registers\n")
  message(FATAL_ERROR "a build that works ended with ${status}:\n${text}\n${resources}")
endif()
file(WRITE ${tree}/control.cu "\n\n")
file(REMOVE ${tree}/build/control.so)
file(COPY_FILE ${tree}/failing/nvcc ${tree}/right/nvcc)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${tree}/build
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "error: no cicc" OR EXISTS ${tree}/build/control.so)
  message(FATAL_ERROR "an nvcc that fails passes:\n${text}")
endif()

if(missed GREATER 0 OR tried EQUAL 0)
  message(FATAL_ERROR "${missed} of ${tried} configurations were not as expected")
endif()
message("each of ${tried} configurations says what it found")

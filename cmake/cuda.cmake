# Finds nvcc and makes plugins of .cu files. The language CUDA is not enabled: CMake 3.25 does not
# know C++20 of nvcc, so custom commands pass every flag. The README says how to get an nvcc.
#   ROPEWALK_CUDA=AUTO  the plugin is built if a usable nvcc is on PATH, or ROPEWALK_NVCC is given
#   ROPEWALK_CUDA=ON    it is an error if there is no usable nvcc
#   ROPEWALK_CUDA=OFF   nvcc is not looked for
set(ROPEWALK_CUDA AUTO CACHE STRING "build the CUDA plugin: AUTO, ON or OFF")
set_property(CACHE ROPEWALK_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ROPEWALK_NVCC "" CACHE FILEPATH "the nvcc that builds the CUDA plugin; empty: the one on PATH")

# Products and sums keep their own roundings on both sides, so that device and host give equal bits.
# Code for sm_80 and sm_90 is ready; a driver compiles the PTX for what comes after them.
set(ropewalk_nvcc_flags -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -shared -cudart static
  -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]
  -Xcompiler -fPIC,-ffp-contract=off,-Wall,-Wextra -Xlinker --exclude-libs=ALL)
if(ROPEWALK_WERROR)
  list(APPEND ropewalk_nvcc_flags -Werror all-warnings)
endif()

# Why this nvcc cannot make a plugin, in words; empty: it can. `own_out` gets the flags that this
# nvcc needs: the compiler of the host's part, which is ours if nvcc takes it, and the folder of the
# CUDA runtime if nvcc does not look there. (nvcc of PyPI has it in lib and looks in lib64.)
function(ropewalk_try_nvcc nvcc fault_out own_out)
  set(folder ${PROJECT_BINARY_DIR}/cuda_probe)
  file(WRITE ${folder}/probe.cu "#include <concepts>\n\ntemplate <std::integral T>\n"
    "__global__ void probe(T* out) {\n  *out = T{1};\n}\ntemplate __global__ void probe(int*);\n")
  file(REAL_PATH ${nvcc} real)
  file(REAL_PATH ../../lib library_folder BASE_DIRECTORY ${real})
  set(library "")
  if(EXISTS ${library_folder}/libcudart_static.a)
    set(library -L${library_folder})
  endif()
  set(hosts nvcc_chooses)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(PREPEND hosts ${CMAKE_CXX_COMPILER})
  endif()
  foreach(host IN LISTS hosts)
    set(own ${library})
    if(NOT host STREQUAL nvcc_chooses)
      list(APPEND own -ccbin ${host})
    endif()
    file(REMOVE ${folder}/probe.so)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env --unset=NVCC_PREPEND_FLAGS --unset=NVCC_APPEND_FLAGS
        ${nvcc} ${own} ${ropewalk_nvcc_flags} ${folder}/probe.cu -o ${folder}/probe.so
      WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(status EQUAL 0 AND EXISTS ${folder}/probe.so)
      set(${fault_out} "" PARENT_SCOPE)
      set(${own_out} "${own}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  string(REGEX MATCH "[^\n]*(fatal|error|cannot|not found)[^\n]*" line "${text}")
  string(STRIP "${line}" line)
  if(text MATCHES "'c\\+\\+20' is not defined for option 'std'")
    set(fault "is too old for C++20: 12.0 is the first nvcc that knows it")
  elseif(line)
    set(fault "does not compile a C++20 kernel: ${line}")
  else()
    set(fault "does not compile a C++20 kernel: is it an nvcc?")
  endif()
  set(${fault_out} "${fault}" PARENT_SCOPE)
endfunction()

# Sets ROPEWALK_CUDA_NVCC (empty: no plugin), and says what was found. The trial takes seconds, so
# it is made once for each nvcc, host compiler and set of flags.
function(ropewalk_find_nvcc)
  set(ROPEWALK_CUDA_NVCC "" PARENT_SCOPE)
  set(advice "see the README, CUDA kernels")
  if(NOT ROPEWALK_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "ROPEWALK_CUDA must be AUTO, ON or OFF, not '${ROPEWALK_CUDA}'")
  elseif(ROPEWALK_CUDA STREQUAL "OFF")
    message(STATUS "CUDA plugin: not built, ROPEWALK_CUDA=OFF")
    return()
  endif()
  if(ROPEWALK_NVCC)
    set(nvcc ${ROPEWALK_NVCC})
    if(NOT EXISTS ${nvcc} OR IS_DIRECTORY ${nvcc})
      message(FATAL_ERROR "ROPEWALK_NVCC=${nvcc} is no file: name the file nvcc (${advice})")
    endif()
  else()
    find_program(nvcc nvcc NO_CACHE NO_DEFAULT_PATH PATHS ENV PATH)
  endif()
  if(NOT nvcc)
    if(ROPEWALK_CUDA STREQUAL "ON")
      message(FATAL_ERROR "ROPEWALK_CUDA=ON, but no nvcc is on PATH: "
        "give ROPEWALK_NVCC=FILE, or leave ROPEWALK_CUDA at AUTO (${advice})")
    endif()
    message(STATUS "CUDA plugin: not built, no nvcc found")
    return()
  endif()
  file(REAL_PATH ${nvcc} real)
  file(TIMESTAMP ${real} time "%s")
  string(CONCAT inputs "${nvcc} ${time} ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} "
    "${ropewalk_nvcc_flags}")
  string(SHA256 trial "${inputs}")
  if(NOT ROPEWALK_NVCC_TRIAL STREQUAL trial)
    ropewalk_try_nvcc(${nvcc} fault own)
    set(ROPEWALK_NVCC_FAULT "${fault}" CACHE INTERNAL "")
    set(ROPEWALK_NVCC_OWN_FLAGS "${own}" CACHE INTERNAL "")
    set(ROPEWALK_NVCC_TRIAL ${trial} CACHE INTERNAL "")
  endif()
  if(ROPEWALK_NVCC_FAULT AND (ROPEWALK_NVCC OR ROPEWALK_CUDA STREQUAL "ON"))
    message(FATAL_ERROR "${nvcc} ${ROPEWALK_NVCC_FAULT}: give ROPEWALK_NVCC=FILE of another one, "
      "or ROPEWALK_CUDA=OFF (${advice})")
  elseif(ROPEWALK_NVCC_FAULT)
    message(STATUS "CUDA plugin: not built, ${nvcc} ${ROPEWALK_NVCC_FAULT}")
    return()
  endif()
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" matched "${text}")
  message(STATUS "CUDA plugin: built by nvcc ${CMAKE_MATCH_1} (${nvcc})")
  set(ROPEWALK_CUDA_NVCC ${nvcc} PARENT_SCOPE)
endfunction()
ropewalk_find_nvcc()

# The readers of machine code are packages of their own. Both are found beside nvcc or on PATH.
# ROPEWALK_CUOBJDUMP names the first, and nvdisasm may lie beside it. Only tests need them.
set(ROPEWALK_CUOBJDUMP "" CACHE FILEPATH "the cuobjdump that reads the CUDA plugin; empty: found")
function(ropewalk_find_cuobjdump)
  set(ropewalk_cuobjdump "" PARENT_SCOPE)
  set(ropewalk_nvdisasm_folder "" PARENT_SCOPE)
  if(NOT ROPEWALK_CUDA_NVCC)
    return()
  endif()
  get_filename_component(folder ${ROPEWALK_CUDA_NVCC} DIRECTORY)
  if(ROPEWALK_CUOBJDUMP AND NOT EXISTS ${ROPEWALK_CUOBJDUMP})
    message(FATAL_ERROR "ROPEWALK_CUOBJDUMP=${ROPEWALK_CUOBJDUMP} is no file: name the file "
      "cuobjdump, or give nothing")
  elseif(ROPEWALK_CUOBJDUMP)
    set(cuobjdump ${ROPEWALK_CUOBJDUMP})
  else()
    find_program(cuobjdump cuobjdump NO_CACHE NO_DEFAULT_PATH HINTS ${folder} PATHS ENV PATH)
  endif()
  get_filename_component(beside "${cuobjdump}" DIRECTORY)
  find_program(nvdisasm nvdisasm NO_CACHE NO_DEFAULT_PATH HINTS ${beside} ${folder}
    PATHS ENV PATH)
  if(cuobjdump AND nvdisasm)
    get_filename_component(nvdisasm_folder ${nvdisasm} DIRECTORY)
    set(ropewalk_cuobjdump ${cuobjdump} PARENT_SCOPE)
    set(ropewalk_nvdisasm_folder ${nvdisasm_folder} PARENT_SCOPE)
    message(STATUS "CUDA machine code: read by ${cuobjdump}")
  else()
    message(STATUS "CUDA machine code: not read, no cuobjdump and nvdisasm found")
  endif()
endfunction()
ropewalk_find_cuobjdump()

# ropewalk_cuda_plugin(<name> SOURCE file [FOLDER folder] [FLAGS flags...]): the target <name> makes
# FOLDER/<name>.so of one .cu file, which nvcc compiles to code of the device and of the host. What
# ptxas says of the resources of each kernel goes to <name>.ptxas in the current build folder.
function(ropewalk_cuda_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;FOLDER" "FLAGS")
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
  set(plugin ${arg_FOLDER}/${name}.so)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_custom_command(OUTPUT ${plugin} BYPRODUCTS ${made}.ptxas
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${plugin} -DRESOURCES=${made}.ptxas
      -P ${PROJECT_SOURCE_DIR}/cmake/run_nvcc.cmake --
      ${ROPEWALK_CUDA_NVCC} ${ROPEWALK_NVCC_OWN_FLAGS} ${ropewalk_nvcc_flags} ${arg_FLAGS}
      -Xptxas -v -I ${PROJECT_SOURCE_DIR} -MD -MT ${plugin} -MF ${made}.d ${source} -o ${plugin}
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/run_nvcc.cmake
    DEPFILE ${made}.d
    COMMENT "Building CUDA plugin ${name}.so" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${plugin})
  set_target_properties(${name} PROPERTIES PLUGIN ${plugin} RESOURCES ${made}.ptxas)
endfunction()

# Finds the nvcc that kernels/CMakeLists.txt calls. The language CUDA is not enabled: CMake 3.25
# does not know C++20 of nvcc, so a custom command passes every flag (docs/timing-a-gpu.md).
#   ROPEWALK_CUDA=AUTO  the plugin is built if a usable nvcc is on PATH, or ROPEWALK_NVCC is given
#   ROPEWALK_CUDA=ON    it is an error if there is no usable nvcc
#   ROPEWALK_CUDA=OFF   nvcc is not looked for
set(ROPEWALK_CUDA AUTO CACHE STRING "build the CUDA plugin: AUTO, ON or OFF")
set(ROPEWALK_NVCC "" CACHE FILEPATH "the nvcc that builds the CUDA plugin; empty: the one on PATH")

# Products and sums keep their own roundings on both sides, so that device and host give equal bits.
# Code for sm_80 and sm_90 is ready; a driver compiles the PTX for what comes after them. A function
# that does not fit its registers is a warning.
set(ropewalk_nvcc_flags -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -shared -cudart static
  -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]
  -Xptxas -warn-spills,-warn-lmem-usage
  -Xcompiler -fPIC,-ffp-contract=off,-Wall,-Wextra -Xlinker --exclude-libs=ALL)
if(ROPEWALK_WERROR)
  list(APPEND ropewalk_nvcc_flags -Werror all-warnings)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ropewalk_nvcc_flags -ccbin ${CMAKE_CXX_COMPILER})
endif()

# Sets ropewalk_nvcc, the command without flags of the environment (empty: no plugin), and says what
# was found. The trial takes seconds, so an nvcc that passed is tried again only with other flags.
set(nvcc ${ROPEWALK_NVCC})
set(fault "")
if(NOT ROPEWALK_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ROPEWALK_CUDA must be AUTO, ON or OFF, not '${ROPEWALK_CUDA}'")
elseif(ROPEWALK_CUDA STREQUAL "OFF")
  set(fault "ROPEWALK_CUDA=OFF")
elseif(NOT nvcc)
  find_program(nvcc nvcc NO_CACHE NO_DEFAULT_PATH PATHS ENV PATH)
endif()
if(NOT fault AND NOT nvcc)
  set(fault "no nvcc is on PATH")
elseif(NOT fault)
  file(REAL_PATH ${nvcc} folder)  # nvcc of PyPI has its libraries in lib and looks in lib64
  cmake_path(GET folder PARENT_PATH folder)
  list(APPEND ropewalk_nvcc_flags -L${folder}/../lib)
  set(ropewalk_nvcc
    ${CMAKE_COMMAND} -E env --unset=NVCC_PREPEND_FLAGS --unset=NVCC_APPEND_FLAGS ${nvcc})
  if(NOT ROPEWALK_NVCC_PASSED STREQUAL "${nvcc};${ropewalk_nvcc_flags}")
    set(probe ${PROJECT_BINARY_DIR}/cuda_probe)
    file(WRITE ${probe}.cu "#include <concepts>\ntemplate <std::integral T>\n"
      "__global__ void probe(T* out) { *out = T{1}; }\ntemplate __global__ void probe(int*);\n")
    execute_process(COMMAND ${ropewalk_nvcc} ${ropewalk_nvcc_flags} ${probe}.cu -o ${probe}.so
      OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
    if(failed)
      string(REGEX MATCH "[^\n]*(fatal|error|cannot|not found|[Nn]o such)[^\n]*" line "${text}")
      set(fault "${nvcc} does not compile a C++20 kernel. ${line}")
    endif()
  endif()
endif()
if(fault AND (ROPEWALK_CUDA STREQUAL "ON" OR (ROPEWALK_NVCC AND ROPEWALK_CUDA STREQUAL "AUTO")))
  message(FATAL_ERROR "CUDA plugin: ${fault}\n"
    "Give ROPEWALK_NVCC=FILE of a usable nvcc, or ROPEWALK_CUDA=OFF (docs/timing-a-gpu.md).")
elseif(fault)
  unset(ropewalk_nvcc)
  message(STATUS "CUDA plugin: not built, ${fault}")
else()
  message(STATUS "CUDA plugin: built by ${nvcc}")
  set(ROPEWALK_NVCC_PASSED "${nvcc};${ropewalk_nvcc_flags}" CACHE INTERNAL "")
endif()

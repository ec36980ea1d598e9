# The house rules that a machine can check: cmake -DSOURCE_DIR=... -P tidy.cmake
# Needs no git and no python. Prints one line for each violation and fails if there is any.
cmake_minimum_required(VERSION 3.25)
if(NOT IS_DIRECTORY "${SOURCE_DIR}")
  message(FATAL_ERROR "tidy: give -DSOURCE_DIR=the root of the sources")
endif()

set(columns_max 100)
set(file_lines_max 420)
set(readme_lines_max 15)
set(folder_files_max 30)
set(function_lines_max 70)
set(violations 0)
function(violation file line text)
  message("${file}:${line}: ${text}")
  math(EXPR count "${violations} + 1")
  set(violations ${count} PARENT_SCOPE)
endfunction()

# The bytes 128..191 only continue a character, so a line is counted in characters.
string(ASCII 128 first)
string(ASCII 191 last)
set(continuation_bytes "[${first}-${last}]")

# Reads a file as a list of lines, each behind a '|'. Characters that break CMake's lists are
# replaced.
function(read_lines file out)
  file(READ "${SOURCE_DIR}/${file}" text)
  string(REGEX REPLACE "${continuation_bytes}" "" text "${text}")
  string(REGEX REPLACE "[][;\\]" "," text "${text}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  string(REPLACE "\n" ";|" text "|${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The headers of this project that a room may include. Each room has one line, and the first line
# that matches counts. A room includes only rooms from lines above its own.
set(truth "reference/|kernels/api/")
set(cases "base/|harness/cases/|${truth}")
set(suite "base/|harness/|${truth}|reports/record/")
set(layers
  "kernels/(api|common)/[a-z0-9_]+_test.cpp=kernels/(api|common)/|reference/"
  "(harness|benchmarks|reports)/[a-z]+/[a-z0-9_]+_test.cpp=base/|@1/|${truth}"
  "properties/[a-z]+/[a-z0-9_]+_test.cpp=properties/|${suite}"
  "base/=base/"
  "kernels/api/=kernels/api/"
  "kernels/common/=kernels/(api|common)/"
  "kernels/example/=kernels/api/"
  "kernels/([a-z0-9_]+)/=kernels/(api|common|@1)/"
  "reference/frequency_rules/=reference/[a-z_]+.h"
  "reference/=base/|reference/|kernels/api/(rope_kernel|types).h"
  "reports/record/=base/|reports/record/"
  "reports/numbers/=base/|reports/(record|numbers)/|kernels/api/types.h"
  "reports/figures/=base/|reports/(record|numbers|figures)/"
  "reports/pages/=base/|reports/(record|numbers|figures|pages)/"
  "reports/check/=base/|reports/(record|numbers|figures|pages|check)/"
  "reports/=base/|reports/"
  "harness/cases/=${cases}"
  "harness/process/=base/|harness/(protocol.h|process/)|kernels/api/"
  "harness/watch/=base/|harness/(protocol.h|process/|watch/)|kernels/api/"
  "harness/device/=base/|harness/(protocol.h|process/|device/)|kernels/api/"
  "harness/worker/=base/|harness/(protocol.h|process/|watch/|device/|worker/)|kernels/api/"
  "harness/judge/=${cases}|harness/(process|worker|judge)/"
  "harness/expected/=base/|harness/expected/|reports/record/"
  "harness/testing/=base/|harness/|kernels/api/"
  "harness/=kernels/api/"
  "properties/mutants/cuda[a-z_]*.cpp=properties/mutants/|kernels/(api|common|cuda)/"
  "properties/mutants/=properties/mutants/|kernels/(api|common)/"
  "properties/(truth|algebra|memory)/=${cases}|harness/judge/|properties/(@1/|[a-z_]+[.]h)"
  "properties/explain/=${cases}|harness/judge/|properties/(explain/|[a-z_]+[.]h)"
  "properties/witness/=${suite}|properties/(witness/|mutants/composed/composed.h|[a-z_]+[.]h)"
  "properties/array/=${suite}|properties/(array/|[a-z_]+[.]h)"
  "properties/search/=${suite}|properties/(array/|explain/|search/|[a-z_]+[.]h)"
  "properties/(exhaustive|observe)/=${suite}|properties/(@1/|explain/|search/|[a-z_]+[.]h)"
  "properties/=${cases}|harness/judge/|properties/[a-z_]+[.]h"
  "benchmarks/workloads/=${cases}|reports/record/|benchmarks/workloads/"
  "benchmarks/machine/=base/|kernels/api/|benchmarks/(machine/|[a-z_]+[.]h)"
  "benchmarks/=${suite}|benchmarks/"
  "tools/[a-z]+/[a-z0-9_]+_test.cpp=.*"
  "tools/command/=base/|${suite}|properties/|benchmarks/|reports/|tools/command/"
  "tools/(launches|suite)/=base/|${suite}|properties/|benchmarks/|reports/|tools/(command|@1)/"
  "tools/=.*")

# Libraries that are heavy or belong to one file: a pattern of #include, and the only files that may
# have it.
set(request "tools/launches/board_request(_test)?.cpp")
set(owners
  "rapidcheck=properties/search/run_property.cpp"
  "boost/multiprecision=reference/(frequencies|oracle|second_derivation).cpp"
  "boost/math/distributions=reports/numbers/claims.cpp"
  "Eigen/=kernels/dense/[a-z0-9_]+.cpp|kernels/api/half_test.cpp|reference/second_derivation.cpp"
  "CLI/=tools/command/(options.cpp|option_groups.h)"
  "toml\\+\\+/=benchmarks/workloads/workloads.cpp"
  "benchmark/benchmark.h=benchmarks/engine/board.cpp"
  "nlohmann/=reports/record/record(_test)?.cpp|benchmarks/workloads/json_fields.cpp|${request}"
  "kainjow/=reports/pages/[a-z0-9_]+.(cpp|h)"
  "(openssl/|zlib.h)=base/digest.cpp"
  "cuda[a-z0-9_]*[.]h=kernels/cuda/[a-z0-9_/]+.cu"
  "dlfcn.h=harness/(watch/heap_watch|process/loaded_kernels|device/cuda_driver).cpp")

function(check_include file line header)
  foreach(owner IN LISTS owners)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${owner}")
    set(files "${CMAKE_MATCH_2}")
    if(header MATCHES "^${CMAKE_MATCH_1}" AND NOT file MATCHES "^(${files})$")
      violation(${file} ${line} "<${header}> may be included only by ${files}")
    endif()
  endforeach()
  if(NOT header MATCHES
      "^(base|kernels|reference|harness|properties|benchmarks|reports|tools)/")
    set(violations ${violations} PARENT_SCOPE)
    return()
  endif()
  foreach(layer IN LISTS layers)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${layer}")
    set(allowed "${CMAKE_MATCH_2}")
    if(NOT file MATCHES "^${CMAKE_MATCH_1}")
      continue()
    endif()
    string(REPLACE "@1" "${CMAKE_MATCH_1}" allowed "${allowed}")
    if(NOT header MATCHES "^(${allowed})")
      violation(${file} ${line} "may not include ${header} (house rule: rooms)")
    endif()
    break()
  endforeach()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

# Counts by the columns of clang-format: functions begin at column 0, and those inside a class at 2.
function(check_functions file lines)
  set(number 0)
  set(begin_0 0)
  set(begin_2 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES "^\\|(  )?[^ }#/]")
      string(LENGTH "${CMAKE_MATCH_1}" column)
      set(begin_${column} ${number})
    elseif(line MATCHES "^\\|(  )?}$")
      string(LENGTH "${CMAKE_MATCH_1}" column)
      math(EXPR count "${number} - ${begin_${column}} + 1")
      if(count GREATER function_lines_max)
        violation(${file} ${begin_${column}}
          "a function of ${count} lines, at most ${function_lines_max}")
      endif()
    endif()
  endforeach()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

# A type of one name has one definition. Kernels are plugins and know only their own names, so they
# are exempt.
function(check_types file lines)
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES
        "^\\|(struct|class|enum|enum class|union) ([A-Z][A-Za-z0-9_]*)( final)?( : [^{]*)? {")
      set(type ${CMAKE_MATCH_2})
      get_property(place GLOBAL PROPERTY type_${type})
      if(place)
        violation(${file} ${number} "a type ${type} is also defined in ${place}")
      endif()
      set_property(GLOBAL PROPERTY type_${type} ${file}:${number})
    elseif(line MATCHES "^\\|namespace ropewalk {" AND
        file MATCHES "^(harness|properties|benchmarks|reports|tools)/" AND
        NOT file MATCHES "plugin|right_rotation|tree/")
      violation(${file} ${number} "the namespace must be that of the folder")
    endif()
  endforeach()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

function(check_source file)
  read_lines(${file} lines)
  list(LENGTH lines count)
  if(count GREATER file_lines_max)
    violation(${file} ${count} "${count} lines, at most ${file_lines_max}")
  endif()
  if(file MATCHES "\\.(cpp|h|cu)$" AND NOT file MATCHES "^(kernels|properties/mutants)/")
    check_functions(${file} "${lines}")
    check_types(${file} "${lines}")
  endif()
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    string(LENGTH "${line}" length)
    math(EXPR length "${length} - 1")
    if(length GREATER columns_max AND NOT file STREQUAL "kernels/api/rope_kernel.h")
      violation(${file} ${number} "${length} columns, at most ${columns_max}")
    endif()
    if(line MATCHES "[ \t\r]$")
      violation(${file} ${number} "the line ends in white space")
    endif()
    if(line MATCHES "^\\|[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]")
      check_include(${file} ${number} "${CMAKE_MATCH_1}")
    elseif(file MATCHES "\\.h$" AND line MATCHES "^\\|[ \t]*using namespace")
      violation(${file} ${number} "a header has using namespace")
    elseif(NOT file MATCHES "\\.(cpp|h|cu)$" OR file MATCHES "_test\\.cpp$|/test(s|ing)/")
      continue()
    elseif(line MATCHES "GNUPLOT" AND NOT file STREQUAL "reports/figures/chart.cpp")
      violation(${file} ${number} "only reports/figures/chart.cpp calls gnuplot")
    elseif(line MATCHES "[^a-z_](popen|system)\\(")
      violation(${file} ${number} "no shell may be started: use base/system/program.h")
    endif()
  endforeach()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

# The README's first ```sh block is the promise of the project: two commands, each on a line of its
# own.
function(check_readme)
  read_lines(README.md lines)
  set(inside FALSE)
  set(commands 0)
  foreach(line IN LISTS lines)
    if(inside AND line MATCHES "^\\|```")
      break()
    elseif(inside)
      math(EXPR commands "${commands} + 1")
      if(NOT line MATCHES "cmake --workflow --preset (report|test)$")
        violation(README.md ${commands} "the first sh block has only the two workflow commands")
      endif()
    elseif(line MATCHES "^\\|```sh$")
      set(inside TRUE)
    endif()
  endforeach()
  if(NOT commands EQUAL 2)
    violation(README.md 1 "the first sh block has ${commands} lines, not 2")
  endif()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

# A document names its subject: a kernel or a row is no "who". Decisions and pages that are made are
# left out.
function(check_document file)
  read_lines(${file} lines)
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES "[Ww]hoever|[^a-z]whom[^a-z]|^\\|[-*| ]*Who [a-z]" OR
        line MATCHES "([.:(|] |\\()[Ww]ho [a-z]+s ")
      violation(${file} ${number} "a pronoun of people: name what is meant (docs/glossary.md)")
    endif()
  endforeach()
  set(violations ${violations} PARENT_SCOPE)
endfunction()

set(sources "")
file(GLOB top LIST_DIRECTORIES TRUE RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/*)
foreach(entry IN LISTS top)
  if(NOT IS_DIRECTORY ${SOURCE_DIR}/${entry})
    list(APPEND sources ${entry})
  elseif(NOT entry MATCHES "^(\\..*|build.*|cmake-build.*|ropewalk-out.*|shared)$")
    file(GLOB_RECURSE found RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${entry}/*)
    list(APPEND sources ${found})
    if(NOT EXISTS ${SOURCE_DIR}/${entry}/README.md)
      violation(${entry} 0 "this top-level folder has no README.md")
    else()
      read_lines(${entry}/README.md lines)
      list(LENGTH lines count)
      if(count GREATER readme_lines_max)
        violation(${entry}/README.md ${count} "${count} lines, at most ${readme_lines_max}")
      endif()
    endif()
  endif()
endforeach()
if(EXISTS ${SOURCE_DIR}/README.md)
  check_readme()
else()
  violation(README.md 0 "README.md is missing")
endif()

# What a file implements lies beside it in NAME.h. For a part of a class, the header has the first
# words of NAME. Verbs share a header; properties, frequency rules and plugins register themselves
# and need none.
foreach(file IN LISTS sources)
  if(NOT file MATCHES "^(base|harness|properties|reports|benchmarks|tools|reference)/.*\\.cpp$" OR
      file MATCHES "_test\\.cpp$|/test(s|ing)/|/(mutants|fuzz|verbs|truth|algebra|memory)/" OR
      file MATCHES "/frequency_rules/" OR
      file MATCHES "^(tools/ropewalk|properties/properties)\\.cpp$")
    continue()
  endif()
  string(REGEX REPLACE "\\.cpp$" "" name ${file})
  while(NOT EXISTS ${SOURCE_DIR}/${name}.h AND name MATCHES "_[a-z0-9]+$")
    string(REGEX REPLACE "_[a-z0-9]+$" "" name ${name})
  endwhile()
  if(NOT EXISTS ${SOURCE_DIR}/${name}.h)
    violation(${file} 1 "no header of this name lies beside it")
  endif()
endforeach()

# A folder is a list that people read, so it is kept short.
foreach(file IN LISTS sources)
  get_filename_component(folder ${file} DIRECTORY)
  if(file MATCHES "\\.(cpp|h|cu)$" AND NOT file MATCHES "/build/")
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${file})
  endif()
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  list(LENGTH in_${folder} count)
  if(count GREATER folder_files_max)
    violation(${folder} ${count} "${count} source files, at most ${folder_files_max}")
  endif()
endforeach()

foreach(file IN LISTS sources)
  if(file MATCHES "\\.md$" AND NOT file MATCHES
      "^CHANGELOG|^docs/(decisions/|certificates/phase|cli|kill-matrix|sample-report)|/build/")
    check_document(${file})
  endif()
endforeach()

set(checked 0)
foreach(file IN LISTS sources)
  if(file MATCHES "\\.(cpp|h|c|cu|cmake)$|(^|/)CMakeLists\\.txt$" AND NOT file MATCHES "/build/")
    check_source(${file})
    math(EXPR checked "${checked} + 1")
  endif()
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/tidy_names.cmake)
if(checked EQUAL 0)
  violation(. 0 "no source file was found: nothing was checked")
endif()
if(violations GREATER 0)
  message(FATAL_ERROR "tidy: ${violations} violations in ${checked} files")
endif()
message("tidy: ${checked} files, no violation")

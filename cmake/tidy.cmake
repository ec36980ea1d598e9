# The house rules that a machine can check: cmake -DSOURCE_DIR=... -P tidy.cmake. With -DBUDGET=ON
# also the budgets of CONTRIBUTING.md. In a checkout of git only files that git knows are looked at,
# so that whoever tries something breaks no rule. Needs no git and no python. Prints one line for
# each violation and fails if there is any.
cmake_minimum_required(VERSION 3.25)
if(NOT IS_DIRECTORY "${SOURCE_DIR}")
  message(FATAL_ERROR "tidy: give -DSOURCE_DIR=the root of the sources")
endif()

set(columns_max 100)
set(file_lines_max 600)
set(readme_lines_max 15)
set(folder_files_max 30)
set(function_lines_max 70)
function(violation file line text)
  message("${file}:${line}: ${text}")
  set_property(GLOBAL APPEND PROPERTY violations "${file}")
endfunction()

# The bytes 128..191 only continue a character, so a line is counted in characters.
string(ASCII 128 first)
string(ASCII 191 last)
set(continuation_bytes "[${first}-${last}]")

# Reads a file as a list of lines, each behind a '|'. Characters that break CMake's lists are
# replaced. Complains if there are more lines than `max`.
function(read_lines file max out)
  file(READ "${SOURCE_DIR}/${file}" text)
  string(REGEX REPLACE "${continuation_bytes}" "" text "${text}")
  string(REGEX REPLACE "[][;\\]" "," text "${text}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  string(REPLACE "\n" ";|" text "|${text}")
  set(${out} "${text}" PARENT_SCOPE)
  list(LENGTH text count)
  if(count GREATER max)
    violation(${file} ${count} "${count} lines, at most ${max}")
  endif()
endfunction()

# The headers of this project that a room may include. Each room has one line, and the first line
# that matches counts. A room includes only rooms from lines above its own.
set(truth "reference/|kernels/api/")
set(cases "base/|harness/cases/|${truth}")
set(table "covering/|array/|[a-z_]+[.]h")
set(suite "base/|harness/|${truth}|reports/record/")
set(layers
  "kernels/(api|common)/[a-z0-9_]+_test.cpp=kernels/(api|common)/|reference/"
  "benchmarks/ceilings/device_[a-z_]+_test.cpp=base/|benchmarks/|harness/(device|process)/|${truth}"
  "(harness|benchmarks|reports)/[a-z]+/[a-z0-9_]+_test.cpp=base/|@1/|${truth}"
  "properties/[a-z]+/[a-z0-9_]+_test.cpp=properties/|${suite}"
  "base/=base/"
  "kernels/api/=kernels/api/"
  "kernels/common/=kernels/(api|common)/"
  "kernels/example/=kernels/api/"
  "kernels/baselines/=kernels/(api|common|plain|complex)/"
  "kernels/([a-z0-9_]+)/=kernels/(api|common|@1)/"
  "reference/(frequency_rules|encodings)/[a-z0-9_]+_test.cpp=reference/"
  "reference/frequency_rules/=reference/[a-z_]+.h"
  "reference/encodings/=base/(fingerprint|random).h|reference/(encodings/)?[a-z_]+.h"
  "reference/=base/|reference/|kernels/api/(rope_kernel|types).h"
  "reports/record/=base/|reports/record/"
  "reports/numbers/=base/|reports/(record|numbers)/|kernels/api/types.h"
  "reports/figures/=base/|reports/(record|numbers|figures)/"
  "reports/pages/=base/|reports/(record|numbers|figures|pages)/"
  "reports/=base/|reports/"
  "harness/cases/=${cases}"
  "harness/process/=base/|harness/(protocol.h|process/)|kernels/api/"
  "harness/watch/=base/|harness/(protocol.h|process/|watch/)|kernels/api/"
  "harness/device/=base/|harness/(protocol.h|process/|device/)|kernels/api/"
  "harness/worker/=base/|harness/(protocol.h|process/|watch/|device/|worker/)|kernels/api/"
  "harness/judge/=${cases}|harness/(process|worker|judge)/"
  "harness/expected/=base/|harness/(expected/|cases/names.h)|kernels/api/|reports/record/"
  "harness/testing/=base/|harness/|kernels/api/"
  "harness/=kernels/api/"
  "properties/mutants/composed/[a-z_]+_test.cpp=${suite}|properties/(mutants/composed/|[a-z_]+[.]h)"
  "properties/mutants/cuda[a-z_]*.cpp=properties/mutants/|kernels/(api|common|cuda)/"
  "properties/mutants/=properties/mutants/|kernels/(api|common)/"
  "properties/(truth|algebra|memory)/=${cases}|harness/judge/|properties/(@1/|[a-z_]+[.]h)"
  "properties/explain/=${cases}|harness/judge/|properties/(explain/|${table})"
  "properties/covering/=harness/cases/|properties/covering/"
  "properties/array/=${suite}|properties/(${table})"
  "properties/search/=${suite}|properties/(explain/|search/|${table})"
  "properties/(exhaustive|observe)/=${suite}|properties/(@1/|explain/|search/|${table})"
  "properties/=${cases}|harness/judge/|properties/[a-z_]+[.]h"
  "benchmarks/workloads/=${cases}|harness/process/extension|reports/record/|benchmarks/workloads/"
  "benchmarks/configs/=${cases}|benchmarks/(workloads|configs)/"
  "benchmarks/machine/=base/|kernels/api/|benchmarks/(machine/|[a-z_]+[.]h)"
  "benchmarks/ceilings/=base/random.h|benchmarks/ceilings/|kernels/api/"
  "benchmarks/=${suite}|benchmarks/"
  "tools/[a-z]+/[a-z0-9_]+_test.cpp=.*"
  "tools/command/=base/|${suite}|properties/|benchmarks/|reports/|tools/command/"
  "tools/(launches|suite)/=base/|${suite}|properties/|benchmarks/|reports/|tools/(command|@1)/"
  "tools/=.*")

# Libraries that are heavy or belong to one file: a pattern of #include, and the only files that may
# have it.
set(request "tools/launches/board.cpp")
set(fields "benchmarks/configs/(json_fields|released_configs_test).cpp")
set(host "tools/host/worker_library")
set(driver "device/(cuda_driver|device_health)")
set(owners
  "rapidcheck=properties/search/run_property.cpp"
  "boost/multiprecision=reference/(real.h|oracle.cpp|testing/second_[a-z.]+)"
  "boost/math/distributions=reports/numbers/ratio_interval.cpp"
  "Eigen/=kernels/dense/[a-z0-9_]+.cpp|kernels/api/half_test.cpp|reference/testing/[a-z_]+.cpp"
  "CLI/=tools/command/(options.cpp|option_groups.h)"
  "toml\\+\\+/=benchmarks/(workloads/workloads|configs/model_types).cpp|${host}_parts.cpp"
  "benchmark/benchmark.h=benchmarks/engine/google_benchmark.cpp"
  "nlohmann/=reports/record/record(_test)?.cpp|${fields}|${request}"
  "kainjow/=reports/pages/[a-z0-9_]+.(cpp|h)"
  "cuda[a-z0-9_]*[.]h=kernels/cuda/[a-z0-9_/]+.cu"
  "dlfcn.h=harness/(watch/heap_watch|process/loaded_kernels|${driver}).cpp|${host}.cpp|.*file.c")

function(check_include file line header)
  foreach(owner IN LISTS owners)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${owner}")
    set(files "${CMAKE_MATCH_2}")
    if(header MATCHES "^${CMAKE_MATCH_1}" AND NOT file MATCHES "^(${files})$")
      violation(${file} ${line} "<${header}> may be included only by ${files}")
    endif()
  endforeach()
  if(NOT header MATCHES "^(base|kernels|reference|harness|properties|benchmarks|reports|tools)/")
    return()
  endif()
  foreach(layer IN LISTS layers)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${layer}")
    set(allowed "${CMAKE_MATCH_2}")
    if(file MATCHES "^${CMAKE_MATCH_1}")
      string(REPLACE "@1" "${CMAKE_MATCH_1}" allowed "${allowed}")
      if(NOT header MATCHES "^(${allowed})")
        violation(${file} ${line} "may not include ${header} (house rule: rooms)")
      endif()
      return()
    endif()
  endforeach()
endfunction()

# Functions are counted by the columns of clang-format: they begin at column 0, and those inside a
# class at 2. A type of one name has one definition.
function(check_definitions file lines)
  set(number 0)
  set(begin_0 0)
  set(begin_2 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES "^\\|(  )?}$")
      string(LENGTH "${CMAKE_MATCH_1}" column)
      math(EXPR count "${number} - ${begin_${column}} + 1")
      if(count GREATER function_lines_max)
        violation(${file} ${begin_${column}}
          "a function of ${count} lines, at most ${function_lines_max}")
      endif()
    elseif(line MATCHES "^\\|(  )?[^ }#/]")
      string(LENGTH "${CMAKE_MATCH_1}" column)
      set(begin_${column} ${number})
    endif()
    if(line MATCHES
        "^\\|(struct|class|enum|enum class|union) ([A-Z][A-Za-z0-9_]*)( final)?( : [^{]*)? {")
      set(type ${CMAKE_MATCH_2})
      get_property(place GLOBAL PROPERTY type_${type})
      if(place)
        violation(${file} ${number} "a type ${type} is also defined in ${place}")
      endif()
      set_property(GLOBAL PROPERTY type_${type} ${file}:${number})
    elseif(line MATCHES "^\\|namespace ropewalk {" AND NOT file MATCHES
        "^(base|reference)/|plugin|right_rotation|tree/")
      violation(${file} ${number} "the namespace must be that of the folder")
    endif()
  endforeach()
endfunction()

function(check_source file)
  read_lines(${file} ${file_lines_max} lines)
  # Kernels are plugins and know only their own names.
  if(file MATCHES "\\.(cpp|h|cu)$" AND NOT file MATCHES "^(kernels|properties/mutants)/")
    check_definitions(${file} "${lines}")
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
    elseif(line MATCHES "[^a-z_](popen|system)\\(")
      violation(${file} ${number} "no shell may be started: use base/system/program.h")
    endif()
  endforeach()
endfunction()

# What CONTRIBUTING.md has a budget for, in lines.
function(count_lines file)
  if(file MATCHES "\\.(cpp|h|c|cu|inc)$")
    set(kind source)
    if(file MATCHES "_test\\.cpp$|^tools/tests/")
      set(kind tests)
    endif()
  elseif(file MATCHES "\\.(cmake|sh)$|(^|/)CMakeLists\\.txt$|^\\.ci/")
    set(kind build)
  elseif(file MATCHES "^python/ropewalk/.*\\.py$")
    set(kind python)
  elseif(file MATCHES "\\.md$")
    set(kind documents)
  else()
    return()
  endif()
  file(READ "${SOURCE_DIR}/${file}" text)
  string(REGEX REPLACE "[^\n]+" "" text "${text}")
  string(LENGTH "${text}" count)
  math(EXPR count "${count} + 0${lines_of_${kind}}")
  set(lines_of_${kind} ${count} PARENT_SCOPE)
endfunction()

set(sources "")
file(GLOB top LIST_DIRECTORIES TRUE RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/*)
foreach(entry IN LISTS top)
  if(NOT IS_DIRECTORY ${SOURCE_DIR}/${entry})
    list(APPEND sources ${entry})
  elseif(NOT entry MATCHES "^(\\..*|build.*|cmake-build.*|ropewalk-out.*|shared)$")
    file(GLOB_RECURSE found RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${entry}/*)
    list(APPEND sources ${found})
    if(EXISTS ${SOURCE_DIR}/${entry}/README.md)
      read_lines(${entry}/README.md ${readme_lines_max} ignored)
    else()
      violation(${entry} 0 "this top-level folder has no README.md")
    endif()
  endif()
endforeach()
list(FILTER sources EXCLUDE REGEX "/build/")
execute_process(COMMAND git -c safe.directory=* ls-files WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE known RESULT_VARIABLE no_git ERROR_QUIET)
string(REPLACE "\n" ";" known "${known}")
if(no_git STREQUAL 0 AND "cmake/tidy.cmake" IN_LIST known)
  set(found ${sources})
  list(REMOVE_ITEM found ${known})  # what git does not know
  if(found)
    list(REMOVE_ITEM sources ${found})
  endif()
endif()

set(checked 0)
set(folders "")
file(GLOB parts RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/.ci/*)
foreach(file IN LISTS sources parts)
  count_lines(${file})
endforeach()
foreach(file IN LISTS sources)
  get_filename_component(folder ${file} DIRECTORY)
  if(file MATCHES "\\.(cpp|h|cu)$")
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${file})
  endif()
  if(file MATCHES "\\.(cpp|h|c|cu|cmake)$|(^|/)CMakeLists\\.txt$")
    check_source(${file})
    math(EXPR checked "${checked} + 1")
  endif()
  # What a file implements lies beside it in NAME.h. For a part of a class, the header has the first
  # words of NAME. Verbs share a header; properties, plugins and what lies in folders of reference/
  # register themselves and need none.
  if(file MATCHES "^(base|harness|properties|reports|benchmarks|tools|reference)/.*\\.cpp$" AND
      NOT file MATCHES "_test\\.cpp$|/test(s|ing)/|/(mutants|fuzz|verbs|truth|algebra|memory)/" AND
      NOT file MATCHES "^reference/[a-z_]+/|^(tools/ropewalk|properties/properties)\\.cpp$")
    string(REGEX REPLACE "\\.cpp$" "" name ${file})
    while(NOT EXISTS ${SOURCE_DIR}/${name}.h AND name MATCHES "_[a-z0-9]+$")
      string(REGEX REPLACE "_[a-z0-9]+$" "" name ${name})
    endwhile()
    if(NOT EXISTS ${SOURCE_DIR}/${name}.h)
      violation(${file} 1 "no header of this name lies beside it")
    endif()
  endif()
endforeach()

# A folder is a list that people read, so it is kept short.
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  list(LENGTH in_${folder} count)
  if(count GREATER folder_files_max)
    violation(${folder} ${count} "${count} source files, at most ${folder_files_max}")
  endif()
endforeach()

# The picture in docs/architecture.md has every room and no other, and an arrow only where the table
# allows an include (in `harness`, of protocol.h).
list(FILTER folders EXCLUDE REGEX "/(test|fuzz|gpu_bundle|example)")
list(TRANSFORM folders REPLACE "^[a-z]+$" "\\0/*")
set(drawn "")
file(STRINGS ${SOURCE_DIR}/docs/architecture.md picture REGEX "^ +[a-z]+/")
foreach(line IN LISTS picture)
  string(REGEX MATCHALL "[a-z]+/([a-z0-9_/]+|[*])" rooms "${line}")
  list(APPEND drawn ${rooms})
  list(TRANSFORM rooms REPLACE "/[*]" "")
  list(POP_FRONT rooms from)
  foreach(to IN LISTS rooms)
    check_include(${from}/picture.h 0 ${to}/protocol.h)
  endforeach()
endforeach()
foreach(room IN LISTS folders drawn)
  if(NOT room IN_LIST drawn OR NOT room IN_LIST folders)
    violation(docs/architecture.md 1 "the picture and the tree differ in the room ${room}")
  endif()
endforeach()

# The README's first sh block is the promise of the project: two commands, each on a line of its
# own. The image is built by them, word for word.
file(READ ${SOURCE_DIR}/README.md text)
string(REGEX MATCH "```sh\n([^`]*\n)```" block "${text}")
set(block "${CMAKE_MATCH_1}")
file(STRINGS ${SOURCE_DIR}/Containerfile commands REGEX "^RUN ")
list(TRANSFORM commands REPLACE "^RUN (.*)$" "\\1\n")
string(JOIN "" commands ${commands})
if(NOT block STREQUAL commands OR NOT commands MATCHES
    "^[^\n]* cmake --workflow --preset report\n[^\n]* cmake --workflow --preset test\n$")
  violation(README.md 1 "its first sh block, the two workflow commands, is not Containerfile's")
endif()

# One version: the project's, the citation's, and the newest release of the changelog.
foreach(file IN ITEMS CMakeLists.txt CITATION.cff CHANGELOG.md)
  file(STRINGS ${SOURCE_DIR}/${file} line LIMIT_COUNT 1
    REGEX "^(project[(]ropewalk VERSION |version: |## [[])[0-9]")
  string(REGEX MATCH "[0-9][0-9.]*" found "${line}")
  list(APPEND versions "${found}")
endforeach()
list(REMOVE_DUPLICATES versions)
if(NOT versions MATCHES "^[0-9.]+$")
  violation(CMakeLists.txt 1 "three versions, here, in CITATION.cff and CHANGELOG.md: ${versions}")
endif()

# Workflows may only read, and they use no action but three of GitHub's own.
file(GLOB workflows RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/.github/workflows/*)
foreach(file IN LISTS workflows)
  file(READ ${SOURCE_DIR}/${file} text)
  string(REGEX REPLACE "uses: actions/(checkout|(up|down)load-artifact)@v[0-9]\n" "" text "${text}")
  if(text MATCHES "uses: |secrets\\.|: write" OR NOT text MATCHES "\n  contents: read\n")
    violation(${file} 1 "lacks 'contents: read', or has another action, a secret, a right to write")
  endif()
endforeach()

# The budget of CONTRIBUTING.md is a ceiling.
file(READ ${SOURCE_DIR}/CONTRIBUTING.md text)
set(row "\n[|] lines of source;[^|\n]*[|]")
set(sizes "")
foreach(budget IN ITEMS "source=${row} ([0-9,]+)" "python=${row} [0-9,]+. ([0-9,]+)"
    "tests=${row} [0-9,]+. [0-9,]+. ([0-9,]+)" "build=\n[|] lines of cmake[^|\n]*[|] ([0-9,]+)"
    "documents=\n[|] lines of documents[^|\n]*[|] ([0-9,]+)")
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched "${budget}")
  set(kind ${CMAKE_MATCH_1})
  set(lines ${lines_of_${kind}})
  string(APPEND sizes " ${kind} ${lines}")
  if(text MATCHES "${CMAKE_MATCH_2}")
    string(REPLACE "," "" most "${CMAKE_MATCH_1}")
    if(BUDGET AND lines GREATER most)
      violation(CONTRIBUTING.md 1 "the budget: ${lines} lines of ${kind}, at most ${most}: take \
lines out, or raise the number there and name in the commit the issue that allows it")
    endif()
  endif()
endforeach()

get_property(violations GLOBAL PROPERTY violations)
list(LENGTH violations count)
if(count GREATER 0 OR checked EQUAL 0)
  message(FATAL_ERROR "tidy: ${count} violations in ${checked} files")
endif()
message("tidy: ${checked} files, no violation; lines:${sizes}")

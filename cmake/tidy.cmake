# The house rules that compiler, clang-format and clang-tidy do not hold: cmake -DSOURCE_DIR=... -P
# tidy.cmake. With -DBUDGET=ON also the budgets of CONTRIBUTING.md. In a checkout of git only files
# that git knows are looked at, so that whoever tries something breaks no rule. Needs no git and no
# python. Prints one line for each violation and fails if there is any.
cmake_minimum_required(VERSION 3.25)
if(NOT IS_DIRECTORY "${SOURCE_DIR}")
  message(FATAL_ERROR "tidy: give -DSOURCE_DIR=the root of the sources")
endif()
set(file_lines_max 600)
set(readme_lines_max 15)
set(folder_files_max 30)
function(violation file text)
  message("${file}: ${text}")
  set_property(GLOBAL APPEND PROPERTY violations "${file}")
endfunction()

# The headers of this project that a room may include. Each room has one line, and the first line
# that matches counts. A room includes only rooms from lines above its own.
set(truth "reference/|kernels/api/")
set(call "base/|harness/call/|kernels/api/")
set(cases "base/|harness/(call|cases)/|${truth}")
set(table "array/|[a-z_]+[.]h")
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
  "reports/document/=base/|reports/(record|figures|document)/"
  "reports/pages/=base/|reports/(record|numbers|figures|document|pages)/"
  "reports/=base/|reports/"
  "harness/call/=${call}|harness/protocol.h"
  "harness/cases/=${cases}"
  "harness/process/=${call}|harness/(protocol.h|process/)"
  "harness/watch/=${call}|harness/(protocol.h|process/|watch/)"
  "harness/device/=${call}|harness/(protocol.h|process/|device/)"
  "harness/worker/=${call}|harness/(protocol.h|process/|watch/|device/|worker/)"
  "harness/judge/=${cases}|harness/(process|worker|judge)/"
  "harness/expected/=base/|harness/(expected/|cases/names.h)|kernels/api/|reports/record/"
  "harness/testing/=base/|harness/|kernels/api/"
  "harness/=kernels/api/"
  "properties/mutants/composed/[a-z_]+_test.cpp=${suite}|properties/(mutants/composed/|[a-z_]+[.]h)"
  "properties/mutants/cuda[a-z_]*.cpp=properties/mutants/|kernels/(api|common|cuda)/"
  "properties/mutants/=properties/mutants/|kernels/(api|common)/"
  "properties/(truth|algebra|memory)/=${cases}|harness/(judge/|process/exceptions.h)|properties/(@1/|array/(offer|factors).h|[a-z_]+[.]h)"
  "properties/explain/=${cases}|harness/judge/|properties/(explain/|${table})"
  "properties/array/=${suite}|properties/(${table})"
  "properties/search/=${suite}|properties/(explain/|search/|${table})"
  "properties/(exhaustive|observe)/=${suite}|properties/(@1/|explain/|search/|${table})"
  "properties/=${cases}|harness/judge/|properties/(array/(offer|factors).h|explain/causes.h|[a-z_]+[.]h)"
  "benchmarks/workloads/=${cases}|reports/record/|benchmarks/workloads/"
  "benchmarks/configs/=${cases}|benchmarks/(workloads|configs)/"
  "benchmarks/machine/=base/|kernels/api/|benchmarks/(machine/|[a-z_]+[.]h)"
  "benchmarks/ceilings/=base/random.h|benchmarks/ceilings/|kernels/api/"
  "benchmarks/=${suite}|benchmarks/"
  "tools/[a-z]+/[a-z0-9_]+_test.cpp=.*"
  "tools/command/=base/|${suite}|properties/|benchmarks/|reports/|tools/command/"
  "tools/launches/=base/|${suite}|properties/|benchmarks/|reports/|tools/(command|launches)/"
  "tools/=.*")

# Libraries that are heavy or belong to one file: a pattern of #include, and the only files that may
# have it.
set(request "tools/launches/board.cpp")
set(fields "benchmarks/configs/(json_fields|released_configs_test).cpp")
set(host "tools/host/worker_library")
set(owners
  "rapidcheck=properties/array/generator.cpp"
  "boost/multiprecision=reference/(real.h|oracle.cpp|testing/second_[a-z.]+)"
  "boost/math/distributions=reports/numbers/ratio_interval.cpp"
  "Eigen/=kernels/dense/[a-z0-9_]+.cpp|kernels/api/half_test.cpp|reference/testing/[a-z_]+.cpp"
  "CLI/=tools/command/(options.cpp|option_groups.h)"
  "toml\\+\\+/=benchmarks/(workloads/workloads|configs/model_types).cpp|${host}_parts.cpp"
  "benchmark/benchmark.h=benchmarks/engine/google_benchmark.cpp"
  "nlohmann/=reports/record/(record(_test)?|schema).cpp|${fields}|${request}"
  "cuda[a-z0-9_]*[.]h=kernels/cuda/[a-z0-9_/]+.cu"
  "dlfcn.h=harness/(watch/heap_watch|process/loaded_kernels|device/device).cpp|${host}.cpp|.*file.c")

function(check_include file header)
  foreach(owner IN LISTS owners)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${owner}")
    set(files "${CMAKE_MATCH_2}")
    if(header MATCHES "^${CMAKE_MATCH_1}" AND NOT file MATCHES "^(${files})$")
      violation(${file} "<${header}> may be included only by ${files}")
    endif()
  endforeach()
  foreach(layer IN LISTS layers)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${layer}")
    set(allowed "${CMAKE_MATCH_2}")
    if(file MATCHES "^${CMAKE_MATCH_1}")
      string(REPLACE "@1" "${CMAKE_MATCH_1}" allowed "${allowed}")
      if(header MATCHES "^(base|kernels|reference|harness|properties|benchmarks|reports|tools)/" AND
          NOT header MATCHES "^(${allowed})")
        violation(${file} "may not include ${header} (house rule: rooms)")
      endif()
      return()
    endif()
  endforeach()
endfunction()

execute_process(COMMAND git -c safe.directory=* ls-files WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE files RESULT_VARIABLE no_git ERROR_QUIET)
string(REPLACE "\n" ";" files "${files}")
if(NOT no_git STREQUAL 0 OR NOT "cmake/tidy.cmake" IN_LIST files)
  file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/* ${SOURCE_DIR}/.ci/*)
endif()
list(FILTER files EXCLUDE REGEX "^(build|cmake-build|ropewalk-out|shared|[.]git)|/build/")

foreach(file IN LISTS files)
  if(NOT EXISTS ${SOURCE_DIR}/${file})
    continue()  # git knows it, but it is deleted
  elseif(file MATCHES "_test\\.cpp$|^tools/tests/.*\\.(cpp|h|c|txt)$|^tools/tests/transcripts/tools/")
    set(kind tests)
  elseif(file MATCHES "\\.(cpp|h|c|cu|inc)$")
    set(kind source)
  elseif(file MATCHES "\\.(cmake|sh)$|(^|/)CMakeLists\\.txt$|^\\.ci/")
    set(kind build)
  elseif(file MATCHES "^python/ropewalk/.*\\.py$")
    set(kind python)
  elseif(file MATCHES "\\.md$")
    set(kind documents)
  else()
    continue()
  endif()
  file(READ ${SOURCE_DIR}/${file} text)
  string(REGEX REPLACE "[^\n]+" "" text "${text}")
  string(LENGTH "${text}" count)
  math(EXPR lines_of_${kind} "${count} + 0${lines_of_${kind}}")
  set(max ${file_lines_max})
  if(file MATCHES "^[^/]+/README.md$")
    set(max ${readme_lines_max})
  elseif(kind MATCHES "python|documents" OR file MATCHES "[.](inc|sh)$|^[.]ci/")
    continue()
  endif()
  if(count GREATER max)
    violation(${file} "${count} lines, at most ${max}")
  endif()
  if(file MATCHES "^([a-z].*)/[^/]*[.](cpp|h|cu)$")
    list(APPEND folders ${CMAKE_MATCH_1})
    list(APPEND in_${CMAKE_MATCH_1} ${file})
    file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]+).*" "\\1" header "${line}")
      check_include(${file} ${header})
    endforeach()
  endif()
endforeach()

# A folder is a list that people read, so it is kept short. One at the top has a README.
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  list(LENGTH in_${folder} count)
  if(count GREATER folder_files_max)
    violation(${folder} "${count} source files, at most ${folder_files_max}")
  endif()
  string(REGEX MATCH "^[a-z]+" top ${folder})
  if(NOT "${top}/README.md" IN_LIST files)
    violation(${top} "this top-level folder has no README.md")
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
    check_include(${from}/picture.h ${to}/protocol.h)
  endforeach()
endforeach()
foreach(room IN LISTS folders drawn)
  if(NOT room IN_LIST drawn OR NOT room IN_LIST folders)
    violation(docs/architecture.md "the picture and the tree differ in the room ${room}")
  endif()
endforeach()

# One version: the project's, the citation's, and the newest release of the changelog.
foreach(file IN ITEMS CMakeLists.txt CITATION.cff CHANGELOG.md)
  file(STRINGS ${SOURCE_DIR}/${file} line LIMIT_COUNT 1
    REGEX "^(project[(]ropewalk VERSION |version: |## [[])[0-9]")
  string(REGEX MATCH "[0-9][0-9.]*" found "${line}")
  list(APPEND versions "${found}")
endforeach()
list(REMOVE_DUPLICATES versions)
if(NOT versions MATCHES "^[0-9.]+$")
  violation(CMakeLists.txt "three versions, here, in CITATION.cff and CHANGELOG.md: ${versions}")
endif()

# Workflows may only read, and they use no action but three of GitHub's own.
file(GLOB workflows RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/.github/workflows/*)
foreach(file IN LISTS workflows)
  file(READ ${SOURCE_DIR}/${file} text)
  string(REGEX REPLACE "uses: actions/(checkout|(up|down)load-artifact)@v[0-9]\n" "" text "${text}")
  if(text MATCHES "uses: |secrets\\.|: write" OR NOT text MATCHES "\n  contents: read\n")
    violation(${file} "lacks 'contents: read', or has another action, a secret, a right to write")
  endif()
endforeach()

# The budgets of CONTRIBUTING.md are ceilings.
file(STRINGS ${SOURCE_DIR}/CONTRIBUTING.md rows REGEX "^[|] lines of ")
string(REGEX MATCHALL "[0-9][0-9,]+" budgets "${rows}")
string(REPLACE "," "" budgets "${budgets}")
set(kinds source python tests build documents)
foreach(kind most IN ZIP_LISTS kinds budgets)
  set(count ${lines_of_${kind}})
  string(APPEND sizes " ${kind} ${count}")
  if(BUDGET AND count GREATER most)
    violation(CONTRIBUTING.md "the budget: ${count} lines of ${kind}, at most ${most}: take lines \
out, or raise the number there and name in the commit the issue that allows it")
  endif()
endforeach()

get_property(violations GLOBAL PROPERTY violations)
list(LENGTH violations count)
if(count GREATER 0 OR NOT lines_of_source)
  message(FATAL_ERROR "tidy: ${count} violations")
endif()
message("tidy: no violation; lines:${sizes}")

# The negative control of the preset lto. A program fails to build if two of its files define
# different types of one name, even if one file is in a static library. The same program with two
# names builds.
#   cmake -DSOURCE_DIR=... -DWORK_DIR=an empty folder of the build -P lto_finds_violations.cmake
cmake_minimum_required(VERSION 3.25)
set(tree ${WORK_DIR}/lto_control)
file(REMOVE_RECURSE ${tree})
file(COPY ${SOURCE_DIR}/CMakePresets.json DESTINATION ${tree})
file(WRITE ${tree}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(control CXX)\n"
  "add_library(part STATIC part.cpp)\nadd_executable(ropewalk main.cpp)\n"
  "target_link_libraries(ropewalk part)\nadd_library(ropewalk_mutants MODULE part.cpp)\n")
file(WRITE ${tree}/main.cpp "struct Entry { int a; };\nint use(const Entry& e) { return e.a; }\n"
  "int other();\nint main() { return use(Entry{0}) + other(); }\n")

foreach(name IN ITEMS Another Entry)
  file(WRITE ${tree}/part.cpp "enum class ${name} { one, two };\n"
    "int use(${name} e) { return e == ${name}::one ? 0 : 1; }\n"
    "int other() { return use(${name}::one); }\n")
  execute_process(COMMAND ${CMAKE_COMMAND} --workflow --preset lto WORKING_DIRECTORY ${tree}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(name STREQUAL "Another" AND NOT status EQUAL 0)
    message(FATAL_ERROR "a program without a violation fails:\n${text}")
  endif()
endforeach()
if(status EQUAL 0 OR NOT text MATCHES "violates the C\\+\\+ One Definition Rule")
  message(FATAL_ERROR "two types of one name pass:\n${text}")
endif()

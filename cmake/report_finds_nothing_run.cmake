# The negative control of report.cmake. The target fails for a run in which nothing could run, and
# for any other failure. It does not fail for a run with INVALID timing.
#   cmake -DROPEWALK=the command -DWORK_DIR=an empty folder of the build -P ...
cmake_minimum_required(VERSION 3.25)
set(folder ${WORK_DIR}/report_control)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})

function(run_report status_out text_out)
  execute_process(
    COMMAND ${CMAKE_COMMAND} ${ARGN} -P ${CMAKE_CURRENT_LIST_DIR}/report.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status_out} ${status} PARENT_SCOPE)
  set(${text_out} "${text}" PARENT_SCOPE)
endfunction()

run_report(status text -DROPEWALK=${ROPEWALK} -DOUT=${folder}/nothing
  "-DARGUMENTS=--cpu-features fma --kernel avx2")
if(status EQUAL 0 OR NOT text MATCHES "exit code 3")
  message(FATAL_ERROR "a run of nothing passes:\n${text}")
endif()
# A command that only ends with such a code, beside the page that such a run would leave.
foreach(case IN ITEMS "3=INVALID=0" "3=BROKEN=1" "1=INVALID=1" "2=INVALID=1" "0=none=0")
  string(REGEX MATCH "^(.)=(.*)=(.)$" matched ${case})
  set(code ${CMAKE_MATCH_1})
  set(failure ${CMAKE_MATCH_2})
  set(fails ${CMAKE_MATCH_3})
  file(WRITE ${folder}/junit.xml "<testcase><failure type=\"${failure}\"/></testcase>\n")
  file(WRITE ${folder}/ends "#!/bin/sh\nexit ${code}\n")
  file(CHMOD ${folder}/ends PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  run_report(status text -DROPEWALK=${folder}/ends -DOUT=${folder})
  if((fails AND status EQUAL 0) OR (NOT fails AND NOT status EQUAL 0))
    message(FATAL_ERROR "exit code ${code} with ${failure} gives ${status}:\n${text}")
  endif()
endforeach()

# INVALID timing does not fail the target `report`: the report says so. Any exit code but 0 does.
#   cmake -DROPEWALK=the command -DOUT=a folder [-DARGUMENTS="more of them"] -P report.cmake
separate_arguments(ARGUMENTS UNIX_COMMAND "${ARGUMENTS}")
execute_process(COMMAND ${ROPEWALK} run --profile smoke --out ${OUT} ${ARGUMENTS}
  RESULT_VARIABLE code)
if(code EQUAL 3 AND EXISTS ${OUT}/junit.xml)
  file(STRINGS ${OUT}/junit.xml invalid REGEX "<failure type=\"INVALID\"")
endif()
if(NOT code EQUAL 0 AND NOT invalid)
  message(FATAL_ERROR "ropewalk run ended with exit code ${code}")
endif()

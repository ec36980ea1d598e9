# Runs at each build. Writes OUTPUT if the revision of SOURCE_DIR, or its dirtiness, has changed.
# Without git, or outside a repository of its own, the revision is "unknown".
set(revision unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE found ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0 AND found MATCHES "^[0-9a-f]+(-dirty)?$")
    set(revision ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\nnamespace ropewalk::build_info {
inline constexpr char git_revision[] = \"${revision}\";\n}\n")

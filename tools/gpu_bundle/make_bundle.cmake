# Copies files into one folder, with the shared libraries that they need beside those of glibc:
#   cmake -DFOLDER=dir -DPROGRAMS="file;..." -DMODULES=... -DFILES=... -P make_bundle.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/lib)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} MODULES ${MODULES}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  POST_EXCLUDE_REGEXES "/(ld-linux|lib(c|m|dl|rt|pthread)\\.so)[^/]*$")
if(missing)
  message(FATAL_ERROR "the bundle needs ${missing}, which this machine does not have")
endif()
file(COPY ${PROGRAMS} ${MODULES} ${FILES} DESTINATION ${FOLDER})
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  if(NOT EXISTS ${FOLDER}/${name})  # one of the modules
    file(COPY ${library} DESTINATION ${FOLDER}/lib FOLLOW_SYMLINK_CHAIN)
  endif()
endforeach()
message("-- ${FOLDER}: copy the folder to a machine with a CUDA driver, and start its run.sh")

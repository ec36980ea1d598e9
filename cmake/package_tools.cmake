# cpack reads this first. Without dpkg-shlibdeps it would write a package without dependencies.
find_program(shlibdeps dpkg-shlibdeps)
find_program(file_utility file)
if(NOT shlibdeps OR NOT file_utility)
  message(FATAL_ERROR "a package is made with dpkg-shlibdeps and file: "
    "apt-get install -y --no-install-recommends dpkg-dev file")
endif()

# SPDX-License-Identifier: MIT
# The pages as they are installed: PAGES (a directory, or files) get links that hold there. Run by culvert_install.cmake.
#   ROOT      where README.md, docs/ and samples/ are installed
#   INCLUDE   the headers' directory as it is seen from ROOT
# What is not installed stays named, with the place that it has in the sources.
file(GLOB_RECURSE pages ${ROOT}/*.md)
# Folders and files of the repository that an installation lacks.
set(absent "(src|tests|scripts|tools|bench|soft|bindings|cmake|cuda_headers|results|debian|packaging|shaders)(/[^)]*)?|(CONTRIBUTING|CHANGELOG)\\.md[^)]*|CMakeLists\\.txt")
foreach(page IN LISTS pages)
  file(READ "${page}" text)
  set(before "${text}")
  get_filename_component(folder "${page}" DIRECTORY)
  file(RELATIVE_PATH up "${folder}" "${ROOT}")
  string(REGEX REPLACE "\\]\\((\\.\\./)*(extra/)?include/culvert" "](${up}${INCLUDE}/culvert" text "${text}")
  string(REGEX REPLACE "\\]\\((\\.\\./)*tools/check/docs/" "](${up}docs/" text "${text}")
  string(REGEX REPLACE "\\[([^][]*)\\]\\((\\.\\./)*(${absent})\\)" "\\1 (\\3 of the sources)" text "${text}")
  string(REGEX REPLACE "\\]\\((\\.\\./)+(docs|samples)([/)])" "](${up}\\2\\3" text "${text}")
  # Pictures are large.
  string(REGEX REPLACE "!?\\[([^][]*)\\]\\((\\.\\./)*(docs/)?(images/[^)]*)\\)" "\\1 (docs/\\4 of the sources)" text "${text}")
  if(NOT text STREQUAL before)
    file(WRITE "${page}" "${text}")
  endif()
endforeach()

# Installs a build tree and moves what was installed, since an installation must not know its own place.
# cmake -D BUILD= -D PREFIX= -P install.cmake
# SPDX-License-Identifier: MIT
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.first)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.first
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cmake --install: ${status}\n${output}")
endif()
file(RENAME ${PREFIX}.first ${PREFIX})

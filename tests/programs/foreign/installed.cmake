# Builds the project of installed/ against an installed prefix, and runs some of it.
# cmake -D SOURCE= -D BINARY= -D PREFIX= -D DRIVER= [-D ARGS=a;b] -P installed.cmake
# SPDX-License-Identifier: MIT
file(REMOVE_RECURSE ${BINARY})
set(configure -S ${SOURCE} -B ${BINARY} -DCMAKE_BUILD_TYPE= -DCMAKE_PREFIX_PATH=${PREFIX} ${ARGS})
foreach(step IN ITEMS "${CMAKE_COMMAND};${configure}" "${CMAKE_COMMAND};--build;${BINARY};--parallel;2"
    "${BINARY}/bin/tests/foreign;--driver=${DRIVER};--smoke")
  execute_process(COMMAND ${step} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${step}: ${status}\n${output}")
  endif()
endforeach()
message("${output}")

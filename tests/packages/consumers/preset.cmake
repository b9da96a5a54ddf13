# Configures and builds one of Culvert's presets elsewhere:
# cmake -D SOURCE= BINARY= PRESET= [ARGS=a;b] [TARGETS=a;b] -P preset.cmake
# SPDX-License-Identifier: MIT
file(REMOVE_RECURSE ${BINARY})
if(TARGETS)
  list(PREPEND TARGETS --target)
endif()
foreach(step IN ITEMS "--preset;${PRESET};-B;${BINARY};${ARGS}" "--build;${BINARY};--parallel;2;${TARGETS}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} WORKING_DIRECTORY ${SOURCE}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cmake ${step}: ${status}\n${output}")
  endif()
endforeach()

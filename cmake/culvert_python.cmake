# bindings/python/culvert/_declarations.py and _vulkan.py, which scripts/python-declarations makes of the headers, beside the
# package's other files, so that PYTHONPATH=bindings/python and pip have a whole package. Git ignores them; archives of pip have
# them, without the script. SPDX-License-Identifier: MIT
set(maker ${PROJECT_SOURCE_DIR}/scripts/python-declarations)
set(made ${PROJECT_SOURCE_DIR}/bindings/python/culvert/_declarations.py ${PROJECT_SOURCE_DIR}/bindings/python/culvert/_vulkan.py)
if(NOT EXISTS ${maker})
  return()
endif()
set(CULVERT_PYCPARSER "" CACHE FILEPATH "A Python that has pycparser")
mark_as_advanced(CULVERT_PYCPARSER)
foreach(python IN ITEMS python3 /usr/bin/python3)
  if(NOT CULVERT_PYCPARSER)
    execute_process(COMMAND ${python} -c "import pycparser" RESULT_VARIABLE lacks OUTPUT_QUIET ERROR_QUIET)
    if(lacks EQUAL 0)
      set_property(CACHE CULVERT_PYCPARSER PROPERTY VALUE ${python})
    endif()
  endif()
endforeach()
if(CULVERT_PYCPARSER)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/culvert/*.h)
  add_custom_command(OUTPUT ${made} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${CULVERT_PYCPARSER} ${maker}
    DEPENDS ${maker} ${headers} COMMENT "Making Python's declarations" VERBATIM)
  add_custom_target(culvert_python_declarations ALL DEPENDS ${made})
elseif(CULVERT_PYTHON AND NOT WIN32) # a zip for Windows has no Python
  foreach(file IN LISTS made)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "CULVERT_PYTHON: ${file} is made by scripts/python-declarations, which needs pycparser (Debian: "
        "python3-pycparser). CULVERT_PYCPARSER names a Python that has it.")
    endif()
  endforeach()
endif()

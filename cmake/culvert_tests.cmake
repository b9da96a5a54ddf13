# Test suites: their ctest entries, and the list from which a bundle runs the same suites without CMake.
#
#   culvert_add_suite(NAME SOURCES ... [LIBS ...] [ENV VAR=VALUE ...] [LABELS ...] [ARGS ...] [PARTS N])
#   culvert_add_suite(NAME PROGRAM_OF SUITE [ENV VAR=VALUE ...] [LABELS ...] [ARGS ...] [PARTS N])
#
# builds <build>/bin/tests/NAME from SOURCES and the harness (tests/support), which runs many cases in one process.
# `ctest` has an entry NAME, or NAME.1 to NAME.N for a suite so long that several should share it; it fails unless a
# case passed. `ctest -C cases` has an entry NAME.CASE for each case, in a process of its own: exit 77 is a skip, the
# time limit is the case's. `ctest -C smoke -L smoke` has smoke.NAME: the few cases that are marked so. ARGS are
# given to every run. The second form runs another suite's program (of the same directory) with other arguments.
include_guard(GLOBAL)

set(CULVERT_TEST_DRIVER auto CACHE STRING "CUDA driver that the tests use: auto, nvidia or soft")
set_property(CACHE CULVERT_TEST_DRIVER PROPERTY STRINGS auto nvidia soft)

# scripts/test has no use for them, and builds three times.
option(CULVERT_LONG_TESTS "Build the suites of the long tier that have programs of their own" ON)

set(CULVERT_TESTS_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(culvert_add_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM_OF;PARTS" "SOURCES;LIBS;ENV;LABELS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "culvert_add_suite(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  set(program ${name})
  if(arg_PROGRAM_OF)
    set(program ${arg_PROGRAM_OF})
  else()
    add_executable(${name} ${arg_SOURCES})
    culvert_warnings(${name})
    target_link_libraries(${name} PRIVATE culvert_test_harness ${arg_LIBS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests
      LINK_DEPENDS ${CULVERT_TESTS_CMAKE_DIR}/culvert_discover_tests.cmake)
    if("long" IN_LIST arg_LABELS AND NOT CULVERT_LONG_TESTS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
  endif()

  set(env ${arg_ENV})
  if(NOT CULVERT_TEST_DRIVER STREQUAL nvidia)
    list(PREPEND env CULVERT_SOFT=1)
  endif()
  set(args --driver=${CULVERT_TEST_DRIVER} ${arg_ARGS})
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
  set(results ${CMAKE_CURRENT_BINARY_DIR}/${name}_results)
  add_custom_command(TARGET ${program} POST_BUILD
    BYPRODUCTS ${script}
    COMMAND ${CMAKE_COMMAND} -DSUITE=${name} -DPROGRAM=$<TARGET_FILE:${program}> -DSCRIPT=${script}
      -DRESULTS=${results} "-DARGS=${args}" "-DENV=${env}" "-DLABELS=${arg_LABELS}"
      -DPARTS=${arg_PARTS}
      -P ${CULVERT_TESTS_CMAKE_DIR}/culvert_discover_tests.cmake
    VERBATIM)
  # Before the first build there is nothing to list; the entry says so.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake
    "if(EXISTS \"${script}\")\n  include(\"${script}\")\n"
    "else()\n  add_test(${name}_not_built ${name}_not_built)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)

  # The runner of a bundle chooses the driver itself, so that argument stays out.
  list(JOIN arg_ARGS " " args_text)
  list(JOIN env " " env_text)
  foreach(text IN ITEMS args_text env_text)
    if(${text} STREQUAL "")
      set(${text} -)
    endif()
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY CULVERT_TEST_LIST
    "${name}\tbin/tests/${program}\t${args_text}\t${env_text}\n")
endfunction()

# culvert_add_swiftshader(NAME SUITE [ENV VAR=VALUE ...] CASES ...): those cases of SUITE once more, on SwiftShader in
# place of lavapipe, where it is installed (Debian: chromium-common).
find_file(CULVERT_SWIFTSHADER vk_swiftshader_icd.json PATHS /usr/lib/chromium NO_DEFAULT_PATH
  DOC "The manifest of Chromium's Vulkan driver on the CPU")
function(culvert_add_swiftshader name suite)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ENV;CASES")
  if(CULVERT_SWIFTSHADER AND NOT CULVERT_SANITIZE AND TARGET ${suite})
    culvert_add_suite(swiftshader-${name} PROGRAM_OF ${suite} LABELS library long
      ENV VK_DRIVER_FILES=${CULVERT_SWIFTSHADER} ${arg_ENV} ARGS ${arg_CASES})
  endif()
endfunction()
set(CULVERT_ZINK GALLIUM_DRIVER=zink LIBGL_ALWAYS_SOFTWARE=1 MESA_GL_VERSION_OVERRIDE=4.5 MESA_GLSL_VERSION_OVERRIDE=450)

# Writes <build>/share/culvert/tests.list; called once, after the last suite.
function(culvert_write_test_list)
  get_property(rows GLOBAL PROPERTY CULVERT_TEST_LIST)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/share/culvert/tests.list @ONLY CONTENT
    "# suite, program, arguments (after --driver=...), environment; tabs between, - for none\n@rows@")
endfunction()

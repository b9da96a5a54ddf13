# An installation whose parts are taken away one after the other, as packages have them.
# cmake -D SOURCE= -D BINARY= -D PREFIX= -D GENERATOR= [-D SOFT=ON|OFF] -P parts.cmake
# SPDX-License-Identifier: MIT
file(REMOVE_RECURSE ${BINARY})
file(COPY ${PREFIX}/ DESTINATION ${BINARY}/prefix USE_SOURCE_PERMISSIONS)

# check(OK|REFUSED, KIND, TARGETS, SOFT, more arguments)
function(check expected kind targets soft)
  # One build directory, so that the compiler is examined once.
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${BINARY}/prefix -DKIND=${kind} "-DTARGETS=${targets}" -DSOFT=${soft}
    -UBUILD_SHARED_LIBS -UCOMPONENTS ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if((expected STREQUAL OK AND NOT status EQUAL 0) OR (expected STREQUAL REFUSED AND status EQUAL 0))
    message(FATAL_ERROR "${kind}, ${targets}, ${soft}, ${ARGN}: ${status}, expected: ${expected}\n${output}")
  endif()
endfunction()
function(take_away pattern)
  file(GLOB_RECURSE files LIST_DIRECTORIES OFF ${BINARY}/prefix/${pattern})
  if(NOT files)
    message(FATAL_ERROR "the installation has no ${pattern}")
  endif()
  file(REMOVE ${files})
endfunction()

check(OK shared "shared;static" ${SOFT})
check(OK static "shared;static" ${SOFT} -DBUILD_SHARED_LIBS=OFF)
check(OK static "shared;static" ${SOFT} -DCOMPONENTS=static -DBUILD_SHARED_LIBS=ON)
if(SOFT)
  check(OK shared "shared;static" ON -DCOMPONENTS=soft)
  take_away(libculvert-soft.so.0)
endif()
check(OK shared "shared;static" OFF)
check(REFUSED shared "shared;static" OFF -DCOMPONENTS=soft)
take_away(libculvert.a)
check(OK shared shared OFF -DBUILD_SHARED_LIBS=OFF)
check(REFUSED shared shared OFF -DCOMPONENTS=static)
take_away(culvert_static*.cmake)
check(OK shared shared OFF)

# Writes the ctest entries of one suite from `PROGRAM --list-times`; run after the program was linked.
# In: SUITE PROGRAM SCRIPT RESULTS ARGS ENV LABELS PARTS. See culvert_tests.cmake.
execute_process(COMMAND ${PROGRAM} ${ARGS} --list-times RESULT_VARIABLE status OUTPUT_VARIABLE output TIMEOUT 60)
if(NOT status EQUAL 0 OR output STREQUAL "")
  file(REMOVE ${SCRIPT})
  message(FATAL_ERROR "${PROGRAM} --list-times: status ${status}, output: ${output}")
endif()

# Results of an older program would count for cases that are gone.
file(REMOVE_RECURSE ${RESULTS})
file(MAKE_DIRECTORY ${RESULTS})

set(script "")
function(add_entry name timeout properties)
  set(command "")
  foreach(word IN LISTS PROGRAM ARGS ITEMS --results=${RESULTS} ${ARGN})
    string(APPEND command " [==[${word}]==]")
  endforeach()
  string(APPEND script "add_test([==[${name}]==]${command})\n")
  string(APPEND script "set_tests_properties([==[${name}]==] PROPERTIES TIMEOUT ${timeout}"
    " ENVIRONMENT [==[${ENV}]==] LABELS [==[${labels}]==] ${properties})\n")
  set(script "${script}" PARENT_SCOPE)
endfunction()

string(STRIP "${output}" output)
string(REPLACE "\n" ";" lines "${output}")
set(labels ${LABELS})
string(APPEND script "if(CTEST_CONFIGURATION_TYPE STREQUAL cases)\n")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([A-Za-z0-9_.]+) ([0-9]+) (own|shared|faults)$")
    message(FATAL_ERROR "${PROGRAM} --list-times: not a case: ${line}")
  endif()
  # The program's own limit comes first and says which case hangs.
  math(EXPR timeout "${CMAKE_MATCH_2} + 15")
  add_entry(${SUITE}.${CMAKE_MATCH_1} ${timeout}
    "SKIP_RETURN_CODE 77 FIXTURES_SETUP ${SUITE}_ran" ${CMAKE_MATCH_1})
endforeach()
add_entry(suite.${SUITE}.not_all_skipped 60 "FIXTURES_REQUIRED ${SUITE}_ran" --check-not-all-skipped)

string(APPEND script "elseif(CTEST_CONFIGURATION_TYPE STREQUAL smoke)\n")
if(NOT ";${LABELS};" MATCHES ";long;")
  list(APPEND labels smoke)
endif()
add_entry(smoke.${SUITE} 300 "" --quiet --smoke)

# The longest begin first, since a fresh tree knows no times: many cases, or cases that start programs.
list(LENGTH lines cost)
if(";${LABELS};" MATCHES ";samples;")
  math(EXPR cost "20 * ${cost}")
endif()
# Each case has its limit; this one only ends what went wrong beyond that.
string(APPEND script "else()\n")
set(labels ${LABELS})
if(PARTS GREATER 1)
  foreach(part RANGE 1 ${PARTS})
    add_entry(${SUITE}.${part} 7200 "COST ${cost} FIXTURES_SETUP ${SUITE}_ran" --quiet --part=${part}/${PARTS})
  endforeach()
  add_entry(suite.${SUITE}.not_all_skipped 60 "FIXTURES_REQUIRED ${SUITE}_ran" --check-not-all-skipped)
else()
  add_entry(${SUITE} 7200 "COST ${cost}" --quiet)
endif()
string(APPEND script "endif()\n")
file(WRITE ${SCRIPT} "${script}")

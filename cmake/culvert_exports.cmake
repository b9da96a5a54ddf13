# What include/culvert/ declares with CULV_EXPORT is what the library exports. This script writes, from the headers,
#   KIND=map    a linker version script. What an experimental header declares has the node CULVERT_EXPERIMENTAL, and the
#               rest has CULVERT_0 while the ABI is free (SOVERSION 0). From 1.0 on each minor version gets a node of its
#               own, and a name that was released in one is never moved or dropped.
#   KIND=def    the same for Windows, where nothing else exports: the linker refuses a name that is not defined.
#               DLL is the name of the file, so that import libraries can be made from the list alone.
#   KIND=stubs  the functions of a back-end that this build leaves out, in C. BECAUSE is what their error says. TYPES
#               is a header that stands before the public ones.
# OUT.d is the file of dependencies.
# cmake -D KIND= -D HEADERS=PATTERN -D OUT= [-D BECAUSE= -D TYPES= -D DLL=] -P culvert_exports.cmake
# SPDX-License-Identifier: MIT
cmake_minimum_required(VERSION 3.22...3.25)
file(GLOB headers ${HEADERS})
set(names "")
set(experimental "")
set(stubs "")
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "\nCULV_EXPORT[^;]*" declarations "${text}")
  foreach(declaration IN LISTS declarations)
    string(REGEX REPLACE "[ \n]+" " " declaration "${declaration}")
    # TYPE NAME(PARAMETERS), or TYPE (*NAME(PARAMETERS))(MORE PARAMETERS)
    if(declaration MATCHES "^ CULV_EXPORT ([^(]+[ *])(culv[a-z0-9_]+)\\((.*)\\)$")
    elseif(NOT declaration MATCHES "^ CULV_EXPORT ([^(]+)\\(\\*(culv[a-z0-9_]+)\\((.*)\\)\\)\\(.*\\)$")
      message(FATAL_ERROR "${header}: this is no function of Culvert's:${declaration}")
    endif()
    set(name ${CMAKE_MATCH_2})
    set(parameters "${CMAKE_MATCH_3}")
    string(STRIP "${CMAKE_MATCH_1}" type)
    list(APPEND names ${name})
    if(text MATCHES "\n#ifndef CULV_EXPERIMENTAL\n")
      list(APPEND experimental ${name})
    endif()

    if(type STREQUAL "culv_result")
      set(body "    return refuse(\"${name}\");\n")
    elseif(type STREQUAL "void")
      set(body "")
    elseif(type STREQUAL "const char *") # a text, which is never NULL
      set(body "    return \"unknown\";\n")
    else() # nothing can have been made, so there is nothing to tell of it
      set(body "    static ${type} const nothing;\n")
      string(REGEX MATCHALL "(^|, )(VkDeviceSize|uint64_t|uint32_t|size_t) \\*[a-z_]+" outputs "${parameters}")
      foreach(output IN LISTS outputs)
        string(REGEX REPLACE "^.*\\*" "" output "${output}")
        string(APPEND body "    if (${output} != NULL) *${output} = 0;\n")
      endforeach()
      string(APPEND body "    return nothing;\n")
    endif()
    string(APPEND stubs "\n${type} ${name}(${parameters})\n{\n${body}}\n")
  endforeach()
endforeach()
if(NOT names)
  message(FATAL_ERROR "${HEADERS}: no function is declared there")
endif()

set(dependencies ${OUT}: ${headers})
list(TRANSFORM dependencies REPLACE " " "\\\\ ")
list(JOIN dependencies " " dependencies)
file(WRITE ${OUT}.d "${dependencies}\n")
list(SORT names)
if(KIND STREQUAL "map")
  if(experimental)
    list(REMOVE_ITEM names ${experimental})
  endif()
  list(JOIN names ";\n    " lines)
  file(WRITE ${OUT} "CULVERT_0 {\nglobal:\n    ${lines};\nlocal:\n    *;\n};\n")
  if(experimental)
    list(SORT experimental)
    list(JOIN experimental ";\n    " lines)
    file(APPEND ${OUT} "CULVERT_EXPERIMENTAL {\nglobal:\n    ${lines};\n};\n")
  endif()
elseif(KIND STREQUAL "def")
  list(JOIN names "\n    " lines)
  file(WRITE ${OUT} "LIBRARY ${DLL}\nEXPORTS\n    ${lines}\n")
elseif(KIND STREQUAL "stubs")
  set(includes "")
  if(TYPES)
    string(APPEND includes "#include \"${TYPES}\"\n")
  endif()
  foreach(header IN LISTS headers)
    get_filename_component(header ${header} NAME)
    string(APPEND includes "#include \"culvert/${header}\"\n")
  endforeach()
  file(WRITE ${OUT} "#include \"base/message.h\"\n${includes}
static culv_result refuse(const char *call)
{
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT, \"%s: ${BECAUSE}\", call);
}
${stubs}")
else()
  message(FATAL_ERROR "KIND is map, def or stubs, and not '${KIND}'")
endif()
